"""The choice of a rule: a rate for the records between neighbours, paid first, exact utilities."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.privacy.accounts.bounded_range import BoundedRange
from dpforest.privacy.accounts.mechanisms_used import DiscreteLaplace, Selection
from dpforest.privacy.accounts.spends import Gaussian, Pure
from dpforest.privacy.rule_choice import (
    MEASURE,
    Allowed,
    Rule,
    choose_rule,
    count_errors_beyond,
    count_errors_saved,
    count_right,
    errors_beyond,
    errors_saved,
    rules_of,
)
from dpforest.records.blocks import Block
from dpforest.records.scale_counts import ScaleCounts
from dpforest.records.shards import total_of
from dpforest.schema import NumericFeature, Schema
from dpforest.tables.encode import Encoding
from dpforest.trees.scales import CONSTANT, SINGLE, SUM, Scales
from dpforest.trees.structure import FeatureBins

ENCODING = Encoding.from_schema(
    Schema((NumericFeature("a", 0, 1), NumericFeature("b", 0, 1))), max_bins=4
)
SCALES = Scales.drawn(ENCODING.feature_bins, (None, None), 2, np.random.default_rng(0))
TENTH = Fraction(1, 10)


def test_a_pure_choice_has_the_rate_of_a_step(recorded_desk, protected, paid_before_read):
    protection, steps = protected
    desk = recorded_desk(protection)
    choose_rule(desk, SCALES, 2, Pure(TENTH))
    assert desk.draws.laws == [("exponential", (TENTH / steps, 1, True))]
    assert desk.made() == [Selection("exponential mechanism", TENTH / steps, steps)]
    (entry,) = desk.ledger.entries
    assert entry.cost().epsilon == TENTH
    paid_before_read(desk)


def test_a_gaussian_choice_has_a_range_of_the_rate_times_the_steps(
    recorded_desk, protected, paid_before_read
):
    protection, steps = protected
    desk = recorded_desk(protection)
    choose_rule(desk, SCALES, 2, Gaussian(0.05))
    ((what, rate),) = desk.draws.laws
    assert what == "exponential at"
    # By hand: mu is sqrt(2 pi) / 4 of the range, and a step moves differences by the rate.
    assert float(rate) == pytest.approx(0.05 / (math.sqrt(2 * math.pi) / 4) / steps, rel=1e-3)
    assert desk.made() == [BoundedRange(rate, Fraction(steps, 2))]
    (entry,) = desk.ledger.entries
    assert 0.05 * (1 - 1e-3) < entry.cost().mu <= 0.05
    paid_before_read(desk)


def test_the_best_rule_tells_the_classes_apart(recorded_desk):
    """The class is whether feature a is above 0.3: its cut at 1/4 is right most often."""
    desk = recorded_desk()
    rule = choose_rule(desk, SCALES, 2, Pure(TENTH))
    assert rule == Rule(1, 0, 0, 1)
    found = count_right(desk, SCALES, 2, rule, Pure(TENTH))
    (utilities,) = (call.numbers for call in desk.draws.calls if call.kind == "exponential")
    assert found.values.tolist() == [utilities.max(), 60 - utilities.max()]


def test_counts_of_right_and_wrong_have_noise_for_the_steps(recorded_desk, protected):
    protection, steps = protected
    desk = recorded_desk(protection)
    count_right(desk, SCALES, 2, Rule(1, 0, 0, 1), Pure(TENTH))
    (made,) = desk.made()
    assert isinstance(made, DiscreteLaplace)
    assert made.scale / made.sensitivity == 10
    assert made.sensitivity % steps == 0


def test_errors_beyond_have_noise_for_the_steps(recorded_desk, protected, paid_before_read):
    """On a grid, of which a record moves at most the steps of 1: what is drawn is rounded down."""
    protection, steps = protected
    desk = recorded_desk(protection)
    allowed = Allowed(math.pi, 1.5)
    found = count_errors_beyond(desk, SCALES, 2, allowed, Pure(TENTH))
    (made,) = desk.made()
    assert isinstance(made, DiscreteLaplace)
    assert made.scale / made.sensitivity == 10
    grid, left = divmod(int(made.sensitivity), steps)
    assert left == 0
    exact = errors_beyond(SCALES, desk.total(ScaleCounts(SCALES, 2)), allowed)
    assert [list(call.numbers) for call in desk.draws.calls] == [[math.floor(grid * exact)]]
    assert found.values[0] * grid == math.floor(grid * exact)
    paid_before_read(desk)


def test_errors_saved_have_noise_for_the_steps(recorded_desk, protected, paid_before_read):
    """On a grid, of which a record moves at most the steps of 1: what is drawn is rounded down."""
    protection, steps = protected
    desk = recorded_desk(protection)
    found = count_errors_saved(desk, SCALES, 2, math.pi, Pure(TENTH))
    (made,) = desk.made()
    assert isinstance(made, DiscreteLaplace)
    assert made.scale / made.sensitivity == 10
    grid, left = divmod(int(made.sensitivity), steps)
    assert left == 0
    exact = errors_saved(SCALES, desk.total(ScaleCounts(SCALES, 2))) - Fraction(math.pi)
    assert [list(call.numbers) for call in desk.draws.calls] == [[math.floor(grid * exact)]]
    assert found.values[0] * grid == math.floor(grid * exact)
    paid_before_read(desk)


def worlds(n_classes):
    features = FeatureBins(np.array([3, 3]), np.array([4, 5]), np.array([False, True]))
    return Scales.drawn(features, (None, None), n_classes, np.random.default_rng(1))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 4))
def test_a_record_more_adds_0_or_1_to_every_utility(seed, n_classes):
    """All records of a small table, one taken out at a time; every rule, against the plain way."""
    scales, rng = worlds(n_classes), np.random.default_rng(seed)
    n = 6
    bins = np.column_stack([rng.integers(0, 4, n), rng.integers(0, 5, n)]).astype(np.uint8)
    block = Block(np.asfortranarray(bins), rng.integers(0, n_classes, n).astype(np.int32))
    statistic = ScaleCounts(scales, n_classes)
    whole = total_of(statistic, block)
    rules, utilities, _ = rules_of(scales, whole)
    for i in range(n):
        alone = total_of(statistic, block.rows(slice(i, i + 1)))
        _, less, _ = rules_of(scales, whole - alone)
        _, own, _ = rules_of(scales, alone)
        assert set(np.unique(utilities - less)) <= {0, 1}
        assert (utilities - less == own).all()
        cells = alone.sum(axis=2).argmax(axis=1)
        told = np.where(cells[rules[0]] <= rules[1], rules[2], rules[3])
        assert (own == (told == block.target[i])).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 80), st.floats(0.0, 0.5), st.floats(-9.0, 9.0))
def test_a_record_more_changes_errors_beyond_by_1_at_most(seed, n, rare, most):
    """Tables of which one class is rare, or is not there; one record taken out at a time."""
    scales, rng = worlds(2), np.random.default_rng(seed)
    bins = np.column_stack([rng.integers(0, 4, n + 1), rng.integers(0, 5, n + 1)])
    target = np.where(rng.random(n + 1) < rare, 1, 0).astype(np.int32)
    target[0] = rng.integers(0, 2)
    block = Block(np.asfortranarray(bins.astype(np.uint8)), target)
    statistic = ScaleCounts(scales, 2)
    whole = total_of(statistic, block)
    for i in range(min(n + 1, 12)):
        less = whole - total_of(statistic, block.rows(slice(i, i + 1)))
        for allowed in (Allowed(most, 0.0), Allowed(9.0, most)):
            some, all_ = (errors_beyond(scales, counts, allowed) for counts in (less, whole))
            assert abs(all_ - some) <= 1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 80), st.integers(2, 4))
def test_a_record_more_changes_errors_saved_by_1_at_most(seed, n, n_classes):
    scales, rng = worlds(n_classes), np.random.default_rng(seed)
    bins = np.column_stack([rng.integers(0, 4, n + 1), rng.integers(0, 5, n + 1)])
    target = rng.integers(0, n_classes, n + 1).astype(np.int32)
    block = Block(np.asfortranarray(bins.astype(np.uint8)), target)
    statistic = ScaleCounts(scales, n_classes)
    whole = total_of(statistic, block)
    for i in range(min(n + 1, 12)):
        less = whole - total_of(statistic, block.rows(slice(i, i + 1)))
        assert abs(errors_saved(scales, whole) - errors_saved(scales, less)) <= 1
    (scale, *_), right, _ = rules_of(scales, whole)
    assert errors_saved(scales, whole) == right.max() - right[~scales.is_sum[scale]].max()


def test_errors_saved_by_hand():
    """A class of one corner of four, which a sum tells and no feature alone does."""
    corners = np.array([[0, 0], [0, 2], [2, 0], [2, 2]], np.uint8)
    features = FeatureBins(np.array([3, 3]), np.array([4, 4]), np.zeros(2, np.bool_))
    scales = Scales.drawn(features, (None, None), 2, np.random.default_rng(0))
    assert not scales.is_sum[:3].any()
    assert scales.is_sum[3:].all()
    rows, classes = corners.repeat(5, axis=0), np.repeat([0, 0, 0, 1], 5).astype(np.int32)
    counts = total_of(ScaleCounts(scales, 2), Block(np.asfortranarray(rows), classes))
    assert errors_saved(scales, counts) == 5  # above 0.75 of both it is the second class
    told = (rows[:, 0] > 0).astype(np.int32)
    counts = total_of(ScaleCounts(scales, 2), Block(np.asfortranarray(rows), told))
    assert errors_saved(scales, counts) == 0


def test_errors_beyond_by_hand():
    """A hundred records, some of the second class; the first feature tells all but the wrong."""
    scales = worlds(2)

    def beyond(wrong, second):
        bins, target = np.zeros((100, 2), np.uint8), np.zeros(100, np.int32)
        target[:second], bins[: second - wrong, 0] = 1, 3
        counts = total_of(ScaleCounts(scales, 2), Block(bins, target))
        return errors_beyond(scales, counts, Allowed(most=6.0, fewer=15.0))

    assert [beyond(wrong, 30) for wrong in (0, 5, 6, 8)] == [-6, -1, 0, 2]
    # Of one class nearly all: however few errors there are, hardly any can be saved.
    assert [beyond(0, 20), beyond(4, 20), beyond(0, 4), beyond(4, 4)] == [-5, -1, 11, 15]


def test_rules_are_all_there_and_share_the_measure_of_their_kind():
    scales = worlds(3)
    rules, utilities, weights = rules_of(scales, np.zeros((len(scales), 16, 3), np.int64))
    one_class = rules[2] == rules[3]
    assert (rules[0][one_class] == 0).all()
    assert one_class.sum() == 3
    assert len(utilities) == 3 + 6 * int((scales.n_cells - 1).sum())
    assert (rules[1] < scales.n_cells[rules[0]] - 1)[~one_class].all()
    size = scales.steps.any(axis=2).sum(axis=1)[rules[0]]
    shares = [weights[size == 0].sum(), weights[size == 1].sum(), weights[size > 1].sum()]
    assert np.array(shares) / MEASURE == pytest.approx([CONSTANT, SINGLE, SUM], rel=1e-4)


def test_beyond_the_budget_nothing_is_read(recorded_desk):
    desk = recorded_desk(epsilon=0.1)
    for price in (Pure(Fraction(1, 5)), Gaussian(5.0)):
        with pytest.raises(Exception, match="budget"):
            choose_rule(desk, SCALES, 2, price)
    assert desk.log == []
