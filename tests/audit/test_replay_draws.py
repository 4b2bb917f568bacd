import numpy as np
import pytest

from dpforest import RandomDecisionForestClassifier
from dpforest.audit import SMALL_SCHEMA, Table
from dpforest.audit.chains import Chain
from dpforest.audit.replay_draws import ForcedDraws, PartedError, RecordingDraws
from dpforest.audit.replay_fits import Play
from dpforest.audit.replay_script import Joining, Seats


def test_fits_that_part_are_leaks():
    record = RecordingDraws(0, Seats(3, 2))
    record.below(5, 3)
    forced = ForcedDraws(1, Seats(2, 2), Joining(), record.script)
    with pytest.raises(PartedError, match="drawn from"):
        forced.below(6, 2)
    coins = forced.below(5, 2)
    assert coins.tolist() == record.script.coins[0][1][:2].tolist()
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


@pytest.mark.parametrize("coupled", [False, True])
def test_odd_records_have_coins_of_their_own_unless_they_are_coupled(coupled):
    seats = Seats(4, 3)
    record = RecordingDraws(0, seats)
    recorded = record.below(2**40, 4)
    forced = ForcedDraws(1, seats, Joining(), record.script)
    forced.coupled = coupled
    assert (forced.below(2**40, 4) == recorded).tolist() == [True] * 3 + [coupled]


def test_a_table_fitted_again_keeps_the_same_records_of_every_person():
    forest = RandomDecisionForestClassifier(
        schema=SMALL_SCHEMA, n_estimators=1, max_depth=1, max_records_per_group=1, random_state=0
    )
    X, y = np.array([[0.1, 0.0]] * 5 + [[0.9, 1.0], [0.1, 0.0]] * 4), np.array([0] * 5 + [0, 1] * 4)
    table = Table(X, y, np.r_[np.arange(5), [9] * 8])  # all but one of the last person's are lost
    for seed in range(5):
        play = Play(Chain(forest), common=5, most=1, seed=seed)
        record = play.fit(table)
        play.followed = record.script
        again = play.fit(table, again=True)
        assert all(float(loss.up) == 0 for loss in record.script.losses_to(again.script))
