import math
from dataclasses import replace

import numpy as np
import pytest

from dpforest.forests.matrix_plan import AUTO_CELLS, Facts, Plan, make_plan, merit
from dpforest.trees.structure import FeatureBins

AUTO = dict.fromkeys(("n_trees", "max_depth", "n_ensembles", "n_features"), "auto")


def facts(sizes, *, epsilon=1.0, n_records=10_000.0, order=1):
    sizes = np.array(sizes)
    bins = FeatureBins(sizes, sizes, np.ones(len(sizes), bool))
    return Facts(bins, math.sqrt(2) / epsilon, order, n_records)


def plan(sizes, given=None, **known):
    return make_plan(facts(sizes, **known), **AUTO | (given or {}))


@pytest.mark.parametrize("sizes", [[4] * 6, [2] * 16, [9, 3, 5, 2, 2, 7]])
def test_more_budget_and_more_records_mean_deeper_trees(sizes):
    by_epsilon = [plan(sizes, epsilon=e).max_depth for e in (0.001, 0.01, 0.1, 1.0, 10.0)]
    by_records = [plan(sizes, n_records=n).max_depth for n in (10.0, 1e3, 1e5, 1e7)]
    assert by_epsilon == sorted(by_epsilon)
    assert by_records == sorted(by_records)
    assert by_epsilon[-1] > by_epsilon[0]


def test_a_domain_stays_quick_to_measure():
    found = plan([5] * 40, epsilon=math.inf)
    assert 5.0**found.n_features <= AUTO_CELLS
    assert found.n_ensembles * found.n_features >= 40


def test_hardly_any_budget_goes_to_few_features():
    assert plan([5] * 20, epsilon=0.001).n_ensembles < plan([5] * 20, epsilon=1.0).n_ensembles


def test_what_is_given_stays():
    given = {"n_trees": 9, "max_depth": 2, "n_ensembles": 3, "n_features": 4}
    assert plan([3] * 8, given) == Plan(9, 2, 3, 4)
    assert plan([3] * 8, given, n_records=None) == Plan(9, 2, 3, 4)
    assert plan([3] * 8, {"max_depth": 9, "n_features": 6}).max_depth == 6
    assert plan([3] * 8, {"n_trees": 2}, epsilon=0.5).n_ensembles <= 2


def test_trees_that_are_all_alike_are_grown_once():
    assert plan([3] * 6, {"max_depth": 2, "n_features": 2}).n_trees == 3
    assert plan([3] * 6, {"max_depth": 2, "n_features": 4, "n_ensembles": 1}).n_trees == 128


def test_trees_that_vote_once_differ():
    varied = replace(facts([4] * 6, epsilon=0.3, n_records=1_400.0), varied=True)
    found = make_plan(varied, **AUTO)
    assert (found.n_trees, found.n_ensembles, found.n_features) == (128, 1, 6)
    assert found.max_depth < 6


def test_without_a_number_of_records_all_features_are_taken_together():
    assert plan([4, 4, 3], {"max_depth": 2}, n_records=None) == Plan(128, 2, 1, 3)
    assert plan([5] * 40, {"max_depth": 2}, n_records=None).n_ensembles == 4


def test_the_merit_knows_both_strategies():
    """Marginals of one feature are better measured by themselves than as sums of cells."""
    many = facts([4] * 6, epsilon=0.1)
    records = 10_000 * 4**-0.9
    x2 = records**2 / ((6 * many.deviation) ** 2 + records / 2)
    assert merit(many, 6, 1, 1) == pytest.approx(6 * x2 / (1 + x2 / 9))
    gaussian = facts([4] * 6, epsilon=0.1, order=2)
    assert merit(gaussian, 3, 2, 3) > merit(many, 3, 2, 3)
