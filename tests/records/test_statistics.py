"""Totals against plain NumPy, and what one record more or less does to them."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.losses import IntegerLoss, Logistic, Pinball, Softmax, Squared
from dpforest.losses.number_rules import NumberRules
from dpforest.records.blocks import Block
from dpforest.records.gradient_sums import GradientHistograms, GradientsByScore, GradientSums
from dpforest.records.shards import total_of
from dpforest.records.statistics import BinCounts, RecordCount, TargetCounts
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.oblivious_grower import ObliviousGrower
from dpforest.trees.structure import FeatureBins

INTERVAL = Pinball((0.05, 0.5, 0.95), (-1.0, 0.0, 2.0), (0.5, 1.0, 2.0))
LOSSES = {
    "logistic": IntegerLoss(Logistic(), 2, 4096, 0.5, 0.37),
    "logistic, L1": IntegerLoss(Logistic(), 1, 300, 0.5, 0.2),
    "softmax": IntegerLoss(Softmax(3), 2, 4096, 0.8, 0.37),
    "softmax, L1": IntegerLoss(Softmax(3), 1, 1000, 1.3, 0.2),
    "squared": IntegerLoss(Squared(0.3, 0.5), 2, 4096, 1.0, 0.5),
    "squared, L1": IntegerLoss(Squared(0.3, 0.5), 1, 77, 1.0, 0.25),
    "quantile": IntegerLoss(Pinball((0.9,), (0.3,), (0.5,)), 2, 4096, 1.0, 0.15),
    "interval": IntegerLoss(INTERVAL, 2, 4096, INTERVAL.clip(2), 0.15),
    "interval, L1": IntegerLoss(INTERVAL, 1, 77, INTERVAL.clip(1), 0.15),
}


def draw_trees(rng, n_trees=4, depth=3, n_values=(5, 5, 5)):
    values = np.array(n_values)
    bins = FeatureBins(values, values + 1, np.zeros(len(values), bool))
    weights = tuple(np.ones(n - 1) for n in values)
    return ObliviousGrower(bins, weights, rng, learnt=0.0, focus=1.0).draw(n_trees, depth)


def draw_block(rng, loss, n, n_values=(5, 5, 5)):
    bins = np.asfortranarray(rng.integers(0, np.array(n_values) + 1, (n, len(n_values))))
    most = max(2, loss.n_outputs)
    target = (
        rng.random(n) if isinstance(loss.loss, NumberRules) else rng.integers(0, most, n, np.int32)
    )
    scores = rng.normal(0, 2, (loss.n_outputs, n)).astype(np.float32)
    return Block(np.asfortranarray(bins.astype(np.uint8)), target, None, scores)


def integers_of_each(loss, block):
    """The integers of each record, by totalling it alone in a tree without questions."""
    stump = ObliviousTrees(
        np.zeros((1, 1), np.int32), np.zeros((1, 1, 256), bool), np.zeros(1, int)
    )
    one = GradientSums(stump, loss)
    return np.array(
        [total_of(one, block.rows(slice(i, i + 1)))[0, 0] for i in range(len(block.bins))]
    )


def leaves_of(trees, bins):
    leaf = np.zeros((len(bins), trees.n_trees), int)
    for t, k in itertools.product(range(trees.n_trees), range(trees.feature.shape[1])):
        leaf[:, t] |= trees.goes_right[t, k, bins[:, trees.feature[t, k]]].astype(int) << k
    return leaf


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_sums_are_those_of_a_plain_loop(name):
    rng = np.random.default_rng(0)
    loss, trees = LOSSES[name], draw_trees(rng)
    block = draw_block(rng, loss, 401)
    each, leaf = integers_of_each(loss, block), leaves_of(trees, block.bins)
    expected = np.zeros(GradientSums(trees, loss).shape, np.int64)
    for i, t in itertools.product(range(401), range(trees.n_trees)):
        expected[t, leaf[i, t]] += each[i]
    np.testing.assert_array_equal(total_of(GradientSums(trees, loss), block), expected)


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_histograms_are_those_of_a_plain_loop(name):
    """A record adds what it adds to a tree, to its bin of every feature that is asked for."""
    rng = np.random.default_rng(0)
    loss = LOSSES[name]
    block = draw_block(rng, loss, 401)
    each, statistic = integers_of_each(loss, block), GradientHistograms(2, loss)
    expected = np.zeros((2, 256, loss.n_outputs, 2), np.int64)
    for i, j in itertools.product(range(401), range(2)):
        expected[j, block.bins[i, j]] += each[i]
    np.testing.assert_array_equal(total_of(statistic, block), expected)


@pytest.mark.parametrize("name", [name for name in LOSSES if LOSSES[name].n_outputs == 1])
def test_gradients_by_score_are_those_of_a_plain_loop(name):
    """A record adds what it adds to a tree, once: to the cell of its score."""
    rng = np.random.default_rng(0)
    loss, edges = LOSSES[name], (-0.5, 0.1, 0.1, 0.7)
    block = draw_block(rng, loss, 401)
    each, statistic = integers_of_each(loss, block), GradientsByScore(edges, loss)
    expected = np.zeros((1, 5, 1, 2), np.int64)
    for i in range(401):
        expected[0, sum(edge < block.scores[0, i] for edge in edges)] += each[i]
    np.testing.assert_array_equal(total_of(statistic, block), expected)
    assert (expected[0, :, 0, 1] > 0).tolist() == [True, True, False, True, True]


@pytest.mark.parametrize("name", LOSSES)
def test_blocks_add_up(name):
    """Across the borders of the kernel's own blocks, and wherever ours are cut."""
    rng = np.random.default_rng(1)
    loss, trees = LOSSES[name], draw_trees(rng)
    block, statistic = draw_block(rng, loss, 9_001), GradientSums(trees, loss)
    whole = total_of(statistic, block)
    cuts = [0, 1, 4_096, 4_100, 9_001]
    parts = [total_of(statistic, block.rows(slice(a, b))) for a, b in itertools.pairwise(cuts)]
    np.testing.assert_array_equal(sum(parts), whole)
    again = total_of(statistic, block)
    statistic.add(block, again)
    np.testing.assert_array_equal(again, 2 * whole)


@pytest.mark.parametrize("name", LOSSES)
def test_the_largest_sums_do_not_spill_into_each_other(name):
    """All records in one leaf, all with the longest integers of one sign."""
    loss = LOSSES[name]
    n = 50_000
    far = 50.0 if isinstance(loss.loss, NumberRules) else 0.0
    target = np.zeros(n) if isinstance(loss.loss, NumberRules) else np.zeros(n, np.int32)
    for sign in (1, -1):
        scores = np.full((loss.n_outputs, n), sign * far, np.float32)
        block = Block(np.zeros((n, 1), np.uint8, order="F"), target, None, scores)
        stump = ObliviousTrees(
            np.zeros((1, 1), np.int32), np.zeros((1, 1, 256), bool), np.zeros(1, np.int32)
        )
        one = integers_of_each(loss, block.rows(slice(0, 1)))[0]
        assert one.any()
        np.testing.assert_array_equal(total_of(GradientSums(stump, loss), block)[0, 0], n * one)


WORLD = list(itertools.product(range(3), (0, 1), (-40.0, -1.0, 0.0, 0.5, 40.0)))  # bin, y, score


@pytest.mark.parametrize("name", [name for name in LOSSES if "softmax" not in name])
def test_one_record_changes_a_tree_by_at_most_the_grid(name):
    """All tables of up to two records of a small world, and every record that may join them."""
    loss = LOSSES[name]
    trees = draw_trees(np.random.default_rng(2), n_trees=3, depth=2, n_values=(2, 2))
    statistic = GradientSums(trees, loss)
    totals = {}
    for size in (0, 1, 2, 3) if name == "logistic" else (0, 1, 2):
        for table in itertools.combinations(WORLD, size):
            columns = np.array([[b, b] for b, _, _ in table], np.uint8).reshape(size, 2)
            target = np.array([y for _, y, _ in table], np.int32)
            if isinstance(loss.loss, NumberRules):
                target = target.astype(float)
            scores = np.array([[s for _, _, s in table]] * loss.n_outputs, np.float32)
            block = Block(np.asfortranarray(columns), target, None, scores)
            totals[frozenset(table)] = total_of(statistic, block)
    largest = 0
    for table, total in totals.items():
        for record in table:
            change = total - totals[table - {record}]
            # A record is in one leaf of each tree; the bound is for each tree by itself.
            size = np.abs(change) if loss.norm == 1 else change**2
            largest = max(largest, size.sum(axis=(1, 2, 3)).max())
            assert ((change != 0).any(axis=(2, 3)).sum(axis=1) <= 1).all()
    limit = loss.grid if loss.norm == 1 else loss.grid**2
    assert 0.7 * limit < largest <= limit  # and the bound is not idle


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 40))
def test_counts_of_bins(seed, n):
    rng = np.random.default_rng(seed)
    bins = np.asfortranarray(rng.integers(0, 256, (n, 4)).astype(np.uint8))
    total = total_of(BinCounts((2, 0), 256), Block(bins, np.zeros(n)))
    assert total.tolist() == [np.bincount(bins[:, j], minlength=256).tolist() for j in (2, 0)]
    # A record is in one bin of each feature: that is the sensitivity.
    assert total.sum(axis=1).tolist() == [n, n]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-2, 3), max_size=30), st.integers(1, 9))
def test_counts_of_the_target(values, cells):
    target = np.array(values)
    total = total_of(TargetCounts(-2.0, 3.0, cells), Block(np.zeros((len(target), 0)), target))
    assert total.shape == (cells,)
    assert total.sum() == len(target)
    width = 5 / cells
    for cell, count in enumerate(total):
        # The edges themselves may fall on either side.
        low, high = -2 + cell * width, -2 + (cell + 1) * width
        inside = ((target > low + 1e-9) & (target < high - 1e-9)).sum()
        around = ((target > low - 1e-9) & (target < high + 1e-9)).sum()
        assert inside <= count <= around


def test_counts_of_the_target_keep_both_ends():
    total = total_of(TargetCounts(0.0, 1.0, 4), Block(np.zeros((3, 0)), np.array([0.0, 1.0, 1.0])))
    assert total.tolist() == [1, 0, 0, 2]


def test_count_of_records():
    assert total_of(RecordCount(), Block(np.zeros((7, 0), np.uint8), np.zeros(7))).tolist() == [7]
