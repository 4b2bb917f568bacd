"""Level-wise growth: only real splits are on offer, and the answers are followed."""

import numpy as np
import pytest

from dpforest.trees.level_grower import LevelGrower
from dpforest.trees.structure import FeatureBins, Forest

BINS = FeatureBins(np.array([4, 3, 1]), np.array([5, 5, 2]), np.array([False, True, False]))


def a_grower(categories="subset", n_trees=3, n_candidates=2, seed=0):
    lengths = np.ones((len(BINS), 256), np.int64)
    return LevelGrower(
        BINS, lengths, n_trees=n_trees, n_candidates=n_candidates, categories=categories,
        rng=np.random.default_rng(seed),
    )  # fmt: skip


def grow(grower, depth, stop_every=0, seed=0):
    """Answer with random options among those that have weight."""
    rng = np.random.default_rng(seed)
    questions = []
    for _ in range(depth):
        question = grower.ask()
        if question is None:
            break
        questions.append(question)
        weights = question.weights(slice(0, len(question.features)))
        flat = weights.reshape(len(weights), -1)
        chosen = np.array([rng.choice(np.flatnonzero(row)) for row in flat])
        candidate, option = np.divmod(chosen, weights.shape[2])
        if stop_every:
            candidate[::stop_every] = -1
        grower.answer(candidate, option)
    return grower.finish(), questions


def leaf_of(forest, tree, bins):
    node = forest.roots[tree]
    while forest.n_children[node]:
        b = bins[forest.feature[node]]
        node = forest.first_child[node] + (int(forest.goes_right[node, b // 64]) >> (b % 64) & 1)
    return forest.leaf_id[node]


@pytest.mark.parametrize("categories", ["subset", "one_vs_rest"])
def test_every_leaf_can_be_reached_by_values(categories):
    forest, _ = grow(a_grower(categories), depth=3)
    reached = {
        leaf_of(forest, tree, (a, b, 0)) for tree in range(3) for a in range(4) for b in range(3)
    }
    assert reached == set(range(forest.n_leaves))


def test_the_forest_is_numbered_tree_after_tree_and_survives_saving():
    forest, _ = grow(a_grower(), depth=3, stop_every=3)
    assert forest.n_trees == 3
    assert np.all(np.diff(forest.leaf_offsets) > 0)
    assert forest.leaf_offsets[-1] == forest.n_leaves
    again = Forest.from_arrays(forest.to_arrays())
    assert np.array_equal(again.leaf_id, forest.leaf_id)


def test_growth_ends_where_nothing_is_left_to_split():
    forest, questions = grow(a_grower(), depth=50)
    assert len(questions) < 12
    # Every leaf holds one value of each feature: 4 x 3 of them a tree.
    assert forest.n_leaves == 3 * 12


def test_features_with_one_value_are_no_candidates():
    _, questions = grow(a_grower(n_candidates=3), depth=3)
    for question in questions:
        assert not (question.features == 2).any()
        assert (question.features[:, 0] >= 0).all()


def test_open_leaves_are_numbered_first():
    grower = a_grower()
    grow_one = grower.ask()
    candidate = np.array([0, -1, 0])
    weights = grow_one.weights(slice(0, 3))
    grower.answer(candidate, weights[:, 0].argmax(axis=1))
    question = grower.ask()
    assert len(question.features) == 4
    assert question.forest.n_leaves == 5
    stopped = question.forest.leaf_id[question.forest.roots[1]]
    assert stopped == 4


def test_missing_values_go_with_the_first_or_the_last_bin():
    grower = a_grower(n_candidates=3)
    question = grower.ask()
    weights = question.weights(slice(0, 3))
    candidate = weights.sum(axis=2).argmax(axis=1)
    grower.answer(candidate, weights[np.arange(3), candidate].argmax(axis=1))
    forest = grower.finish()
    for root in forest.roots:
        feature = forest.feature[root]
        word = int(forest.goes_right[root, 0])
        ends = question.order[feature, [0, BINS.n_values[feature] - 1]]
        expected = ends[0] if question.missing_first[feature] else ends[1]
        missing = int(BINS.n_values[feature])
        assert word >> missing & 1 == word >> int(expected) & 1


def test_even_cuts_lie_evenly_in_the_box_of_a_node():
    bins = FeatureBins(np.array([200]), np.array([201]), np.array([False]))
    grower = LevelGrower(
        bins, np.ones((1, 256), np.int64), n_trees=1, n_candidates=1, categories="subset",
        rng=np.random.default_rng(0), even_cuts=3,
    )  # fmt: skip
    offered = []
    for _ in range(2):
        question = grower.ask()
        offered.append(np.flatnonzero(question.weights(slice(0, 1))[0, 0]).tolist())
        n = len(question.features)
        grower.answer(np.zeros(n, np.int64), np.full(n, 99))
    assert offered == [[49, 99, 149], [24, 49, 74]]  # of 200 bins, then of the left 100
