import numpy as np
import pytest

from dpforest.tables.routing import find_leaves
from dpforest.trees.ensembles import grow_ensembles, join_forests, keep_trees
from dpforest.trees.structure import FeatureBins


@pytest.fixture
def bins():
    sizes = np.array([3, 2, 4, 2, 3])
    return FeatureBins(sizes, sizes, np.ones(5, bool))


def grow(bins, **settings):
    settings = {"n_trees": 7, "max_depth": 2, "n_ensembles": 3, "n_features": 3} | settings
    return grow_ensembles(bins, **settings, rng=np.random.default_rng(0))


def test_every_feature_is_dealt_before_one_comes_again(bins):
    ensembles = grow(bins, n_ensembles=5, n_features=2)
    dealt = [j for e in ensembles for j in e.features]
    assert np.bincount(dealt).tolist() == [2] * 5
    assert all(len(set(e.features)) == 2 for e in ensembles)
    assert sum(e.forest.n_trees for e in ensembles) == 7
    for e in ensembles:
        inner = e.forest.n_children > 0
        assert set(e.forest.feature[inner]) <= set(e.features)


def test_leaf_cells_are_the_ways_to_the_leaves(bins):
    records = np.stack(np.unravel_index(np.arange(144), (3, 2, 4, 2, 3)), axis=1).astype(np.uint8)
    for ensemble in grow(bins):
        leaves = find_leaves(ensemble.forest, records)
        cells = ensemble.leaf_cells
        own = records[:, list(ensemble.features)]
        for t in range(ensemble.forest.n_trees):
            asked = cells[leaves[:, t]]
            assert ((asked == own) | (asked == -1)).all()
            assert ((asked >= 0).sum(axis=1) == 2).all()


def test_joined_forests_route_like_their_parts(bins):
    records = np.stack(np.unravel_index(np.arange(144), (3, 2, 4, 2, 3)), axis=1).astype(np.uint8)
    ensembles = grow(bins)
    joined = find_leaves(join_forests([e.forest for e in ensembles]), records)
    tree, leaf = 0, 0
    for e in ensembles:
        own = find_leaves(e.forest, records)
        np.testing.assert_array_equal(joined[:, tree : tree + own.shape[1]], own + leaf)
        tree, leaf = tree + own.shape[1], leaf + e.forest.n_leaves


@pytest.mark.parametrize("kept", [[0], [2, 4], [6], list(range(7))])
def test_kept_trees_route_as_before(bins, kept):
    records = np.stack(np.unravel_index(np.arange(144), (3, 2, 4, 2, 3)), axis=1).astype(np.uint8)
    forest = join_forests([e.forest for e in grow(bins)])
    some, leaves = keep_trees(forest, np.array(kept))
    some._refuse_broken_links()
    assert some.n_trees == len(kept)
    before = find_leaves(forest, records)[:, kept]
    np.testing.assert_array_equal(leaves[find_leaves(some, records)], before)
    assert some.n_leaves == len(leaves)
