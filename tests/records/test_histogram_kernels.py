"""Histograms of nodes and sums of leaves, against counting by hand."""

import numpy as np
import pytest

from dpforest.records.blocks import Block
from dpforest.records.statistics import (
    LeafClassCounts,
    LeafSums,
    NodeHistograms,
    TargetGrid,
)
from dpforest.trees.growers import grow_binary, grow_multiway
from dpforest.trees.structure import FeatureBins

N, FEATURES, TREES = 400, 3, 4
RNG = np.random.default_rng(0)
FEATURE_BINS = FeatureBins(
    np.full(FEATURES, 5), np.full(FEATURES, 6), np.zeros(FEATURES, bool)
)  # fmt: skip
FORESTS = {
    "binary": grow_binary(FEATURE_BINS, TREES, 2, RNG),
    "multiway": grow_multiway(FEATURE_BINS, TREES, 2, RNG),
}
BINS = RNG.integers(0, 6, (N, FEATURES)).astype(np.uint8)
PART = RNG.integers(0, TREES, N).astype(np.int32)
MEMBERS = RNG.integers(0, 3, (N, TREES)).astype(np.uint8)
CLASSES = RNG.integers(0, 3, N).astype(np.int32)
NUMBERS = RNG.random(N) * 4 - 1

every_forest = pytest.mark.parametrize("forest", FORESTS.values(), ids=FORESTS)
every_sampling = pytest.mark.parametrize("sampling", ["shared", "disjoint", "without_replacement"])


def leaves_by_hand(forest, i, sampling):
    """Every leaf of a record, with how often it counts there."""
    for t in range(TREES):
        times = {"shared": 1, "disjoint": int(t == PART[i])}.get(sampling, MEMBERS[i, t])
        node = forest.roots[t]
        while forest.n_children[node]:
            b = int(BINS[i, forest.feature[node]])
            right = int(forest.goes_right[node, b // 64]) >> (b % 64) & 1
            node = forest.first_child[node] + (b if forest.multiway else right)
        yield forest.leaf_id[node], times


def total_of(statistic, target):
    total = np.zeros(statistic.shape, np.int64)
    statistic.add(Block(BINS, target, PART, None, MEMBERS), total)
    return total


@every_forest
@every_sampling
@pytest.mark.parametrize("leaves", [None, range(3, 9)])
def test_class_histograms(forest, sampling, leaves):
    leaves = leaves or range(forest.n_leaves)
    candidates = RNG.integers(-1, FEATURES, (forest.n_leaves, 2)).astype(np.int32)
    statistic = NodeHistograms(forest, candidates, 6, leaves, 3, sampling)
    expected = np.zeros(statistic.shape, np.int64)
    for i in range(N):
        for leaf, times in leaves_by_hand(forest, i, sampling):
            for k, feature in enumerate(candidates[leaf]):
                if feature >= 0 and leaf in leaves:
                    expected[leaf - leaves.start, k, BINS[i, feature], CLASSES[i]] += times
    assert np.array_equal(total_of(statistic, CLASSES), expected)


@every_forest
@every_sampling
def test_class_counts(forest, sampling):
    statistic = LeafClassCounts(forest, 3, sampling)
    expected = np.zeros(statistic.shape, np.int64)
    for i in range(N):
        for leaf, times in leaves_by_hand(forest, i, sampling):
            expected[leaf, CLASSES[i]] += times
    assert np.array_equal(total_of(statistic, CLASSES), expected)


@every_forest
@every_sampling
def test_target_histograms_and_sums(forest, sampling):
    grid = TargetGrid(-1.0, 3.0, 8)
    every = range(forest.n_leaves)
    steps = np.rint((NUMBERS + 1) * 2).astype(int)
    all_first = np.zeros((forest.n_leaves, 2), np.int32)
    histograms = NodeHistograms(forest, all_first, 6, every, grid, sampling)
    sums = LeafSums(forest, grid, sampling)
    expected = np.zeros(sums.shape, np.int64)
    for i in range(N):
        for leaf, times in leaves_by_hand(forest, i, sampling):
            expected[leaf] += [times, times * steps[i]]
    assert np.array_equal(total_of(sums, NUMBERS), expected)
    assert np.array_equal(total_of(histograms, NUMBERS)[:, 0].sum(axis=1), expected)


def test_targets_at_the_bounds_stay_on_the_grid():
    grid, forest = TargetGrid(0.1, 0.7, 4096), FORESTS["binary"]
    total = np.zeros((forest.n_leaves, 2), np.int64)
    LeafSums(forest, grid, "shared").add(Block(BINS[:1], np.array([0.7])), total)
    assert set(total[:, 1].tolist()) == {0, 4096}


@every_forest
def test_targets_outside_of_a_narrower_grid_count_as_its_bounds(forest):
    grid, every = TargetGrid(0.0, 1.0, 10), range(forest.n_leaves)
    candidates = np.zeros((forest.n_leaves, 1), np.int32)
    histograms = NodeHistograms(forest, candidates, 6, every, grid, "disjoint")
    assert NUMBERS.min() < -0.5
    assert NUMBERS.max() > 1.5
    clipped = total_of(histograms, np.clip(NUMBERS, 0.0, 1.0))
    assert np.array_equal(total_of(histograms, NUMBERS), clipped)
