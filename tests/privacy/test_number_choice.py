"""The choice of a number: a rate for the records between neighbours, paid first, exact depths."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.privacy.accounts.bounded_range import BoundedRange
from dpforest.privacy.accounts.mechanisms_used import Selection
from dpforest.privacy.accounts.spends import Gaussian, Pure
from dpforest.privacy.number_choice import (
    MEASURE,
    cells,
    choose_median,
    choose_quantile,
    depths,
    measure,
    nearness,
)

TENTH = Fraction(1, 10)


def choose(desk, quantile, price):
    if quantile == 0.5:
        return choose_median(desk, 0.0, 1.0, price)
    return choose_quantile(desk, 0.0, 1.0, quantile, price)


def sensitivity(quantile, protection):
    """Of a step; a record in the place of another is two, and moves utilities like one."""
    replaced = protection is not None and protection.neighbors == "replace_one"
    return 1 if quantile == 0.5 or replaced else 2


@pytest.mark.parametrize("quantile", [0.5, 0.9])
def test_a_pure_choice_has_the_rate_of_a_step(recorded_desk, protected, paid_before_read, quantile):
    protection, steps = protected
    desk = recorded_desk(protection)
    choose(desk, quantile, Pure(TENTH))
    largest = sensitivity(quantile, protection)
    assert desk.draws.laws == [("exponential", (TENTH / steps, largest, True))]
    assert desk.made() == [Selection("exponential mechanism", TENTH / steps, steps)]
    (entry,) = desk.ledger.entries
    assert entry.cost().epsilon == TENTH
    paid_before_read(desk)


@pytest.mark.parametrize("quantile", [0.5, 0.9])
def test_a_gaussian_choice_has_a_range_of_the_rate_times_the_steps(
    recorded_desk, protected, paid_before_read, quantile
):
    protection, steps = protected
    desk = recorded_desk(protection)
    choose(desk, quantile, Gaussian(0.05))
    ((what, rate),) = desk.draws.laws
    assert what == "exponential at"
    largest = sensitivity(quantile, protection)
    # By hand: mu is sqrt(2 pi) / 4 of the range, and a step moves utilities within such a range.
    expected = 0.05 / (math.sqrt(2 * math.pi) / 4) / steps / largest
    assert float(rate) == pytest.approx(expected, rel=1e-3)
    assert desk.made() == [BoundedRange(rate, Fraction(steps * largest, 2))]
    (entry,) = desk.ledger.entries
    assert 0.05 * (1 - 1e-3) < entry.cost().mu <= 0.05
    paid_before_read(desk)


COUNTS = st.lists(st.integers(0, 5), min_size=1, max_size=12)
QUANTILES = st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9]) | st.floats(0.001, 0.999)


@settings(max_examples=300, deadline=None)
@given(COUNTS, st.integers(0, 11), QUANTILES)
def test_a_record_more_moves_utilities_within_the_sensitivity(counts, place, quantile):
    before = np.array(counts)
    after = before.copy()
    after[place % len(before)] += 1
    added = depths(after) - depths(before)
    assert 0 <= added.min() <= added.max() <= 1
    moved = nearness(after, quantile) - nearness(before, quantile)
    assert -1 <= moved.min() <= moved.max() <= 1


@settings(max_examples=300, deadline=None)
@given(COUNTS, st.integers(0, 11), st.integers(0, 11), QUANTILES)
def test_a_record_in_the_place_of_another_moves_them_no_further(counts, one, other, q):
    before, after = np.array(counts), np.array(counts)
    before[one % len(before)] += 1
    after[other % len(after)] += 1
    moved = nearness(after, q) - nearness(before, q)
    assert -1 <= moved.min() <= moved.max() <= 1


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=12).filter(any))
def test_the_deepest_cell_holds_the_median(counts):
    """As many records up to it as a half, and as many from it on."""
    deepest = int(depths(np.array(counts)).argmax())
    n, up_to = sum(counts), sum(counts[: deepest + 1])
    assert up_to >= n / 2 - 1
    assert n - up_to + counts[deepest] >= n / 2 - 1


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 200), QUANTILES)
def test_the_nearest_cell_holds_the_quantile(n, quantile):
    """Where every cell has a record."""
    cell = int(nearness(np.ones(n, int), quantile).argmax())
    assert abs(cell - quantile * (n - 1)) <= 2


BOUNDS = [(0, 1), (-5, 5), (3, 1e9), (-1e9, -3), (0, 1e-12), (-1, 1e9), (1e15, 1e15 + 4)]


@pytest.mark.parametrize("bounds", BOUNDS)
def test_weights_are_whole_numbers_that_leave_no_part_of_the_range_out(bounds):
    low, high = map(float, bounds)
    edges = cells(low, high)
    weights = measure(edges)
    assert (edges[0], edges[-1]) == (low, high)
    assert (np.diff(edges) > 0).all()
    assert len(weights) == len(edges) - 1
    assert (weights >= np.maximum(0.49 * MEASURE * np.diff(edges) / (high - low), 1)).all()
    assert weights.sum() == pytest.approx(MEASURE, rel=1e-6)


@pytest.mark.parametrize("bounds", BOUNDS[:-1])
def test_cells_are_narrow_everywhere_and_narrower_near_zero(bounds):
    low, high = map(float, bounds)
    edges, zero = cells(low, high), np.clip(0.0, low, high)
    widths = np.diff(edges)
    assert widths.max() <= (high - low) / 2_000
    away = np.abs(edges - zero).min(initial=np.inf, where=edges != zero)
    assert away < 2e-6 * (high - low)
    far = np.minimum(np.abs(edges[:-1] - zero), np.abs(edges[1:] - zero)) > 0
    ends = np.maximum(np.abs(edges[:-1] - zero), np.abs(edges[1:] - zero))
    assert (widths[far] <= 0.03 * ends[far]).all()
