import numpy as np
import pytest

from dpforest.audit.replay_draws import ForcedDraws, PartedError, RecordingDraws
from dpforest.audit.replay_script import Joining, Seats


def test_fits_that_part_are_leaks():
    record = RecordingDraws(0, Seats(3, 2))
    record.below(5, 3)
    forced = ForcedDraws(1, Seats(2, 2), Joining(), record.script)
    with pytest.raises(PartedError, match="drawn from"):
        forced.below(6, 2)
    coins = forced.below(5, 2)
    assert coins.tolist() == record.script.coins[0][1].tolist()
    with pytest.raises(PartedError, match="the other does not"):
        forced.below(5, 2)


def test_a_chance_to_be_sampled_that_depends_on_others_is_a_leak():
    record = RecordingDraws(0, Seats(3, 3))
    record.joins(np.array([1, 1, 1]), 2)
    forced = ForcedDraws(1, Seats(4, 3), Joining(), record.script)
    with pytest.raises(PartedError, match="chance of a record"):
        forced.joins(np.array([1, 1, 2, 1]), 2)


def test_an_odd_record_joins_only_where_it_is_told_to():
    seats = Seats(4, 3)
    record = RecordingDraws(0, Seats(3, 3))
    samples = [record.joins(np.array([1, 1, 1]), 2) for _ in range(3)]
    forced = ForcedDraws(1, seats, Joining(1, (True,)), record.script)
    for t, sample in enumerate(samples):
        assert forced.joins(np.array([1] * 4), 2).tolist() == [*sample.tolist(), t == 1]
