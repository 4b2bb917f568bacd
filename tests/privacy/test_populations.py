"""Populations: what a record changes in their tables, and that the tables are the marginals."""

import itertools
import math

import numpy as np
import pytest

from dpforest import CategoricalFeature, Schema, Target
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Pure
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.mechanisms.strategies import Change
from dpforest.privacy.mechanisms.strategies.choose import build_strategy
from dpforest.privacy.opening import open_desk
from dpforest.privacy.populations import SMALL_DOMAIN, Cells, OwnLeaves, half_votes
from dpforest.privacy.workloads import Question, answer_workloads
from dpforest.tables.folded import FoldedEncoding
from dpforest.tables.frames import Frame
from dpforest.trees.growers import grow_multiway
from dpforest.trees.workloads import Paths, marginals

SCHEMA = Schema(
    (CategoricalFeature("a", (0, 1, 2)), CategoricalFeature("b", (0, 1))), Target(classes=(0, 1))
)
RECORDS = tuple(itertools.product((0, 1, 2), (0, 1), (0, 1)))
FOREST = grow_multiway(
    FoldedEncoding.from_schema(SCHEMA).feature_bins, 2, 1, np.random.default_rng(0)
)


class ByTurns(Draws):
    """Deals records by turns, so that neighbours share their draws."""

    def below(self, m, size):
        return np.arange(size) % m


def desk_of(world, draws=None):
    table = np.array(world).reshape(-1, 3)
    desk = open_desk(
        Frame(table[:, :2]), table[:, 2], SCHEMA, budget=(1.0, 0.0),
        protection=Protection(), draws=draws or ByTurns(0),
    )  # fmt: skip
    desk.encode(FoldedEncoding.from_schema(SCHEMA))
    return desk


def label_changes(votes):
    """The changes of L1 and of squared L2 norm that one more record makes, at worst."""
    l1 = l2 = 0
    for n_classes in (2, 3, 4):
        counts = np.array(list(itertools.product(range(4), repeat=n_classes)))
        for k in range(n_classes):
            change = votes(counts + np.eye(n_classes, dtype=int)[k]) - votes(counts)
            l1 = max(l1, np.abs(change).sum(axis=1).max())
            l2 = max(l2, (change**2).sum(axis=1).max())
    return Change(l1, l2)


def test_a_record_changes_the_label_of_a_leaf_by_one_vote_in_all():
    """In halves of votes, for all counts up to 3 of up to four classes."""
    forest = grow_multiway(
        FoldedEncoding.from_schema(SCHEMA).feature_bins, 1, 1, np.random.default_rng(0)
    )
    population = OwnLeaves(forest, labels=True)
    assert label_changes(half_votes) == population.change
    assert population.unit == 2


def test_control_a_label_that_settles_equals_changes_by_two_votes():
    settled = label_changes(lambda counts: 2 * np.eye(counts.shape[1])[counts.argmax(axis=1)])
    assert settled.l1 == 4


@pytest.mark.parametrize("population", [
    Cells((0, 1), (3, 2)), Cells((), (3, 2)), OwnLeaves(FOREST, labels=False),
    OwnLeaves(FOREST, labels=True),
], ids=repr)  # fmt: skip
def test_a_record_changes_the_tables_by_what_the_population_says(population):
    """Over all records added to 20 worlds: never more, in either norm, and as much at worst."""
    whole = (0, 1) if population.__class__ is Cells and population.features else (0,)
    whole = () if population == Cells((), (3, 2)) else whole
    rng, l1, l2 = np.random.default_rng(1), 0, 0
    for _ in range(20):
        world = [RECORDS[i] for i in rng.integers(0, len(RECORDS), rng.integers(1, 5))]
        (before,) = population.tables(desk_of(world), 2, [whole])
        for record in RECORDS:
            (after,) = population.tables(desk_of([*world, record]), 2, [whole])
            l1 = max(l1, np.abs(after - before).sum())
            l2 = max(l2, ((after - before) ** 2).sum())
    assert Change(l1, l2) == population.change


@pytest.mark.parametrize("labels", [False, True])
def test_the_marginal_over_nothing_adds_up_all_leaves(labels):
    """One row of classes, as the norm of a strategy takes it to be; not one a leaf."""
    leaves, everyone = OwnLeaves(FOREST, labels).tables(desk_of(RECORDS), 2, [(0,), ()])
    assert leaves.shape == (FOREST.n_leaves, 2)
    assert everyone.shape == (2,)
    assert everyone.tolist() == leaves.sum(axis=0).tolist()
    assert everyone.sum() > 0


def test_every_tree_has_records_of_its_own_and_they_are_dealt_anew():
    asked = []

    class Asked(Draws):
        def coins(self):
            asked.append(super().coins())
            return asked[-1]

    desk = desk_of(list(RECORDS) * 10, Asked(0))
    first, second = (OwnLeaves(FOREST, False).tables(desk, 2, [(0,)])[0] for _ in range(2))
    places = np.arange(120, dtype=np.uint64)
    one, other = (coins.below(1 << 60, places) for coins in asked)
    assert not np.isin(one, other).any()
    assert first.sum() == second.sum() == 120  # each record in one tree
    assert (first != second).any()


def test_how_often_trees_count_a_record():
    assert Cells((0,), (3, 2), times=5).times == 5
    assert OwnLeaves(FOREST, labels=True).times == 1
    assert (Cells((0,), (3, 2)).unit, OwnLeaves(FOREST, labels=False).unit) == (1, 1)


def test_large_domains_are_counted_table_by_table():
    rng = np.random.default_rng(0)
    n, d = 200, 9
    schema = Schema(
        tuple(CategoricalFeature(f"x{j}", (0, 1, 2, 3)) for j in range(d)), Target(classes=(0, 1))
    )
    X, y = rng.integers(0, 4, (n, d)), rng.integers(0, 2, n)
    assert 4**d > SMALL_DOMAIN
    budget = {"budget": (math.inf, 0.0), "protection": Protection()}
    desk = open_desk(Frame(X), y, schema, **budget, draws=Draws(0))
    desk.encode(FoldedEncoding.from_schema(schema))
    workload = marginals((4,) * d, [(0, 8), (3,)])
    strategy = build_strategy("marginals", workload, 1)
    # The workload is answered from marginals alone, so its matrix is never built.
    paths = Paths((4,) * d, np.array([[1, *[-1] * (d - 2), 2], [-1] * 3 + [0] + [-1] * (d - 4)]))
    population = Cells(tuple(range(d)), (4,) * d)
    question = Question("two leaves", paths, strategy, population)
    (answers,) = answer_workloads(desk, [question], 2, Pure("inf"))
    for k in (0, 1):
        assert answers.values[0, k] == pytest.approx(
            ((X[:, 0] == 1) & (X[:, 8] == 2) & (y == k)).sum()
        )
        assert answers.values[1, k] == pytest.approx(((X[:, 3] == 0) & (y == k)).sum())
