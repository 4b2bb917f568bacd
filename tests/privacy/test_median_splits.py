"""Median splits and quartiles: the laws of all choices, worked out by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpforest.privacy import median_splits
from dpforest.privacy.accounts.mechanisms_used import Selection
from dpforest.privacy.accounts.tree_sampling import Span, TreeSampling
from dpforest.privacy.median_splits import choose_median_splits, middle_of_target
from dpforest.schema import NumericFeature, Schema
from dpforest.tables.encode import Encoding
from dpforest.trees.level_grower import BINS, LevelGrower

SPAN = Span(Fraction(1, 8), Fraction(1, 2))
ENCODING = Encoding.from_schema(
    Schema((NumericFeature("a", 0, 1), NumericFeature("b", 0, 1))), max_bins=4
)
K = 2  # candidates of a node
D = {"classes": 2 * 32**2, "numbers": 4096**2}  # the most a record changes a sum of squared errors


def ask_twice():
    """The nodes of the second level of three trees."""
    lengths = np.ones((2, BINS), np.int64)
    rng = np.random.default_rng(0)
    shape = {"n_trees": 3, "n_candidates": K, "categories": "subset"}
    grower = LevelGrower(ENCODING.feature_bins, lengths, **shape, rng=rng)
    question = grower.ask()
    grower.answer(np.zeros(3, np.int64), np.ones(3, np.int64))
    assert question is not None
    return grower.ask()


def laws_of(choice, target, epsilon):
    """The draws of a node, and the part of its epsilon that each gets."""
    cut, error = (1, False), (D[target], True)
    if choice == "pay":  # K medians add up, and then one choice among them
        expected = [("exponential", Fraction(1, 2 * K), *cut), ("permute and flip", 0.5, *error)]
    elif choice == "attribute":
        expected = [("permute and flip", 0.5, *error), ("exponential", 0.5, *cut)]
    else:
        expected = [("exponential", 1, D[target] + D[target] // 8, True)]
    return [(kind, float(part) * float(epsilon), s, m) for kind, part, s, m in expected]


@pytest.mark.parametrize("target", ["classes", "numbers"])
@pytest.mark.parametrize("choice", ["pay", "attribute", "joint"])
def test_choices_of_nodes_add_up_to_what_a_tree_may_spend(
    recorded_desk, protected, sampling, allowed, require_debit, paid_before_read, choice, target
):
    protection, steps = protected
    desk = recorded_desk(protection, target=target)
    what = 2 if target == "classes" else (0.0, 1.0)
    choose_median_splits(desk, ask_twice(), what, choice, SPAN, sampling)
    within = allowed(sampling, SPAN, steps)
    found = [(kind, float(law[0]), *law[1:]) for kind, law in desk.draws.laws]
    for law, expected in zip(found, laws_of(choice, target, within), strict=True):
        assert (law[0], *law[2:]) == (expected[0], *expected[2:])
        assert law[1] == pytest.approx(expected[1], rel=1e-9)
    (spend,) = desk.made()
    made = spend.made if sampling.kind == "without_replacement" else spend
    assert float(made.epsilon) == pytest.approx(float(within), rel=1e-9)
    require_debit(desk, sampling, steps, [(Selection("private choices", made.epsilon, 1), SPAN)])
    paid_before_read(desk)


def test_a_level_in_several_passes_chooses_the_same(recorded_desk, monkeypatch):
    sampling = TreeSampling("disjoint", 3)
    answers = []
    for cells in (1 << 24, 1):
        monkeypatch.setattr(median_splits, "HISTOGRAM_CELLS", cells)
        desk = recorded_desk()
        answers.append(choose_median_splits(desk, ask_twice(), 2, "joint", SPAN, sampling))
    np.testing.assert_array_equal(*answers)
    assert len(desk.draws.calls) == 6  # a node at a time
    assert len(desk.made()) == 1


def test_quartiles_are_chosen_at_half_of_epsilon_each(recorded_desk, protected, paid_before_read):
    """The upper one first, among all records; then the lower one among those below."""
    protection, steps = protected
    desk = recorded_desk(protection, target="numbers")
    low, high = middle_of_target(desk, (0.0, 1.0), Fraction(1, 2))
    quarter = Fraction(1, 4)
    # At the level a / b an added record moves the rank by at most max(a, b - a): 3 / 4, 1 / 3.
    assert desk.draws.laws == [
        ("exponential", (quarter, 3 * steps, False)),
        ("exponential", (quarter, 2 * steps, False)),
    ]
    assert desk.made() == [Selection("exponential mechanism", Fraction(1, 2) / steps, steps)]
    assert desk.ledger.epsilon == 0.5
    paid_before_read(desk)
    assert 0.15 < low < 0.35
    assert 0.65 < high < 0.85


def test_bounds_that_doubles_do_not_tell_apart_stay_as_they_are(recorded_desk):
    bounds = (1.0, math.nextafter(1.0, 2.0))
    desk = recorded_desk(target="numbers")
    low, high = middle_of_target(desk, bounds, Fraction(1, 2))
    assert low < high
