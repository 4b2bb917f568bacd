"""Stores: totals do not depend on how records are cut into blocks, and draws are each record's own.

The second store here has `blocks` and nothing else; every statistic must work on it.
"""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.literature.printed.tree_errors import ErrorsWithout
from dpforest.losses import IntegerLoss, Logistic, Softmax, Squared
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.mechanisms.randomness import RandomBits
from dpforest.records import statistics
from dpforest.records.contingency import TableCounts
from dpforest.records.gradient_sums import GradientSums
from dpforest.records.local import LocalStore
from dpforest.records.statistics import (
    BinCounts,
    LeafClassCounts,
    LeafSums,
    NodeHistograms,
    RecordCount,
    TargetCounts,
    TargetGrid,
    WeightSum,
)
from dpforest.records.store import Records, RecordStore
from dpforest.schema import NumericFeature, Schema, Target
from dpforest.tables.encode import Encoding
from dpforest.tables.frames import Frame
from dpforest.trees.growers import grow_binary
from dpforest.trees.oblivious_grower import ObliviousGrower

FEATURES, TREES, CLASSES = 3, 4, 3
SCHEMA = Schema(
    tuple(NumericFeature(f"x{j}", 0, 1) for j in range(FEATURES)), Target(classes=(0, 1, 2))
)
ENCODING = Encoding.from_schema(SCHEMA, max_bins=5)
FOREST = grow_binary(ENCODING.feature_bins, TREES, 3, np.random.default_rng(0))
VOTES = np.eye(CLASSES)[np.random.default_rng(1).integers(0, CLASSES, FOREST.n_leaves)]
WEIGHTS = tuple(np.ones(4) for _ in range(FEATURES))
OBLIVIOUS = ObliviousGrower(
    ENCODING.feature_bins, WEIGHTS, np.random.default_rng(2), learnt=0.0, focus=1.0
).draw(TREES, 3)
CANDIDATES = np.random.default_rng(3).integers(-1, FEATURES, (FOREST.n_leaves, 2)).astype(np.int32)
GRID = TargetGrid(0.0, 2.0, 16)
EVERY_LEAF = range(FOREST.n_leaves)
SAMPLINGS = ("shared", "disjoint", "without_replacement")
LOSSES = (Logistic(), Softmax(CLASSES), Squared(0.5, 0.25))
STATISTICS = [
    RecordCount(),
    WeightSum(64),
    TargetCounts(0.0, 2.0, 5),
    BinCounts((2, 0), 6),
    TableCounts(((0,), (1, 2)), tuple(ENCODING.n_bins.tolist()), CLASSES),
    ErrorsWithout(FOREST, VOTES, np.array([0, 2, 3])),
    *(LeafClassCounts(FOREST, CLASSES, sampling) for sampling in SAMPLINGS),
    *(LeafSums(FOREST, GRID, sampling) for sampling in SAMPLINGS),
    *(
        NodeHistograms(FOREST, CANDIDATES, 6, EVERY_LEAF, target, sampling)
        for sampling in SAMPLINGS
        for target in (CLASSES, GRID)
    ),
    *(GradientSums(OBLIVIOUS, IntegerLoss(loss, 2, 4096, 0.5, 0.37)) for loss in LOSSES),
]


class ListOfBlocks(RecordStore):
    """All a store needs."""

    def __init__(self, blocks):
        super().__init__(n_jobs=1)
        self.list = blocks

    def blocks(self):
        return iter(self.list)


def draw_records(rng, n):
    return rng.random((n, FEATURES)), rng.integers(0, CLASSES, n).astype(np.int32)


def cut_up(X, y, cuts):
    borders = [0, *sorted(cuts), len(X)]  # a frame has at least one record
    return ListOfBlocks(
        [Records(Frame(X[a:b]), y[a:b], weight=weights(X[a:b])) for a, b in pairwise(borders)]
    )


def whole(X, y):
    return LocalStore(Frame(X), y, weight=weights(X))


def weights(X):
    """A weight from 0 to 1 that belongs to the record, wherever it is kept."""
    return X[:, 0].copy()


class Tape:
    """Draws that belong to records, so that they are the same however records are cut up.

    A store asks for the draws of one block at a time, tree after tree.
    """

    def __init__(self, sizes, turns, seed=0):
        numbers = np.random.default_rng(seed).integers(0, 2**40, (sum(sizes), turns))
        parts = np.split(numbers, np.cumsum(sizes)[:-1])
        self.queue = [column for part in parts for column in part.T]

    def __call__(self, m, size):
        column = self.queue.pop(0)
        assert len(column) == size
        return column % m


def joins_of(draw):
    """Coins of records that join by uniform draws, as `Draws.joins` makes them."""
    return lambda chances, out_of: draw(out_of, len(chances)) < chances


def prepare(store, statistic, sizes):
    """Everything that a statistic may ask of the state of a store."""
    store.encode(ENCODING, by_feature=isinstance(statistic, GradientSums))
    store.deal(TREES, Tape(sizes, 1))
    store.sample(TREES, Fraction(2, 5), joins_of(Tape(sizes, TREES)), (FOREST, VOTES))
    if isinstance(statistic, GradientSums):
        n_outputs = statistic.loss.n_outputs
        store.start_scores(n_outputs)
        values = np.random.default_rng(4).normal(0, 1, (TREES, n_outputs, 8))
        store.add_to_scores(OBLIVIOUS, values.astype(np.float32))


def test_no_statistic_is_left_out():
    tested = {type(statistic) for statistic in STATISTICS}
    public = {
        value
        for value in vars(statistics).values()
        if isinstance(value, type) and value.__module__ == statistics.__name__
    }
    assert {kind for kind in public if hasattr(kind, "add")} - {statistics.Statistic} <= tested


@pytest.mark.parametrize(
    "statistic", STATISTICS, ids=lambda s: f"{type(s).__name__}-{getattr(s, 'sampling', '')}"
)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_a_total_does_not_depend_on_how_records_are_cut_into_blocks(statistic, data):
    n = data.draw(st.integers(1, 80))
    X, y = draw_records(np.random.default_rng(data.draw(st.integers(0, 2**32))), n)
    if isinstance(statistic, GradientSums) and isinstance(statistic.loss.loss, Logistic):
        y = y % 2
    cuts = data.draw(st.sets(st.integers(1, n - 1), max_size=5)) if n > 1 else set()
    store, one = cut_up(X, y, cuts), whole(X, y)
    prepare(store, statistic, [len(records.target) for records in store.blocks()])
    prepare(one, statistic, [n])
    expected = one.total(statistic)
    np.testing.assert_array_equal(store.total(statistic), expected)
    assert expected.shape == statistic.shape


def test_a_store_without_blocks_totals_to_nothing():
    assert ListOfBlocks([]).total(RecordCount()).tolist() == [0]


def test_a_weight_goes_with_its_record():
    """A weight of 0 is as good as no record, one of 1 as good as no weight; also of kept rows."""
    X, y = draw_records(np.random.default_rng(7), 300)
    heavy = X[:, 0] < 0.5
    for statistic in STATISTICS[-2:]:
        stores = (
            LocalStore(Frame(X), y, weight=heavy.astype(np.float64)),
            LocalStore(Frame(X), y, keep=np.flatnonzero(heavy)),
            LocalStore(Frame(X), y, keep=np.flatnonzero(heavy), weight=heavy.astype(np.float64)),
        )
        totals = []
        for store in stores:
            store.encode(ENCODING, by_feature=True)
            store.start_scores(statistic.loss.n_outputs)
            totals.append(store.total(statistic))
        np.testing.assert_array_equal(totals[0], totals[1])
        np.testing.assert_array_equal(totals[0], totals[2])


def test_threads_do_not_change_a_total():
    """Scores of released trees included: 60,000 records, one thread and three."""
    X, y = draw_records(np.random.default_rng(5), 60_000)
    for statistic in STATISTICS[-2:]:
        totals = []
        for n_jobs in (1, 3):
            store = LocalStore(Frame(X), y, n_jobs=n_jobs, weight=weights(X))
            prepare(store, statistic, [60_000])
            totals.append(store.total(statistic))
        np.testing.assert_array_equal(*totals)


def test_scores_are_those_of_the_released_trees():
    X, y = draw_records(np.random.default_rng(6), 500)
    statistic = GradientSums(OBLIVIOUS, IntegerLoss(Softmax(CLASSES), 2, 4096, 0.8, 0.37))
    store = LocalStore(Frame(X), y)
    store.encode(ENCODING, by_feature=True)
    store.start_scores(CLASSES)
    before = store.total(statistic)
    values = np.zeros((TREES, CLASSES, 8), np.float32)
    values[:, 1] = 1.0  # every leaf of every tree speaks for the second class
    store.add_to_scores(OBLIVIOUS, values)
    store.add_to_scores(OBLIVIOUS, values)
    p = np.exp(2.0 * TREES) / (2 + np.exp(2.0 * TREES))
    gradients = (store.total(statistic) / statistic.loss.gradient_unit)[0, :, :, 0].sum(axis=0)
    counts = np.bincount(y, minlength=CLASSES)
    # Each record's gradients, clipped to 0.8 and cut off towards zero on the grid.
    one = np.where(np.arange(CLASSES) == 1, p, (1 - p) / 2)
    each = one - np.eye(CLASSES)
    each *= np.minimum(1, 0.8 / np.linalg.norm(each, axis=1, keepdims=True))
    np.testing.assert_allclose(gradients, counts @ each, atol=500 / statistic.loss.gradient_unit)
    assert (before != store.total(statistic)).any()


def test_before_binning_records_and_targets_can_be_counted():
    store = LocalStore(Frame(np.zeros((6, 3))), np.linspace(0, 1, 6), keep=np.array([0, 1, 5]))
    assert store.total(RecordCount()).tolist() == [3]
    assert store.total(TargetCounts(0.0, 1.0, 2)).tolist() == [2, 1]


def test_a_bounded_table_totals_the_kept_rows_only():
    X = np.linspace(0, 1, 10)[:, None].repeat(3, axis=1)
    store = LocalStore(Frame(X), np.zeros(10, np.int32), keep=np.array([0, 9]))
    store.encode(Encoding.from_schema(SCHEMA, max_bins=2), by_feature=True)
    assert store.total(BinCounts((0,), 3)).tolist() == [[1, 1, 0]]


def test_scores_are_those_of_the_bins_that_the_trees_were_grown_on():
    X, y = draw_records(np.random.default_rng(11), 60)
    statistic = GradientSums(OBLIVIOUS, IntegerLoss(Squared(), 2, 4096, 0.5, 0.37))
    values = np.random.default_rng(12).normal(0, 1, (TREES, 1, 8)).astype(np.float32)
    totals = []
    for look_first in (True, False):
        store = cut_up(X, y, [25])
        store.encode(Encoding.from_schema(SCHEMA, max_bins=2), by_feature=True)
        store.start_scores(1)
        store.add_to_scores(OBLIVIOUS, values)
        if look_first:
            store.total(RecordCount())
        store.encode(ENCODING, by_feature=True)
        totals.append(store.total(statistic))
    np.testing.assert_array_equal(*totals)


def test_released_trees_are_added_to_the_scores_once():
    X, y = draw_records(np.random.default_rng(11), 60)
    statistic = GradientSums(OBLIVIOUS, IntegerLoss(Squared(), 2, 4096, 0.5, 0.37))
    store = cut_up(X, y, [25])
    store.encode(ENCODING, by_feature=True)
    store.start_scores(1)
    values = np.random.default_rng(12).normal(0, 0.01, (TREES, 1, 8)).astype(np.float32)
    before = store.total(statistic)
    store.add_to_scores(OBLIVIOUS, values)
    once = store.total(statistic)
    assert (once != before).any()
    np.testing.assert_array_equal(store.total(statistic), once)


def test_starting_again_forgets_the_trees_before():
    X, y = draw_records(np.random.default_rng(11), 60)
    statistic = GradientSums(OBLIVIOUS, IntegerLoss(Squared(), 2, 4096, 0.5, 0.37))
    store = cut_up(X, y, [25])
    store.encode(ENCODING, by_feature=True)
    store.start_scores(1)
    before = store.total(statistic)
    store.add_to_scores(OBLIVIOUS, np.ones((TREES, 1, 8), np.float32))
    store.start_scores(1)
    np.testing.assert_array_equal(store.total(statistic), before)


def test_binning_anew_keeps_parts_samples_and_scores():
    X, y = draw_records(np.random.default_rng(7), 50)
    store = cut_up(X, y, [20])
    statistic = LeafClassCounts(FOREST, CLASSES, "disjoint")
    prepare(store, statistic, [20, 30])
    before = store.total(statistic)
    store.encode(ENCODING, only=(0,))
    store.encode(ENCODING)
    np.testing.assert_array_equal(store.total(statistic), before)


# Draws: every record its own, and every tree its own
#
# Each test looks at counts of independent coins and fails a correct store with the chance of
# five standard errors, below one in a million, at fixed seeds.

N = 20_000


def members_of(store):
    return np.vstack([block.members for block in store._blocks])


def coin_store(share, known=None, cuts=(7_000,), seed=0, n_trees=TREES):
    X, y = draw_records(np.random.default_rng(9), N)
    store = cut_up(X, y, cuts)
    store.encode(ENCODING)
    store.sample(n_trees, share, Draws(seed).joins, known)
    return store, X, y


def near(count, n, p):
    return abs(count - n * p) <= 5 * math.sqrt(n * p * (1 - p))


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 5), Fraction(9, 10)])
def test_every_coin_of_a_record_and_a_tree_is_its_own(share):
    """One coin for all trees, or one for all records, would show in how often pairs agree."""
    members = members_of(coin_store(share)[0]).astype(bool)
    p = float(share)
    assert members.shape == (N, TREES)
    for t in range(TREES):
        assert near(members[:, t].sum(), N, p)
        for other in range(t):
            assert near((members[:, t] & members[:, other]).sum(), N, p * p)
    for shift in (1, 2, 7_000):
        assert near((members[shift:, 0] & members[:-shift, 0]).sum(), N - shift, p * p)


def test_control_one_coin_for_all_trees_is_caught():
    store, _, _ = coin_store(Fraction(1, 2), n_trees=1)
    shared = members_of(store).astype(bool)[:, 0]
    assert not near((shared & shared).sum(), N, 0.25)


def test_records_that_are_classified_well_join_half_as_often():
    share = Fraction(2, 5)
    store, X, y = coin_store(share, (FOREST, VOTES))
    bins = ENCODING.bins(X)
    right = np.zeros((N, CLASSES))
    for t in range(TREES):
        right += VOTES[leaf_of(FOREST, bins, t)]
    well = right.argmax(axis=1) == y
    members = members_of(store)
    assert 0.1 * N < well.sum() < 0.9 * N
    for t in range(TREES):
        assert near(members[well, t].sum(), well.sum(), 0.2)
        assert near(members[~well, t].sum(), (~well).sum(), 0.4)
    # The control: samples that are not made harder are caught.
    plain = members_of(coin_store(share)[0])
    assert not near(plain[well, 0].sum(), well.sum(), 0.2)


def leaf_of(forest, bins, t):
    """The leaves of one tree, node by node."""
    node = np.full(len(bins), forest.roots[t])
    for _ in range(forest.max_depth):
        b = bins[np.arange(len(bins)), forest.feature[node]]
        right = forest.goes_right[node, b // 64] >> (b % 64).astype(np.uint64) & np.uint64(1)
        inner = forest.n_children[node] > 0
        node = np.where(inner, forest.first_child[node] + right.astype(int), node)
    return forest.leaf_id[node]


def test_every_record_is_dealt_to_one_part_by_a_draw_of_its_own():
    X, y = draw_records(np.random.default_rng(9), N)
    store = cut_up(X, y, [7_000])
    store.deal(TREES, RandomBits(0).uniform_below)
    part = np.concatenate([block.part for block in store._blocks])
    for k in range(TREES):
        assert near((part == k).sum(), N, 1 / TREES)
    for shift in (1, 2, 7_000):
        assert near((part[shift:] == part[:-shift]).sum(), N - shift, 1 / TREES)


def test_a_draw_is_asked_for_each_record_and_nothing_else():
    """Parts and samples may not depend on what others are: only how many draws there are may."""
    X, y = draw_records(np.random.default_rng(10), 30)
    asked = []

    def draw(m, size):
        asked.append((m, size))
        return np.zeros(size, np.int64)

    store = cut_up(X, y, [10])
    store.encode(ENCODING)
    store.deal(7, draw)
    store.sample(2, Fraction(1, 3), joins_of(draw))
    store.sample(1, Fraction(1, 3), joins_of(draw), (FOREST, VOTES))
    assert asked == [(7, 10), (7, 20), (3, 10), (3, 10), (3, 20), (3, 20), (6, 10), (6, 20)]
