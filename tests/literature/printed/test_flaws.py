"""Printed parts of greedy forests do what their print says; that they leak is tested in audit."""

import itertools
from typing import get_args

import numpy as np
import pytest

from dpforest.literature.printed.flaws import (
    NEEDS,
    REASONS,
    Flaw,
    are_pure,
    gain_ratio_utilities,
    selected_trees,
)
from dpforest.privacy.mechanisms.scores import STEP


def test_every_flaw_has_a_reason():
    assert set(REASONS) == set(NEEDS) == set(get_args(Flaw))


def entropy(counts):
    shares = counts[counts > 0] / counts.sum()
    return -(shares * np.log2(shares)).sum()


@pytest.mark.parametrize("seed", range(5))
def test_utilities_are_half_gain_and_half_ratio_times_the_records(seed):
    table = np.random.default_rng(seed).integers(0, 4, (4, 3))
    of_bins = entropy(table.sum(axis=1))
    gain = of_bins + entropy(table.sum(axis=0)) - entropy(table.ravel())
    expected = table.sum() * (gain + gain / of_bins) / 2
    assert gain_ratio_utilities(table[None, None])[0, 0] / STEP == pytest.approx(expected, abs=1e-3)


def test_a_feature_that_divides_nothing_has_no_utility():
    tables = np.array([[[[3, 2], [0, 0]], [[0, 0], [0, 0]]]])
    assert gain_ratio_utilities(tables).tolist() == [[0, 0]]


def test_the_ratio_as_a_share_would_hold_with_its_honest_sensitivity():
    # Divided by the records, half gain and half ratio of two classes lies between 0 and 1.
    sizes = itertools.product(range(5), repeat=4)
    tables = np.array([t for t in sizes if sum(t)]).reshape(-1, 1, 2, 2)
    n = tables.sum(axis=(2, 3))
    shares = gain_ratio_utilities(tables) / (STEP * n)
    assert shares.min() > -1e-3
    assert shares.max() == pytest.approx(1.0, abs=1e-3)


def test_pure_nodes_have_records_of_one_class_or_none():
    nodes = np.array([[[[2, 0], [1, 0]]], [[[2, 0], [0, 1]]], [[[0, 0], [0, 0]]]])
    assert are_pure(nodes).tolist() == [True, False, True]


class Errors:
    """Answers with errors from a table, by the trees that are left over."""

    def __init__(self, errors):
        self.errors = errors

    def total(self, statistic):
        kept = set(statistic.kept.tolist())
        return np.array([self.errors[frozenset(kept - {t})] for t in statistic.kept.tolist()])


class ThreeTrees:
    n_trees = 3


def test_the_best_set_that_came_up_is_kept():
    errors = {frozenset(s): 9 for r in (1, 2) for s in itertools.combinations(range(3), r)}
    errors |= {frozenset({0, 2}): 4, frozenset({2}): 6, frozenset({0}): 5}
    assert selected_trees(Errors(errors).total, ThreeTrees(), None).tolist() == [0, 2]
    errors |= {frozenset({2}): 3}
    assert selected_trees(Errors(errors).total, ThreeTrees(), None).tolist() == [2]


def test_with_a_tie_the_first_tree_goes_and_the_larger_set_stays():
    errors = {frozenset(s): 1 for r in (1, 2) for s in itertools.combinations(range(3), r)}
    assert selected_trees(Errors(errors).total, ThreeTrees(), None).tolist() == [1, 2]


def test_a_single_tree_is_kept():
    single = type("OneTree", (), {"n_trees": 1})()
    assert selected_trees(Errors({}).total, single, None).tolist() == [0]
