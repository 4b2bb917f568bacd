"""Projected trees never fall along a feature that may not, and the rest stays as it is."""

import numpy as np
import pytest

from dpforest.trees.monotone import Monotone
from dpforest.trees.oblivious import ObliviousTrees


def drawn(rng, n_trees=20, depth=4, n_features=3, n_values=6):
    """Numeric features, often asked twice; the bin of missing values goes by a coin."""
    cut = rng.integers(0, n_values - 1, (n_trees, depth, 1))
    right = np.arange(256) > cut
    right[:, :, n_values:] = rng.random((n_trees, depth, 1)) < 0.5
    trees = ObliviousTrees(
        rng.integers(0, n_features, (n_trees, depth)).astype(np.int32),
        right,
        rng.integers(0, depth + 1, n_trees).astype(np.int32),
    )
    return trees, rng.normal(size=(n_trees, 1, 1 << depth)).astype(np.float32)


def answers(trees, values, bins):
    """What each tree says of each record, shape (n_trees, n)."""
    found = np.empty((trees.n_trees, len(bins)), np.float32)
    for t in range(trees.n_trees):
        leaf = np.zeros(len(bins), int)
        for k in range(trees.depth[t]):
            leaf |= trees.goes_right[t, k, bins[:, trees.feature[t, k]]].astype(int) << k
        found[t] = values[t, 0, leaf]
    return found


@pytest.mark.parametrize("signs", [(1, 0, 0), (1, -1, 0), (-1, 1, 1), (0, 0, 0)])
def test_every_tree_follows_the_signs(signs):
    rng = np.random.default_rng(0)
    trees, values = drawn(rng)
    n_values = np.array([6, 6, 6])
    projected = Monotone(np.array(signs), n_values).project(trees, values)
    records = rng.integers(0, 7, (200, 3))
    for j, sign in enumerate(signs):
        steps = []
        for b in range(6):
            records[:, j] = b
            steps.append(answers(trees, projected, records))
        rises = sign * np.diff(steps, axis=0)
        assert (rises >= 0).all()
    if not any(signs):
        np.testing.assert_array_equal(projected, values)


def test_trees_that_keep_to_it_stay_as_they_are():
    rng = np.random.default_rng(1)
    trees, values = drawn(rng)
    rule = Monotone(np.array([1, -1, 0]), np.array([6, 6, 6]))
    once = rule.project(trees, values)
    np.testing.assert_array_equal(rule.project(trees, once), once)
    assert not np.array_equal(once, values)
    unasked = ~np.isin(trees.feature, [0, 1]).any(axis=1)
    np.testing.assert_array_equal(once[unasked], values[unasked])
