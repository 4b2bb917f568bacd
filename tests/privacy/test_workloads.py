"""The matrix mechanism as a release: exact sensitivity by enumeration, error by simulation."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from dpforest import CategoricalFeature, Schema, Target
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Gaussian, Pure
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.mechanisms.strategies import Change, Identity, choose_strategy
from dpforest.privacy.mechanisms.strategies.choose import build_strategy
from dpforest.privacy.opening import open_desk
from dpforest.privacy.populations import SMALL_DOMAIN, Cells, OwnLeaves, half_votes
from dpforest.privacy.workloads import Question, answer_workloads
from dpforest.tables.folded import FoldedEncoding
from dpforest.tables.frames import Frame
from dpforest.trees.growers import grow_multiway
from dpforest.trees.workloads import Paths, Rows, marginals

EPSILON = 0.5
SCHEMA = Schema(
    (CategoricalFeature("a", (0, 1, 2)), CategoricalFeature("b", (0, 1))), Target(classes=(0, 1))
)
RECORDS = tuple(itertools.product((0, 1, 2), (0, 1), (0, 1)))
N_BINS = (3, 2)
STUMPS = Paths((3, 2), np.array([[0, -1], [1, -1], [2, -1], [-1, 0], [-1, 1]]))


def open_world(world, *, epsilon=EPSILON, delta=0.0, neighbors="add_remove", draws=None):
    table = np.array(world).reshape(-1, 3)
    draws = draws or Draws(0)
    desk = open_desk(
        Frame(table[:, :2]), table[:, 2], SCHEMA, budget=(epsilon, delta),
        protection=Protection(neighbors), draws=draws,
    )  # fmt: skip
    desk.encode(FoldedEncoding.from_schema(SCHEMA))
    return desk


@pytest.fixture
def measured(monkeypatch):
    """What the desk adds noise to, and the noise."""
    calls = []

    def record(_, noise, totals):
        calls.append((totals.copy(), noise))
        return totals

    monkeypatch.setattr(Draws, "add_noise", record)
    monkeypatch.setattr(Draws, "below", lambda _, m, size: np.arange(size) % m)
    return calls


def questions():
    names = ("identity", "laplace", "marginals", "kronecker", "p_identity", "mixture", "residuals")
    cells = Cells((0, 1), N_BINS)
    forest = grow_multiway(
        FoldedEncoding.from_schema(SCHEMA).feature_bins, 2, 1, np.random.default_rng(0)
    )
    asked = Rows(
        sparse.csr_array(np.random.default_rng(0).integers(0, 2, (4, forest.n_leaves)) * 1.0)
    )
    found = {n: Question(n, STUMPS, build_strategy(n, STUMPS, 1), cells) for n in names}
    everyone = Paths((), np.zeros((1, 0), np.int64))
    found["class totals"] = Question("totals", everyone, Identity(()), Cells((), N_BINS))
    for name in ("identity", "mixture"):
        for labels in (False, True):
            label = f"{name} leaves {labels}"
            strategy = build_strategy(name, asked, 1)
            found[label] = Question(label, asked, strategy, OwnLeaves(forest, labels))
    return found


def loss_between(one, other, price):
    """The worst log ratio of two releases under Laplace noise, or their distance over sigma."""
    (x, noise), (y, _) = one, other
    if isinstance(price, Gaussian):
        return float(np.linalg.norm(x - y)) / math.sqrt(noise.parameter - 4)
    return float(np.abs(x - y).sum() / noise.parameter)


def worst_loss(name, price, neighbors, measured):
    question = questions()[name]
    worst = 0.0
    rng = np.random.default_rng(1)
    for _ in range(12):
        world = [RECORDS[i] for i in rng.integers(0, len(RECORDS), rng.integers(1, 6))]
        base = list(world)
        for record in RECORDS:
            larger = [*world, record]
            if neighbors == "replace_one":
                larger = [*world[:-1], record]
            releases = []
            for table in (base, larger):
                measured.clear()
                desk = open_world(table, delta=1e-6, neighbors=neighbors)
                answer_workloads(desk, [question], 2, price)
                releases.append(measured[0])
            worst = max(worst, loss_between(*releases, price))
    return worst


@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
@pytest.mark.parametrize("name", questions())
def test_no_pair_of_neighbours_differs_by_more_than_the_price(name, neighbors, measured):
    pure = worst_loss(name, Pure(EPSILON), neighbors, measured)
    assert pure <= EPSILON * (1 + 1e-9)
    assert worst_loss(name, Gaussian(0.1), neighbors, measured) <= 0.1 * (1 + 1e-9)


def test_the_check_catches_noise_that_is_too_small(measured, monkeypatch):
    """The control: leave the strategy's norm out of the scale."""
    from dpforest.privacy import workloads

    right = workloads.noise_for
    monkeypatch.setattr(
        workloads,
        "noise_for",
        lambda strategy, price, steps, change: AdditiveNoise.for_price(
            price, l1=max(1, right(strategy, price, steps, change).parameter // 4), l2=1.0
        ),
    )
    assert worst_loss("mixture", Pure(EPSILON), "add_remove", measured) > EPSILON


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


@pytest.mark.parametrize("price", [Pure(0.5), Gaussian(0.3)])
def test_the_error_of_released_leaf_values_is_the_expected_one(price):
    """300 releases each: the mean squared error is within 6 standard errors (error rate 1e-8)."""
    world = list(RECORDS) * 3
    table = np.array(world)
    exact = STUMPS.matrix() @ np.array(
        [[((table[:, 0] == a) & (table[:, 1] == b) & (table[:, 2] == k)).sum() for k in (0, 1)]
         for a in range(3) for b in range(2)]
    )  # fmt: skip
    draws = Draws(5)
    for name in ("identity", "marginals", "kronecker", "p_identity", "mixture", "laplace"):
        choice = choose_strategy(STUMPS, price, (name,))
        question = Question(name, STUMPS, choice.strategy, Cells((0, 1), N_BINS))
        errors = []
        for _ in range(300):
            desk = open_world(world, epsilon=10.0, delta=1e-2, draws=draws)
            (answers,) = answer_workloads(desk, [question], 2, price)
            assert (answers.deviations**2).sum() == pytest.approx(choice.expected_error)
            errors.append(((answers.values - exact) ** 2).sum() / 2)
        spread = np.std(errors) / math.sqrt(len(errors))
        assert abs(np.mean(errors) - choice.expected_error) < 6 * spread, name


def test_a_total_is_answered_from_the_same_measurements():
    everyone = Paths((3, 2), np.full((1, 2), -1))
    (question,) = (q for name, q in questions().items() if name == "identity")
    desk = open_world(list(RECORDS) * 3, epsilon=2.0)
    asked = replace(question, total=everyone, price=Pure(2))
    (answers,) = answer_workloads(desk, [asked], 2, Pure(1))
    first, second = answers.values[:3].sum(axis=0), answers.values[3:].sum(axis=0)
    np.testing.assert_allclose(answers.total.values[0], first)
    np.testing.assert_allclose(first, second)
    assert desk.ledger.epsilon == 2.0


def test_everything_is_debited_before_anything_is_read():
    class Unreadable:
        def encode(self, encoding, by_feature=False, only=None):
            pass

        def total(self, statistic):
            raise RuntimeError("read")

        deal = total

    desk = open_world(RECORDS)
    desk._store = Unreadable()
    question = questions()["identity"]
    with pytest.raises(RuntimeError, match="read"):
        answer_workloads(desk, [question, question], 2, Pure(EPSILON / 2))
    assert desk.ledger.epsilon == EPSILON


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
