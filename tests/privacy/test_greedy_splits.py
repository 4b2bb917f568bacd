"""Greedy splits: what a node's choice gets, by which law, and what the ledger is told."""

from fractions import Fraction

import numpy as np
import pytest

from dpforest.privacy.accounts.mechanisms_used import Selection
from dpforest.privacy.accounts.tree_sampling import Span, TreeSampling
from dpforest.privacy.greedy_splits import Rule, choose_attributes, node_counts
from dpforest.schema import NumericFeature, Schema
from dpforest.tables.encode import Encoding
from dpforest.trees.attribute_grower import AttributeGrower
from dpforest.trees.level_grower import BINS, LevelGrower

SPAN = Span(Fraction(1, 8), Fraction(1, 2))
ENCODING = Encoding.from_schema(
    Schema((NumericFeature("a", 0, 1), NumericFeature("b", 0, 1))), max_bins=4
)
CRITERIA = ("gini", "information_gain", "max", "f_max")


def ask(kind="multiway"):
    rng, shape = np.random.default_rng(0), {"n_trees": 3, "n_candidates": 2}
    bins = ENCODING.feature_bins
    if kind == "multiway":
        return AttributeGrower(bins, **shape, max_leaf_nodes=64, rng=rng).ask()
    lengths = np.ones((2, BINS), np.int64)
    return LevelGrower(bins, lengths, **shape, categories="subset", rng=rng).ask()


@pytest.mark.parametrize("kind", ["multiway", "binary"])
@pytest.mark.parametrize("selection", ["permute_and_flip", "exponential"])
def test_a_node_gets_what_a_tree_may_spend_in_its_span(
    recorded_desk, protected, sampling, allowed, require_debit, paid_before_read, selection, kind
):
    protection, steps = protected
    rule = Rule.of("max", 100, selection, Fraction(1))
    desk = recorded_desk(protection)
    choose_attributes(desk, ask(kind), 2, rule, SPAN, sampling)
    ((how, (epsilon, sensitivity, monotone)),) = desk.draws.laws
    assert how == selection.replace("_", " ")
    assert (sensitivity, monotone) == (rule.score.sensitivity, rule.score.monotone) == (1, True)
    assert float(epsilon) == pytest.approx(float(allowed(sampling, SPAN, steps)), rel=1e-9)
    made = Selection(selection, epsilon, 1)
    require_debit(desk, sampling, steps, [(made, SPAN)])
    paid_before_read(desk)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_choices_have_the_law_of_their_score(recorded_desk, criterion):
    rule = Rule.of(criterion, 100, "permute_and_flip", None)
    desk = recorded_desk()
    choose_attributes(desk, ask(), 2, rule, SPAN, TreeSampling("shared", 3))
    ((_, (_, sensitivity, monotone)),) = desk.draws.laws
    assert sensitivity == rule.score.sensitivity
    assert monotone == rule.score.monotone


def test_counts_of_nodes_have_the_noise_of_their_span(
    recorded_desk, protected, sampling, allowed, require_debit, paid_before_read
):
    protection, steps = protected
    desk = recorded_desk(protection)
    released = node_counts(desk, ask(), 2, SPAN, sampling)
    ((kind, made),) = desk.draws.laws
    within = float(allowed(sampling, SPAN, steps))
    assert (kind, made.sensitivity) == ("noise", 1)
    assert float(made.scale) == pytest.approx(1 / within, rel=1e-8)
    assert float(made.scale) * within >= 1 - 1e-12
    assert released.values.shape == (3,)
    require_debit(desk, sampling, steps, [(made, SPAN)])
    paid_before_read(desk)


def test_stopping_is_a_candidate_of_the_same_draw(recorded_desk):
    """With a cost no child is worth, all nodes stop; it is one draw, not a second one."""
    dear = Rule.of("max", 100, "permute_and_flip", Fraction(1000))
    desk = recorded_desk()
    candidate, _ = choose_attributes(desk, ask(), 2, dear, SPAN, TreeSampling("disjoint", 3))
    assert candidate.tolist() == [-1, -1, -1]
    (call,) = desk.draws.calls
    assert call.numbers.shape == (3, 3)  # two candidates, and to stop
