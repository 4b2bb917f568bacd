"""Whole greedy forests on every pair of small tables: splits, stops and leaves together."""

import itertools
from dataclasses import replace
from unittest.mock import patch

import pytest

from dpforest import GreedyForestClassifier, NumericFeature, Schema, Target
from dpforest.audit import exhaust
from dpforest.privacy import greedy_releases
from dpforest.privacy.scores import STEP
from dpforest.privacy.tree_sampling import TreeSampling

EPSILON = 3.0
SCHEMA = Schema(
    tuple(NumericFeature(name, 0.0, 1.0, cuts=(0.5,)) for name in "ab"), Target(classes=(0, 1))
)
RECORDS = list(itertools.product((0.2, 0.7), (0.2, 0.7), (0, 1)))


def check(most=3, records=RECORDS, **options):
    settings = {
        "n_estimators": 1, "max_depth": 1, "min_support": 0.0, "level_budget": "even",
        "random_state": 0, "schema": SCHEMA,
    }  # fmt: skip
    forest = GreedyForestClassifier(epsilon=EPSILON, **settings | options)
    report = exhaust(forest, records, most=most)
    assert report.claim.epsilon == pytest.approx(EPSILON)
    return report


@pytest.mark.parametrize("criterion", ["gini", "information_gain", "max", "f_max"])
@pytest.mark.parametrize("selection", ["permute_and_flip", "exponential"])
def test_every_criterion_holds_with_every_mechanism(criterion, selection):
    report = check(2, criterion=criterion, selection=selection, n_bound=8)
    assert report.holds
    assert report.worst_loss > EPSILON / 3


@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize("leaves", ["label", "counts"])
def test_aligned_leaves_of_several_levels_hold(splits, leaves):
    # Where a node stops, its leaf has more to spend than those below its neighbour.
    few = [(0.2, 0.2, 0), (0.2, 0.7, 1), (0.7, 0.2, 1)]
    assert check(3, few, splits=splits, leaves=leaves, max_depth=2, max_features=1).holds


@pytest.mark.parametrize(("sampling", "n_trees"), [
    ("disjoint", 2), ("shared", 2), ("without_replacement", 1),
])  # fmt: skip
def test_every_way_of_sampling_holds(sampling, n_trees):
    few = [(0.2, 0.2, 0), (0.2, 0.7, 1)]
    options = {"sampling": sampling, "n_estimators": n_trees, "splits": "binary"}
    assert check(2, few, **options, stopping=None).holds


def test_neighbours_that_replace_a_record_hold():
    assert check(2, neighbors="replace_one").holds


def test_control_a_tree_that_spends_more_than_it_may_is_caught():
    honest = TreeSampling.within_tree
    with patch.object(TreeSampling, "within_tree", lambda *a: 2 * honest(*a)):
        assert not check(2).holds


def test_control_a_quarter_of_a_sensitivity_is_caught():
    honest = greedy_releases.score_of
    with patch.object(
        greedy_releases, "score_of", lambda *a: replace(honest(*a), sensitivity=STEP // 4)
    ):
        assert not check(2, criterion="f_max").holds
