"""Histograms of nodes and sums of leaves, against counting by hand."""

import numpy as np
import pytest

from dpforest.records.statistics import Block, LeafSums, NodeHistograms, TargetGrid
from dpforest.trees.growers import grow_binary
from dpforest.trees.structure import FeatureBins

N, FEATURES, TREES = 400, 3, 4
RNG = np.random.default_rng(0)
FOREST = grow_binary(
    FeatureBins(np.full(FEATURES, 5), np.full(FEATURES, 6), np.zeros(FEATURES, bool)),
    TREES, 2, RNG,
)  # fmt: skip
BINS = RNG.integers(0, 6, (N, FEATURES)).astype(np.uint8)
PART = RNG.integers(0, TREES, N).astype(np.int32)
CANDIDATES = RNG.integers(-1, FEATURES, (FOREST.n_leaves, 2)).astype(np.int32)
CLASSES = RNG.integers(0, 3, N).astype(np.int32)
NUMBERS = RNG.random(N) * 4 - 1


def leaves_by_hand(i, disjoint):
    for t in [PART[i]] if disjoint else range(TREES):
        node = FOREST.roots[t]
        while FOREST.n_children[node]:
            b = int(BINS[i, FOREST.feature[node]])
            right = int(FOREST.goes_right[node, b // 64]) >> (b % 64) & 1
            node = FOREST.first_child[node] + right
        yield FOREST.leaf_id[node]


@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize("leaves", [range(FOREST.n_leaves), range(3, 9)])
def test_class_histograms(disjoint, leaves):
    statistic = NodeHistograms(FOREST, CANDIDATES, 6, leaves, 3, disjoint)
    expected = np.zeros(statistic.shape, np.int64)
    for i in range(N):
        for leaf in leaves_by_hand(i, disjoint):
            for k, feature in enumerate(CANDIDATES[leaf]):
                if feature >= 0 and leaf in leaves:
                    expected[leaf - leaves.start, k, BINS[i, feature], CLASSES[i]] += 1
    found = np.zeros_like(expected)
    statistic.add(Block(BINS, CLASSES, PART), found)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("disjoint", [False, True])
def test_target_histograms_and_sums(disjoint):
    grid = TargetGrid(-1.0, 3.0, 8)
    every = range(FOREST.n_leaves)
    steps = np.rint((NUMBERS + 1) * 2).astype(int)
    all_first = np.zeros_like(CANDIDATES)
    histograms = NodeHistograms(FOREST, all_first, 6, every, grid, disjoint)
    sums = LeafSums(FOREST, grid, disjoint)
    expected = np.zeros(sums.shape, np.int64)
    for i in range(N):
        for leaf in leaves_by_hand(i, disjoint):
            expected[leaf] += [1, steps[i]]
    found, by_bin = np.zeros_like(expected), np.zeros(histograms.shape, np.int64)
    block = Block(BINS, NUMBERS, PART)
    sums.add(block, found)
    histograms.add(block, by_bin)
    assert np.array_equal(found, expected)
    assert np.array_equal(by_bin[:, 0].sum(axis=1), expected)


def test_targets_at_the_bounds_stay_on_the_grid():
    grid = TargetGrid(0.1, 0.7, 4096)
    total = np.zeros((FOREST.n_leaves, 2), np.int64)
    LeafSums(FOREST, grid, False).add(Block(BINS[:1], np.array([0.7])), total)
    assert set(total[:, 1].tolist()) == {0, 4096}


def test_targets_outside_of_a_narrower_grid_count_as_its_bounds():
    grid = TargetGrid(0.0, 1.0, 10)
    every, all_first = range(FOREST.n_leaves), np.zeros_like(CANDIDATES)
    histograms = NodeHistograms(FOREST, all_first, 6, every, grid, True)
    wide, clipped = (np.zeros(histograms.shape, np.int64) for _ in range(2))
    histograms.add(Block(BINS, NUMBERS, PART), wide)
    histograms.add(Block(BINS, np.clip(NUMBERS, 0.0, 1.0), PART), clipped)
    assert NUMBERS.min() < -0.5
    assert NUMBERS.max() > 1.5
    assert np.array_equal(wide, clipped)
