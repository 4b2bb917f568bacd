"""Sums of errors: right on the grid, and no record beyond 1 in any of the five."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.records.blocks import Block
from dpforest.records.error_sums import ErrorSums
from dpforest.records.shards import total_of


def total(statistic, pairs):
    target = np.array(pairs, float).reshape(-1, 2)
    return total_of(statistic, Block(np.empty((len(target), 0), np.uint8), target))


def test_sums_are_those_of_clipped_errors_and_of_the_target():
    statistic = ErrorSums(0.0, 10.0, most=2.0, steps=1000)
    found = total(statistic, [[0.0, 1.0], [10.0, 4.0], [5.0, 5.0]])
    assert found.tolist() == [3000, 500 + 1000, 250 + 1000, 0, 2000]


within = st.floats(-3.0, 7.0)


@given(within, within, st.floats(1e-3, 10.0), st.integers(1, 1 << 16))
def test_no_record_adds_more_than_one_to_any_sum(truth, predicted, most, steps):
    found = total(ErrorSums(-3.0, 7.0, most, steps), [[truth, predicted]])
    assert found[0] == steps
    assert (np.abs(found) <= steps).all()


def test_totals_add_up_over_records():
    rng = np.random.default_rng(0)
    pairs = rng.uniform(-1, 1, (50, 2))
    statistic = ErrorSums(-1.0, 1.0, 0.5, 512)
    one_by_one = sum(total(statistic, [pair]) for pair in pairs)
    assert total(statistic, pairs).tolist() == pytest.approx(one_by_one.tolist())
