"""Stores: totals do not depend on how records are cut into shards, and coins are each record's own.

The second store here has `total` and nothing else; every statistic must work on it.
"""

import math
import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.literature.printed.tree_errors import ErrorsWithout
from dpforest.losses import IntegerLoss, Logistic, Pinball, Softmax, Squared
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.records import shards, statistics
from dpforest.records.contingency import TableCounts
from dpforest.records.gradient_sums import GradientSums
from dpforest.records.local import LocalStore
from dpforest.records.recipes import BehindError, Binning, Dealing, State
from dpforest.records.shards import Shard
from dpforest.records.statistics import (
    BinCounts,
    LeafClassCounts,
    LeafSums,
    NodeHistograms,
    RecordCount,
    TargetCells,
    TargetCounts,
    TargetGrid,
    WeightSum,
)
from dpforest.records.store import RecordStore
from dpforest.schema import CategoricalFeature, NumericFeature, Schema, Target
from dpforest.tables.encode import Encoding
from dpforest.tables.folded import FoldedEncoding
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
LOSSES = (
    Logistic(),
    Softmax(CLASSES),
    Squared(0.5, 0.25),
    Pinball((0.1, 0.5), (0.2, 0.5), (0.1, 0.25)),
)
STATISTICS = [
    RecordCount(),
    WeightSum(64),
    TargetCounts(0.0, 2.0, 5),
    TargetCells(np.array([0.1, 0.5, 1.5])),
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


class ListOfShards(RecordStore):
    """All a store needs."""

    def __init__(self, parts):
        super().__init__()
        firsts = np.cumsum([0, *(len(X) for X, _ in parts)])
        self.shards = [
            (Shard(y, None, int(first), n_jobs=1, weight=weights(X)), Frame(X))
            for (X, y), first in zip(parts, firsts, strict=False)
        ]

    def total(self, statistic):
        total = np.zeros(statistic.shape, np.int64)
        for shard, frame in self.shards:
            needed = frame if shard.needs_values(self._state) else None
            shard.add(self._state, statistic, total, needed)
        return total


def draw_records(rng, n):
    return rng.random((n, FEATURES)), rng.integers(0, CLASSES, n).astype(np.int32)


def cut_up(X, y, cuts):
    borders = [0, *sorted(cuts), len(X)]  # a frame has at least one record
    return ListOfShards([(X[a:b], y[a:b]) for a, b in pairwise(borders)])


def whole(X, y):
    return LocalStore(Frame(X), y, weight=weights(X))


def weights(X):
    """A weight from 0 to 1 that belongs to the record, wherever it is kept."""
    return X[:, 0].copy()


def coins(seed=0):
    return Draws(seed).coins()


def prepare(store, statistic, seed=0):
    """Everything that a statistic may ask of the state of a store."""
    store.encode(ENCODING, by_feature=isinstance(statistic, GradientSums))
    store.deal(TREES, coins(seed))
    store.sample(TREES, Fraction(2, 5), coins(seed + 1), (FOREST, VOTES))
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
def test_a_total_does_not_depend_on_how_records_are_cut_into_shards(statistic, data):
    n = data.draw(st.integers(1, 80))
    X, y = draw_records(np.random.default_rng(data.draw(st.integers(0, 2**32))), n)
    if isinstance(statistic, GradientSums) and isinstance(statistic.loss.loss, Logistic):
        y = y % 2
    cuts = data.draw(st.sets(st.integers(1, n - 1), max_size=5)) if n > 1 else set()
    store, one = cut_up(X, y, cuts), whole(X, y)
    prepare(store, statistic)
    prepare(one, statistic)
    expected = one.total(statistic)
    np.testing.assert_array_equal(store.total(statistic), expected)
    assert expected.shape == statistic.shape


def test_a_store_without_shards_totals_to_nothing():
    assert ListOfShards([]).total(RecordCount()).tolist() == [0]


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
            prepare(store, statistic)
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
    prepare(store, statistic)
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
    store.total(RecordCount())
    return np.vstack([shard.block.members for shard, _ in store.shards])


def coin_store(share, known=None, cuts=(7_000,), seed=0, n_trees=TREES):
    X, y = draw_records(np.random.default_rng(9), N)
    store = cut_up(X, y, cuts)
    store.encode(ENCODING)
    store.sample(n_trees, share, coins(seed), known)
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
    store.deal(TREES, coins())
    store.total(RecordCount())
    part = np.concatenate([shard.block.part for shard, _ in store.shards])
    for k in range(TREES):
        assert near((part == k).sum(), N, 1 / TREES)
    for shift in (1, 2, 7_000):
        assert near((part[shift:] == part[:-shift]).sum(), N - shift, 1 / TREES)


class AskedCoins:
    """Coins that tell what was asked of them."""

    def __init__(self):
        self.asked = []

    def below(self, m, addresses, turns=0):
        self.asked.append((m, addresses.tolist()))
        return np.zeros(len(addresses), np.int64)

    def joins(self, chances, out_of, addresses, n_trees):
        self.asked.append((chances.tolist(), out_of, addresses.tolist(), n_trees))
        return np.zeros((len(addresses), n_trees), np.uint8)


def test_coins_are_asked_by_the_places_of_records_and_by_nothing_else():
    """Parts and samples may not depend on what others are: a place is all that coins are told."""
    X, y = draw_records(np.random.default_rng(10), 30)
    store, asked = cut_up(X, y, [10]), AskedCoins()
    store.encode(ENCODING)
    store.deal(7, asked)
    store.sample(2, Fraction(1, 3), asked)
    store.total(RecordCount())
    store.total(RecordCount())
    places = list(range(10)), list(range(10, 30))
    assert [one for one in asked.asked if len(one) == 2] == [(7, places[0]), (7, places[1])]
    assert [one for one in asked.asked if len(one) == 4] == [
        ([1] * 10, 3, places[0], 2),
        ([1] * 20, 3, places[1], 2),
    ]


def test_of_kept_rows_the_places_in_the_table_count():
    shard, asked = Shard(np.zeros(2, np.int32), np.array([3, 5]), first=100), AskedCoins()
    shard.add(State(dealing=Dealing(0, 2, asked)), RecordCount(), np.zeros(1, np.int64))
    assert asked.asked == [(2, [103, 105])]


# What is lost or broken off is made anew


class BrokenOff(RecordCount):
    """Fails on its way through the records."""

    def add(self, *_, **__):
        raise KeyboardInterrupt


@pytest.mark.parametrize("how", ["broken off", "in the middle", "pickled"])
def test_scores_that_are_lost_are_those_of_all_released_trees_again(how, monkeypatch):
    X, y = draw_records(np.random.default_rng(13), 40)
    statistic = GradientSums(OBLIVIOUS, IntegerLoss(Squared(), 2, 4096, 0.5, 0.37))
    rng = np.random.default_rng(14)
    stores = [cut_up(X, y, [15]) for _ in range(2)]
    for store in stores:
        store.encode(ENCODING, by_feature=True)
        store.start_scores(1)
    for turn in range(3):
        values = rng.normal(0, 0.1, (TREES, 1, 8)).astype(np.float32)
        for store in stores:
            store.add_to_scores(OBLIVIOUS, values)
        if turn == 1 and how == "broken off":
            with pytest.raises(KeyboardInterrupt):
                stores[1].total(BrokenOff())
        if turn == 1 and how == "in the middle":
            with monkeypatch.context() as patch:
                patch.setattr(shards, "add_tree_values", BrokenOff().add)
                with pytest.raises(KeyboardInterrupt):
                    stores[1].total(statistic)
        if turn == 2 and how == "pickled":
            stores[1].shards = pickle.loads(pickle.dumps(stores[1].shards))
        np.testing.assert_array_equal(stores[1].total(statistic), stores[0].total(statistic))


def test_a_shard_that_lacks_trees_which_were_not_sent_says_so():
    X, y = draw_records(np.random.default_rng(13), 40)
    statistic = GradientSums(OBLIVIOUS, IntegerLoss(Squared(), 2, 4096, 0.5, 0.37))
    store = cut_up(X, y, [])
    store.encode(ENCODING, by_feature=True)
    store.start_scores(1)
    for turn in range(3):
        store.add_to_scores(OBLIVIOUS, np.full((TREES, 1, 8), 0.1 * turn, np.float32))
        if turn == 1:
            store.total(statistic)
    expected = cut_up(X, y, [])
    expected._state = store._state
    short = replace(store._state, scoring=store._state.scoring.since(2))
    total = np.zeros(statistic.shape, np.int64)
    (shard, frame), *_ = store.shards
    shard.add(short, statistic, total)
    np.testing.assert_array_equal(total, expected.total(statistic))
    fresh = pickle.loads(pickle.dumps(shard))
    for _ in range(2):
        with pytest.raises(BehindError):
            fresh.add(short, statistic, total, frame)
        with pytest.raises(BehindError):
            fresh.needs_values(short)
    total[...] = 0
    fresh.add(store._state, statistic, total, frame)
    np.testing.assert_array_equal(total, expected.total(statistic))


# Bins that are joined


@settings(max_examples=30, deadline=None)
@given(
    fine=st.sets(st.integers(1, 98), min_size=1, max_size=30),
    data=st.data(),
    by_feature=st.booleans(),
)
def test_joined_bins_are_those_of_the_values(fine, data, by_feature):
    coarse = data.draw(st.sets(st.sampled_from(sorted(fine)), max_size=30))
    schema = Schema(
        (NumericFeature("a", 0, 100), CategoricalFeature("b", ("u", "v"))), Target(classes=(0, 1))
    )
    old, new = (
        Binning(i, Encoding(schema, (np.array(sorted(cuts), float), None)), by_feature)
        for i, cuts in enumerate((fine, coarse))
    )
    a = np.array([*range(-1, 102), np.nan])
    b = np.array(["u", "v", "w", None] * 26, object)
    frame = Frame(pd.DataFrame({"a": a, "b": b}))
    tables = new.tables_from(old)
    bins = old.bins(frame, 1)
    joined = np.column_stack([table[column] for table, column in zip(tables, bins.T, strict=True)])
    np.testing.assert_array_equal(joined, new.bins(frame, 1))


def test_bins_do_not_follow_from_others():
    other = Schema((NumericFeature("x0", 0, 2),), Target(classes=(0, 1)))
    one = Schema((NumericFeature("x0", 0, 1),), Target(classes=(0, 1)))

    def binning(schema, cuts, kind=Encoding, **options):
        return Binning(0, kind(schema, (np.array(cuts),)), **options)

    new = binning(one, [0.5])
    assert new.tables_from(binning(one, [0.25, 0.5])) is not None
    for old in (
        None,
        binning(one, [0.25, 0.75]),
        binning(other, [0.25, 0.5]),
        binning(one, [0.25, 0.5], by_feature=True),
        binning(one, [0.25, 0.5], only=(0,)),
        binning(one, [0.25, 0.5], FoldedEncoding),
    ):
        assert new.tables_from(old) is None
