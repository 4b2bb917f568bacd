"""Oblivious trees against their definition: bit k of a leaf is the answer to question k."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.tables.routing import add_tree_values
from dpforest.tables.routing_kernels import FEW_RECORDS, MANY_RUNS, WIDE_BLOCK
from dpforest.trees.oblivious import MAX_DEPTH, ObliviousTrees

KINDS = ("interval", "halves", "none", "all")


def make_trees(rng, n_trees, levels, n_features, kind="interval"):
    right = np.zeros((n_trees, levels, 256), np.bool_)
    if kind == "interval":
        ends = np.sort(rng.integers(0, 257, (n_trees, levels, 2, 1)), axis=2)
        right = (ends[:, :, 0] <= np.arange(256)) & (np.arange(256) < ends[:, :, 1])
    elif kind == "halves":
        right = rng.random(right.shape) < 0.5
    elif kind == "all":
        right = ~right
    return ObliviousTrees(
        rng.integers(0, n_features, (n_trees, levels)).astype(np.int32),
        right,
        rng.integers(0, levels + 1, n_trees).astype(np.int32),
    )


def leaves_by_definition(trees, bins):
    """Shape (records, trees)."""
    leaf = np.zeros((len(bins), trees.n_trees), int)
    for t in range(trees.n_trees):
        for k in range(trees.depth[t]):
            leaf[:, t] += trees.goes_right[t, k, bins[:, trees.feature[t, k]]].astype(int) << k
    return leaf


def leaves_by_kernel(trees, bins, n_jobs=1):
    """The leaf numbers that routing finds: each tree adds its leaf number to a score of its own."""
    leaf = np.empty((len(bins), trees.n_trees), int)
    for t in range(trees.n_trees):
        values = np.arange(256, dtype=np.float32)[None, None, : max(trees.n_leaves, 1)]
        scores = np.zeros((1, len(bins)), np.float32)
        add_tree_values(trees[t : t + 1], bins, np.ascontiguousarray(values), scores, n_jobs)
        leaf[:, t] = scores[0]
    return leaf


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_routing_follows_the_definition(kind, seed):
    rng = np.random.default_rng(seed)
    trees = make_trees(rng, 5, MAX_DEPTH, 4, kind)
    # More records than a block, and an odd number: the last block is cut short.
    bins = np.asfortranarray(rng.integers(0, 256, (WIDE_BLOCK + 903, 4)).astype(np.uint8))
    np.testing.assert_array_equal(leaves_by_kernel(trees, bins), leaves_by_definition(trees, bins))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.sampled_from(KINDS))
def test_the_runs_of_a_question_and_its_table_give_the_same_answers(seed, levels, kind):
    trees = make_trees(np.random.default_rng(seed), 3, levels, 2, kind)
    _, first, low, span, table, _ = trees.routing_arrays
    bin_ = np.arange(256).astype(np.uint8)
    by_run = (bin_ - low[:, None]).astype(np.uint8) <= span[:, None]
    assert first.shape == (3, levels + 1)
    for t in range(3):
        for k in range(levels):
            runs = by_run[first[t, k] : first[t, k + 1]]
            np.testing.assert_array_equal(runs.sum(axis=0), trees.goes_right[t, k])
            assert len(runs) <= 1 or kind == "halves"
    np.testing.assert_array_equal(table.astype(bool), trees.goes_right)


def test_a_tree_that_asks_one_feature_for_the_digits_of_its_bin_looks_them_up():
    bit = np.arange(256) >> np.arange(MAX_DEPTH)[:, None] & 1
    feature = np.ones((1, MAX_DEPTH), np.int32)
    trees = ObliviousTrees(feature, bit[None] == 1, np.full(1, MAX_DEPTH, np.int32))
    assert len(trees.routing_arrays[2]) > MANY_RUNS
    bins = np.asfortranarray(np.random.default_rng(0).integers(0, 256, (WIDE_BLOCK + 9, 2)))
    np.testing.assert_array_equal(leaves_by_kernel(trees, bins.astype(np.uint8))[:, 0], bins[:, 1])


@pytest.mark.parametrize("n", [1, FEW_RECORDS, FEW_RECORDS + 1, WIDE_BLOCK + 3])
@pytest.mark.parametrize("n_trees", [0, 1, 2, 3, 4, 10])
def test_values_add_up_tree_by_tree_for_every_output_bit_for_bit(n, n_trees):
    rng = np.random.default_rng(n_trees)
    trees = make_trees(rng, n_trees, 3, 2, "halves")
    bins = np.asfortranarray(rng.integers(0, 256, (n, 2)).astype(np.uint8))
    values = rng.normal(size=(n_trees, 3, 8)).astype(np.float32)
    scores = np.ones((3, n), np.float32)
    add_tree_values(trees, bins, values, scores)
    leaf = leaves_by_definition(trees, bins)
    expected = np.ones((3, n), np.float32)
    for t in range(n_trees):
        expected += values[t][:, leaf[:, t]]
    np.testing.assert_array_equal(scores, expected)


def test_stacked_trees_keep_their_leaves():
    rng = np.random.default_rng(2)
    rounds = [make_trees(rng, 2, levels, 3, "halves") for levels in (1, 4, 2)]
    stacked = ObliviousTrees.stack(rounds)
    bins = np.asfortranarray(rng.integers(0, 256, (200, 3)).astype(np.uint8))
    assert stacked.feature.shape == (6, 4)
    expected = np.hstack([leaves_by_definition(trees, bins) for trees in rounds])
    np.testing.assert_array_equal(leaves_by_kernel(stacked, bins), expected)
    np.testing.assert_array_equal(leaves_by_kernel(stacked[2:4], bins), expected[:, 2:4])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, MAX_DEPTH), st.integers(1, 5))
def test_taking_apart_and_putting_together(seed, levels, n_trees):
    trees = make_trees(np.random.default_rng(seed), n_trees, levels, 7, "halves")
    again = ObliviousTrees.from_arrays(trees.to_arrays())
    np.testing.assert_array_equal(again.feature, trees.feature)
    np.testing.assert_array_equal(again.goes_right, trees.goes_right)
    np.testing.assert_array_equal(again.depth, trees.depth)
    assert again.n_leaves == 2 ** int(trees.depth.max())


def change(name, index, value):
    def damage(arrays):
        arrays[name] = arrays[name].copy()
        arrays[name][index] = value

    return damage


DAMAGE = {
    "too deep": change("depth", 0, 4),
    "negative depth": change("depth", 0, -1),
    "negative feature": change("feature", (1, 0), -1),
    "a depth too few": lambda a: a.update(depth=a["depth"][1:]),
    "a tree too few": lambda a: a.update(goes_right=a["goes_right"][1:]),
    "a level too few": lambda a: a.update(goes_right=a["goes_right"][:, 1:]),
    "bins cut short": lambda a: a.update(goes_right=a["goes_right"][:, :, :-1]),
    "more levels than a byte has bits": lambda a: a.update(
        feature=np.pad(a["feature"], ((0, 0), (0, 6))),
        goes_right=np.pad(a["goes_right"], ((0, 0), (0, 6), (0, 0))),
    ),
    "one dimension": lambda a: a.update(feature=a["feature"].ravel()),
    "not bytes": lambda a: a.update(goes_right=a["goes_right"].astype(float)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_arrays_are_refused(damage):
    arrays = make_trees(np.random.default_rng(0), 3, 3, 2).to_arrays()
    ObliviousTrees.from_arrays(dict(arrays))
    DAMAGE[damage](arrays)
    with pytest.raises((ValueError, TypeError, IndexError)):
        ObliviousTrees.from_arrays(arrays)
