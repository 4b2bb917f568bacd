"""The printed bounds against simulation, and the rules that follow from them."""

import math
from itertools import pairwise

import numpy as np
import pytest

from dpforest.trees.balance import (
    EMPTY_LEAF_RISK,
    auto_depth,
    balanced_depth,
    empty_leaf_chance,
    excess_error_bound,
    leaf_size_tail,
)


def deviations_of_leaves(depth, epsilon_1):
    """Theorem 2's law of how far a leaf is off its even share."""
    rng = np.random.default_rng(0)
    scales = 2.0 ** (np.arange(1, depth + 1) - depth) / epsilon_1
    signs = rng.choice([-1, 1], (40_000, depth))
    return (signs * rng.exponential(scales, (40_000, depth))).sum(axis=1)


@pytest.mark.parametrize("depth", [1, 3, 6, 10])
@pytest.mark.parametrize("share", [1.0, 3.0, 8.0])
def test_the_chance_of_an_empty_leaf_is_that_of_the_simulation(depth, share):
    empty = (deviations_of_leaves(depth, 0.5) <= -share).mean()
    chance = empty_leaf_chance(share, depth, 0.5)
    # Four standard errors of the simulation.
    assert abs(empty - chance) <= 4 * math.sqrt(chance * (1 - chance) / 40_000)


def test_auto_depth_takes_the_stated_risk_and_no_more():
    for n, epsilon in ((2_000, 0.3), (5_000, 0.5), (40_000, 0.1)):
        depth = auto_depth(n, epsilon)
        deeper = depth + 1
        taken = empty_leaf_chance(n / 2.0**depth, depth, epsilon / (2.0 * depth))
        assert taken <= EMPTY_LEAF_RISK
        assert empty_leaf_chance(n / 2.0**deeper, deeper, epsilon / (2 * deeper)) > EMPTY_LEAF_RISK


@pytest.mark.parametrize("depth", [3, 6, 10])
def test_the_tail_bound_holds_in_simulation(depth):
    epsilon_1 = 0.5
    deviations = np.abs(deviations_of_leaves(depth, epsilon_1))
    for t in (2.0, 5.0, 10.0, 20.0):
        # Three standard errors of the simulation: fails once in 700 if the bound were tight.
        slack = 3 * math.sqrt(0.25 / 40_000)
        assert (deviations >= t).mean() <= leaf_size_tail(t, depth, epsilon_1) + slack


def test_the_tail_falls_with_the_deviation():
    tails = [leaf_size_tail(t, 5, 0.3) for t in (0, 1, 10, 30, 100)]
    assert tails[0] == 1.0
    assert all(a >= b for a, b in pairwise(tails))


def test_rules_grow_with_records_and_budget():
    for rule in (balanced_depth, auto_depth):
        depths = [rule(n, 1.0) for n in (10, 100, 1_000, 10_000, 100_000)]
        assert depths == sorted(depths)
        assert rule(1_000, 0.1) <= rule(1_000, 10.0) <= rule(1_000, math.inf)
    assert balanced_depth(1_000, 1.0) <= auto_depth(1_000, 1.0)


def test_theorem_3_bounds_fall_with_more_records():
    shape = {"depth": 4, "epsilon_1": 0.5, "epsilon_2": 0.5, "low": 0.0, "high": 1.0}
    bounds = [excess_error_bound(n, **shape) for n in (100, 10_000, 1_000_000)]
    assert bounds[0] == math.inf
    assert bounds[1] > bounds[2]
