import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.trees.growers import (
    MAX_LEAVES,
    grow_binary,
    grow_multiway,
    most_trees,
    refuse_deep_trees,
)
from dpforest.trees.structure import FeatureBins, Forest


@st.composite
def feature_bins(draw):
    d = draw(st.integers(1, 6))
    n_values = np.array(draw(st.lists(st.integers(1, 8), min_size=d, max_size=d)))
    categorical = np.array(draw(st.lists(st.booleans(), min_size=d, max_size=d)))
    return FeatureBins(n_values, n_values + 1 + categorical, categorical)


def right_bins(forest: Forest, node: int, n_bins: int) -> list[bool]:
    bits = np.unpackbits(forest.goes_right[node].view(np.uint8), bitorder="little")
    return bits[:n_bins].astype(bool).tolist()


@settings(max_examples=40, deadline=None)
@given(feature_bins(), st.integers(1, 4), st.integers(1, 5), st.integers(0, 2**32))
def test_binary_splits_separate_values_as_their_kind_asks(bins, n_trees, depth, seed):
    forest = grow_binary(bins, n_trees, depth, np.random.default_rng(seed))
    assert forest.n_leaves == n_trees * 2**depth
    for node in np.flatnonzero(forest.n_children):
        j = forest.feature[node]
        values = right_bins(forest, node, bins.n_values[j])
        if not bins.categorical[j]:
            assert values == sorted(values)  # low values left, high values right
        if bins.n_values[j] > 1:
            assert 0 < sum(values) < bins.n_values[j]


@settings(max_examples=30, deadline=None)
@given(feature_bins(), st.integers(1, 3), st.integers(1, 4), st.integers(0, 2**32))
def test_multiway_trees_use_a_feature_once_a_path(bins, n_trees, depth, seed):
    forest = grow_multiway(bins, n_trees, depth, np.random.default_rng(seed))
    assert forest.max_depth == min(depth, len(bins))
    for leaf in forest.leaves:
        path, node = [], forest.parent[leaf]
        while node >= 0:
            path.append(forest.feature[node])
            assert forest.n_children[node] == bins.n_bins[forest.feature[node]]
            node = forest.parent[node]
        assert len(path) == len(set(path)) == forest.max_depth


@settings(max_examples=30, deadline=None)
@given(feature_bins(), st.booleans(), st.integers(0, 2**32))
def test_structure_is_a_forest_and_survives_taking_apart(bins, multiway, seed):
    grow = grow_multiway if multiway else grow_binary
    forest = grow(bins, 3, 3, np.random.default_rng(seed))
    assert sum(len(level) for level in forest.levels) == forest.n_nodes
    assert (np.diff(forest.leaf_offsets) > 0).all()
    assert forest.leaf_offsets[-1] == forest.n_leaves
    again = Forest.from_arrays(forest.to_arrays())
    for name, array in forest.to_arrays().items():
        np.testing.assert_array_equal(again.to_arrays()[name], array)


@pytest.mark.parametrize("array", ["roots", "first_child", "n_children", "leaf_id", "feature"])
def test_broken_links_are_refused(array):
    bins = FeatureBins(np.array([4, 4]), np.array([5, 5]), np.array([False, False]))
    arrays = grow_binary(bins, 2, 3, np.random.default_rng(0)).to_arrays()
    arrays[array] = arrays[array].copy()
    arrays[array][1] = -7 if array == "feature" else 10**6
    with pytest.raises(ValueError, match="do not make a forest"):
        Forest.from_arrays(arrays)


def test_numeric_cuts_are_uniform():
    """Chi-square over the 7 cuts of one feature; false alarm rate 1e-4, fixed seed."""
    bins = FeatureBins(np.array([8]), np.array([9]), np.array([False]))
    forest = grow_binary(bins, 1, 12, np.random.default_rng(1))
    inner = np.flatnonzero(forest.n_children)
    n_right = [sum(right_bins(forest, node, 8)) for node in inner]
    counts = np.bincount(n_right, minlength=9)[1:8]
    expected = len(inner) / 7
    assert ((counts - expected) ** 2 / expected).sum() < 27.9


def test_too_many_leaves_are_refused_with_a_remedy():
    bins = FeatureBins(np.full(9, 250), np.full(9, 251), np.zeros(9, bool))
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="lower max_depth"):
        grow_binary(bins, 100, 20, rng)
    with pytest.raises(ValueError, match="lower max_depth"):
        grow_multiway(bins, 1, 5, rng)


BINS = FeatureBins(np.array([4, 3]), np.array([5, 4]), np.array([False, False]))


def test_a_forest_whose_ways_are_longer_than_it_says_is_refused():
    arrays = grow_binary(BINS, 2, 3, np.random.default_rng(0)).to_arrays()
    arrays["shape"] = np.array([0, 2])
    with pytest.raises(ValueError, match="damaged"):
        Forest.from_arrays(arrays)


def test_nodes_must_have_a_child_for_every_bin():
    forest = grow_multiway(BINS, 2, 2, np.random.default_rng(0))
    forest.refuse_other_features(BINS.n_bins)
    with pytest.raises(ValueError, match="feature"):
        forest.refuse_other_features(BINS.n_bins + 1)
    with pytest.raises(ValueError, match="feature"):
        forest.refuse_other_features(BINS.n_bins[:1])


@pytest.mark.parametrize(("n_trees", "depth"), [("auto", 23), (2, 22), (1, 5_000), (10**9, "auto")])
def test_trees_that_do_not_fit_the_memory_are_refused(n_trees, depth):
    with pytest.raises(ValueError, match="leaves"):
        refuse_deep_trees(n_trees, depth)


@pytest.mark.parametrize("depth", [1, 10, 22, "auto"])
def test_as_many_trees_as_fit_are_not_refused(depth):
    refuse_deep_trees(most_trees(depth), depth)
    with pytest.raises(ValueError, match="leaves"):
        refuse_deep_trees(most_trees(depth) + 1, depth)
    assert most_trees("auto") == MAX_LEAVES
