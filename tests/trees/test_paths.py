"""A binary tree as oblivious ones: every record gets the value of its leaf, and nothing else."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dpforest.tables.routing import add_tree_values
from dpforest.tables.routing_kernels import find_leaves
from dpforest.trees.level_grower import BINS, LevelGrower
from dpforest.trees.oblivious import MAX_DEPTH
from dpforest.trees.paths import as_oblivious
from dpforest.trees.structure import FeatureBins


def random_tree(rng, depth, stop):
    """Answers by chance, some of them to stop; features of one value, of many, and categories."""
    n_values = np.array([1, 4, 60, 3])
    bins = FeatureBins(n_values, n_values + np.array([1, 1, 1, 2]), np.array([0, 0, 0, 1], bool))
    alike = np.ones((4, BINS), np.int64)
    shape = {"n_trees": 1, "n_candidates": 4, "categories": "one_vs_rest", "rng": rng}
    grower = LevelGrower(bins, alike, **shape)
    for _ in range(depth):
        question = grower.ask()
        if question is None:
            break
        weights = question.weights(slice(None)).reshape(len(question.features), -1) > 0
        drawn = np.where(weights, rng.random(weights.shape), -1.0).argmax(axis=1)
        candidate, option = np.divmod(drawn, question.n_bins)
        stops = rng.random(len(candidate)) < stop
        grower.answer(np.where(stops, -1, candidate), option)
    return bins, grower.finish()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, MAX_DEPTH), st.sampled_from([0.0, 0.3, 1.0]))
def test_all_trees_together_give_a_record_the_values_of_its_leaf(seed, depth, stop):
    rng = np.random.default_rng(seed)
    bins, forest = random_tree(rng, depth, stop)
    rows = rng.integers(0, bins.n_bins, (50, 4)).astype(np.uint8)
    leaf = np.empty((1, 50), np.uint32)
    find_leaves(rows, forest.routing_arrays, leaf)
    leaf_values = rng.normal(size=(forest.n_leaves, 2)).astype(np.float32)
    trees, values = as_oblivious(forest, leaf_values)
    scores = np.zeros((2, 50), np.float32)
    add_tree_values(trees, np.asfortranarray(rows), values, scores)
    assert_array_equal(scores, leaf_values[leaf[0]].T)
    assert trees.n_trees == forest.n_leaves
