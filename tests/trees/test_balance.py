"""The law of the leaves against simulation, and the rule that follows from it."""

import math

import numpy as np
import pytest

from dpforest.trees.balance import (
    EMPTY_LEAF_RISK,
    empty_leaf_chance,
    median_depth,
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
        depth = median_depth(n, epsilon)
        deeper = depth + 1
        taken = empty_leaf_chance(n / 2.0**depth, depth, epsilon / (2.0 * depth))
        assert taken <= EMPTY_LEAF_RISK
        assert empty_leaf_chance(n / 2.0**deeper, deeper, epsilon / (2 * deeper)) > EMPTY_LEAF_RISK


def test_the_rule_grows_with_records_and_budget():
    depths = [median_depth(n, 1.0) for n in (10, 100, 1_000, 10_000, 100_000)]
    assert depths == sorted(depths)
    assert median_depth(1_000, 0.1) <= median_depth(1_000, 10.0) <= median_depth(1_000, math.inf)
