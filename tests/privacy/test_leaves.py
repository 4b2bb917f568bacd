"""What leaves release: every law by hand, for four protections and all ways to see records."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpforest.privacy.accounts.mechanisms_used import DiscreteLaplace, Selection
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.tree_sampling import Span, TreeSampling
from dpforest.privacy.leaves import (
    TARGET_STEPS,
    LeafQuestion,
    leaf_counts,
    leaf_labels,
    leaf_target_sums,
)
from dpforest.schema import NumericFeature, Schema
from dpforest.tables.encode import Encoding
from dpforest.trees.growers import grow_binary

EPSILON = Fraction(1, 2)
ENCODING = Encoding.from_schema(
    Schema((NumericFeature("a", 0, 1), NumericFeature("b", 0, 1))), max_bins=4
)
FOREST = grow_binary(ENCODING.feature_bins, 3, 2, np.random.default_rng(0))
SPANS = [Span(Fraction(0), Fraction(1, 8)), Span(Fraction(1, 8), Fraction(1, 2))]
DEARER = [Span(Fraction(0), Fraction(1, 2)), Span(Fraction(1, 4), Fraction(1, 2))]


def alike(sampling):
    return LeafQuestion.alike(FOREST, 2, EPSILON, sampling)


def of_levels(sampling, spans=SPANS):
    """Leaves by turns of the first and the second level."""
    level = np.arange(FOREST.n_leaves) % 2
    return LeafQuestion(FOREST, 2, level, spans, spans, sampling)


def test_counts_have_the_noise_of_their_span(
    recorded_desk, protected, sampling, allowed, require_debit, paid_before_read
):
    protection, steps = protected
    for question in (alike(sampling), of_levels(sampling)):
        desk = recorded_desk(protection)
        released = leaf_counts(desk, question)
        made = [law for _, law in desk.draws.laws]
        expected = [allowed(sampling, span, steps) for span in question.spans]
        assert [law.sensitivity for law in made] == [1] * len(expected)
        scales = [float(law.scale) for law in made]
        assert scales == pytest.approx([1 / float(e) for e in expected], rel=1e-8)
        # Never below what is allowed, but for the rounding of the floats here.
        assert all(law.scale * e >= 1 - 1e-12 for law, e in zip(made, expected, strict=True))
        require_debit(desk, sampling, steps, list(zip(made, question.debits, strict=True)))
        paid_before_read(desk, debits=len(expected))
        for level, scale in enumerate(scales):
            here = released.deviations[question.level == level]
            deviation = math.sqrt(0.5) / math.sinh(0.5 / scale)
            assert here == pytest.approx(np.full(len(here), deviation), rel=1e-8)


def test_labels_are_chosen_for_what_their_span_allows(
    recorded_desk, protected, sampling, allowed, require_debit, paid_before_read
):
    protection, steps = protected
    for question in (alike(sampling), of_levels(sampling)):
        desk = recorded_desk(protection)
        leaf_labels(desk, question)
        expected = [allowed(sampling, span, steps) for span in question.spans]
        given = []
        for kind, (epsilon, sensitivity, monotone) in desk.draws.laws:
            # A record raises one count of a leaf by 1, and lowers none.
            assert (kind, sensitivity, monotone) == ("permute and flip", 1, True)
            given.append(epsilon)
        assert [float(e) for e in given] == pytest.approx([float(e) for e in expected], rel=1e-9)
        assert all(e <= most + 1e-12 for e, most in zip(given, expected, strict=True))
        made = [Selection("permute-and-flip", epsilon, 1) for epsilon in given]
        require_debit(desk, sampling, steps, list(zip(made, question.debits, strict=True)))
        paid_before_read(desk, debits=len(expected))


def test_labels_may_forgo_that_counts_never_fall(recorded_desk):
    desk = recorded_desk()
    leaf_labels(desk, alike(TreeSampling("shared", 3)), monotone=False)
    assert [law[2] for _, law in desk.draws.laws] == [False]


def test_sums_of_targets_have_noise_for_one_record_on_the_grid(
    recorded_desk, protected, sampling, allowed, require_debit, paid_before_read
):
    protection, steps = protected
    desk = recorded_desk(protection, target="numbers")
    released = leaf_target_sums(desk, FOREST, (0.0, 1.0), EPSILON, sampling)
    ((_, made),) = desk.draws.laws
    span = Span(Fraction(0), EPSILON)
    within = float(allowed(sampling, span, steps))
    assert made.sensitivity == TARGET_STEPS
    assert float(made.scale) == pytest.approx(TARGET_STEPS / within, rel=1e-8)
    assert float(made.scale) * within >= TARGET_STEPS * (1 - 1e-12)
    require_debit(desk, sampling, steps, [(made, span)])
    paid_before_read(desk)
    assert released.deviations == pytest.approx(
        np.full(FOREST.n_leaves, math.sqrt(2) / within), rel=1e-3
    )


def test_a_record_adds_one_to_both_sums_together(recorded_desk):
    """1 - t below and t above: each record is in one leaf of every tree, and counts once there."""
    desk = recorded_desk(target="numbers")
    released = leaf_target_sums(desk, FOREST, (0.0, 1.0), EPSILON, TreeSampling("shared", 3))
    by_tree = np.add.reduceat(released.values, FOREST.leaf_offsets[:-1])
    np.testing.assert_allclose(by_tree.sum(axis=1), 60)
    (call,) = desk.draws.calls
    assert (call.numbers >= 0).all()


def test_ways_that_spent_less_have_more_and_the_dearest_is_debited(recorded_desk, sampling):
    """Aligned leaves: spans may overlap, since a record is in one leaf; the longest is debited."""
    level = np.arange(FOREST.n_leaves) % 2
    question = LeafQuestion(FOREST, 2, level, DEARER, [DEARER[0]], sampling)
    desk = recorded_desk()
    leaf_counts(desk, question)
    first, second = (law.scale for _, law in desk.draws.laws)
    assert first < second
    assert float(desk.ledger.epsilon) == pytest.approx(0.5, rel=1e-8)
    assert [call.numbers.shape for call in desk.draws.calls] == [(FOREST.n_leaves // 2, 2)] * 2


def test_a_tree_sees_the_same_records_at_every_level(recorded_desk):
    sampling = TreeSampling("without_replacement", 3, Fraction(2, 5))
    desk = recorded_desk(Protection())
    leaf_counts(desk, alike(sampling))
    coins = desk.log.count("coins")
    leaf_labels(desk, alike(sampling))
    assert coins == 3
    assert desk.log.count("coins") == 3
    first, second = desk.draws.calls
    np.testing.assert_array_equal(first.numbers, second.numbers)
    assert isinstance(first.law, DiscreteLaplace)
