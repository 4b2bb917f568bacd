"""Errors of trees and bootstrap samples, against plain loops."""

import numpy as np
import pytest

from dpforest.literature.printed import tree_errors
from dpforest.literature.printed.bootstrap import draw_bootstrap_samples
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.records.local import LocalStore
from dpforest.records.statistics import LeafClassCounts, RecordCount
from dpforest.schema import NumericFeature, Schema, Target
from dpforest.tables.encode import Encoding
from dpforest.tables.frames import Frame
from dpforest.tables.routing import find_leaves
from dpforest.trees.growers import grow_binary

SCHEMA = Schema(
    tuple(NumericFeature(name, 0.0, 1.0, cuts=(0.3, 0.6)) for name in "ab"),
    Target(classes=(0, 1, 2)),
)
ENCODING = Encoding.from_schema(SCHEMA)


@pytest.fixture
def world():
    rng = np.random.default_rng(0)
    X, target = rng.random((50, 2)), rng.integers(0, 3, 50, np.int32)
    store = LocalStore(Frame(X).select(SCHEMA), target, n_jobs=1)
    store.encode(ENCODING)
    forest = grow_binary(ENCODING.feature_bins, 5, 2, rng)
    votes = np.eye(3)[rng.integers(0, 3, forest.n_leaves)]
    bins = ENCODING.bins(Frame(X).select(SCHEMA), 1)
    return store, forest, votes, bins, target


def test_errors_without_each_tree(world, monkeypatch):
    store, forest, votes, bins, target = world
    monkeypatch.setattr(tree_errors, "ROWS", 7)
    kept = np.array([0, 2, 3])
    found = store.total(tree_errors.ErrorsWithout(forest, votes, kept))
    leaves = find_leaves(forest, bins, 1)
    expected = [
        sum(
            votes[leaves[i, [t for t in kept if t != without]]].sum(axis=0).argmax() != target[i]
            for i in range(50)
        )
        for without in kept
    ]
    assert found.tolist() == expected


def test_wrong_trees_are_counted_a_record(world):
    _, forest, votes, bins, target = world
    labels = votes.argmax(axis=1)[find_leaves(forest, bins, 1)]
    expected = (labels != target[:, None]).sum(axis=1)
    assert (tree_errors.wrong_trees(forest, votes, bins, target) == expected).all()


class Asked(Draws):
    """Keeps what is asked for, and gives every seventh."""

    def __init__(self):
        super().__init__(0)
        self.asked = []

    def below(self, m, size):
        self.asked.append((m, size))
        return np.arange(size) * 7 % m


def desk_of(store):
    return Desk(store, Ledger(1.0, 0.0, Protection()), Asked())


def test_a_bootstrap_sample_counts_records_as_often_as_they_are_drawn(world):
    store, forest, _, bins, target = world
    desk = desk_of(store)
    sampling = draw_bootstrap_samples(desk, 5)
    found = store.total(LeafClassCounts(forest, 3, sampling.kind))
    assert desk.draws.asked == [(50, 50)] * 5
    leaves, times = find_leaves(forest, bins, 1), np.bincount(np.arange(50) * 7 % 50, minlength=50)
    expected = np.zeros_like(found)
    for i in range(50):
        expected[leaves[i], target[i]] += times[i]
    assert (found == expected).all()


def test_weights_are_the_numbers_of_trees_that_are_wrong(world):
    store, forest, votes, bins, target = world
    wrong = tree_errors.wrong_trees(forest, votes, bins, target)
    desk = desk_of(store)
    sampling = draw_bootstrap_samples(desk, 5, (forest, votes))
    counts = store.total(LeafClassCounts(forest, 3, sampling.kind))
    assert desk.draws.asked == [(wrong.sum(), 50)] * 5
    assert counts.sum() == 5 * 50
    # A record that no tree is wrong on is never drawn.
    where = np.repeat(np.arange(50), wrong)[np.arange(50) * 7 % wrong.sum()]
    assert (wrong[where] > 0).all()
    assert counts.sum(axis=0).tolist() == (5 * np.bincount(target[where], minlength=3)).tolist()


def test_where_no_tree_is_wrong_all_records_weigh_alike(world):
    _, forest, _, _, _ = world
    X = np.random.default_rng(0).random((50, 2))
    right = LocalStore(Frame(X).select(SCHEMA), np.zeros(50, np.int32), n_jobs=1)
    right.encode(ENCODING)
    desk = desk_of(right)
    draw_bootstrap_samples(desk, 2, (forest, np.eye(3)[np.zeros(forest.n_leaves, int)]))
    right.total(RecordCount())
    assert desk.draws.asked == [(50, 50)] * 2
