"""Multi-way trees grown level by level: what their structure promises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.trees.attribute_grower import AttributeGrower
from dpforest.trees.structure import FeatureBins, Forest

BINS = FeatureBins(
    np.array([2, 3, 5, 1]), np.array([3, 5, 6, 3]), np.array([False, True, False, True])
)


def grow(seed, *, n_trees=3, depth=3, n_candidates=4, max_leaf_nodes=10_000, stop=0.2):
    rng = np.random.default_rng(seed)
    grower = AttributeGrower(
        BINS, n_trees=n_trees, n_candidates=n_candidates, max_leaf_nodes=max_leaf_nodes, rng=rng
    )
    for _ in range(depth):
        question = grower.ask()
        if question is None:
            break
        n_options = (question.features >= 0).sum(axis=1)
        assert (n_options > 0).all()
        candidate = rng.integers(0, n_options)
        candidate[rng.random(len(candidate)) < stop] = -1
        grower.answer(candidate, np.zeros(len(candidate), np.int64))
    return grower.finish(), grower.leaf_choices


def way_of(forest, node):
    """The features and children on the way to a node."""
    while forest.parent[node] >= 0:
        parent = forest.parent[node]
        yield int(forest.feature[parent]), int(node - forest.first_child[parent])
        node = parent


@given(seed=st.integers(0, 1000))
def test_structure(seed):
    forest, choices = grow(seed)
    Forest.from_arrays(forest.to_arrays())  # refuses broken links
    inner = forest.n_children > 0
    assert np.array_equal(forest.n_children[inner], BINS.n_bins[forest.feature[inner]])
    assert not (forest.feature[inner] == 3).any()  # one value tells nothing apart
    for leaf, node in enumerate(forest.leaves):
        way = list(way_of(forest, node))
        assert len({feature for feature, _ in way}) == len(way)
        assert len(way) <= choices[leaf] <= len(way) + 1
        for feature, child in way[1:]:  # missing and unseen values are leaves
            assert child < BINS.n_values[feature]


def test_leaves_know_how_many_choices_their_way_has_paid_for():
    forest, choices = grow(0, depth=1, stop=0.0)
    assert (choices == 1).all()
    stopped, choices = grow(0, depth=1, stop=1.1)
    assert stopped.n_leaves == 3
    assert (choices == 1).all()
    assert forest.n_leaves > 3


@pytest.mark.parametrize("max_leaf_nodes", [1, 4, 12])
def test_small_shares_of_the_volume_are_not_split(max_leaf_nodes):
    forest, _ = grow(1, max_leaf_nodes=max_leaf_nodes, stop=0.0)
    for node in np.flatnonzero(forest.n_children > 0):
        share = np.prod([1 / BINS.n_values[feature] for feature, _ in way_of(forest, node)])
        assert share > 1 / max_leaf_nodes


def test_a_node_is_offered_as_many_candidates_as_it_may_have():
    rng = np.random.default_rng(0)
    grower = AttributeGrower(BINS, n_trees=50, n_candidates=2, max_leaf_nodes=99, rng=rng)
    question = grower.ask()
    assert question.features.shape == (50, 2)
    assert set(np.unique(question.features)) == {0, 1, 2}
