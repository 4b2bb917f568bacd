import math

import numpy as np
import pytest

from dpforest.trees.growers import grow_binary, grow_multiway
from dpforest.trees.pruning import (
    lean_on_parents,
    most_confident_nodes,
    node_totals,
    prune,
    signal_to_noise,
)
from dpforest.trees.structure import FeatureBins

BINS = FeatureBins(np.array([3, 4, 2]), np.array([4, 6, 3]), np.array([False, True, False]))


@pytest.fixture(params=["binary", "multiway"])
def forest(request):
    grow = grow_binary if request.param == "binary" else grow_multiway
    return grow(BINS, 3, 2, np.random.default_rng(0))


def test_roots_hold_the_sums_of_their_trees(forest):
    values = np.random.default_rng(1).random((forest.n_leaves, 2))
    totals = node_totals(forest, values)
    for tree, root in enumerate(forest.roots):
        own = slice(forest.leaf_offsets[tree], forest.leaf_offsets[tree + 1])
        np.testing.assert_allclose(totals[root], values[own].sum(axis=0))


def test_pruning_follows_the_signal_by_hand():
    forest = grow_binary(BINS, 1, 2, np.random.default_rng(0))
    counts = np.array([[40.0, 0.0], [0.0, 1.0], [0.0, 30.0], [25.0, 0.0]])
    # epsilon 0.1, two classes: a leaf needs 2 sqrt(2) / 0.1 = 28.3 records, an inner node 40.
    ratio = signal_to_noise(forest, node_totals(forest, counts), 0.1)
    np.testing.assert_allclose(ratio[0], 0.1 * 96 / (2 * math.sqrt(8)))
    spoken = prune(forest, counts, 0.1)
    np.testing.assert_array_equal(spoken, [[40, 0], [40, 1], [0, 30], [25, 30]])


def test_without_noise_every_leaf_with_records_speaks_for_itself(forest):
    counts = np.random.default_rng(2).integers(1, 9, (forest.n_leaves, 2)).astype(float)
    np.testing.assert_array_equal(prune(forest, counts, math.inf), counts)


def test_the_most_confident_node_on_the_path_speaks():
    forest = grow_binary(BINS, 1, 2, np.random.default_rng(0))
    counts = np.array([[90.0, 10.0], [10.0, 90.0], [95.0, 5.0], [99.0, 1.0]])
    spoken = most_confident_nodes(forest, counts, 1.0)
    # Left: leaves (0.9) beat their parent (0.5). Right: leaf 2 (0.95) loses to its parent (0.97).
    np.testing.assert_array_equal(spoken, [[90, 10], [10, 90], [194, 6], [99, 1]])


def test_leaves_lean_on_parents_in_proportion_to_their_noise(forest):
    counts = np.random.default_rng(1).uniform(5.0, 50.0, (forest.n_leaves, 2))
    shares = counts / counts.sum(axis=1, keepdims=True)
    assert np.allclose(lean_on_parents(forest, counts, 0.0), shares)
    everywhere = counts.sum(axis=0) / counts.sum()
    assert np.allclose(lean_on_parents(forest, counts, 1e12), everywhere, atol=1e-3)
    between = lean_on_parents(forest, counts, 100.0)
    assert np.allclose(between.sum(axis=1), 1.0)
    assert np.abs(between - everywhere).sum() < np.abs(shares - everywhere).sum()


def test_a_leaf_without_records_says_what_its_parent_does(forest):
    counts = np.full((forest.n_leaves, 2), 10.0)
    counts[:, 1] = 30.0
    counts[0] = 0.0
    assert np.allclose(lean_on_parents(forest, counts, 2.0), [0.25, 0.75])
