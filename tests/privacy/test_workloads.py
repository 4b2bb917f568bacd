"""The matrix mechanism as a release: exact sensitivity by enumeration, error by simulation."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from dpforest import CategoricalFeature, NumericFeature, Schema, Target
from dpforest.privacy.accounts.mechanisms_used import DiscreteLaplace
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Gaussian, Pure
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.mechanisms.strategies import (
    Direct,
    Identity,
    WeightedMarginals,
    choose_strategy,
)
from dpforest.privacy.mechanisms.strategies.choose import build_strategy
from dpforest.privacy.opening import open_desk
from dpforest.privacy.populations import Cells, OwnLeaves
from dpforest.privacy.workloads import Question, answer_workloads, class_totals, one_by_one
from dpforest.tables.encode import Encoding
from dpforest.tables.folded import FoldedEncoding
from dpforest.tables.frames import Frame
from dpforest.trees.growers import grow_binary, grow_multiway
from dpforest.trees.workloads import Paths, Rows, Votes

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
    assert 0.9 * EPSILON < pure <= EPSILON * (1 + 1e-9)
    gaussian = worst_loss(name, Gaussian(0.1), neighbors, measured)
    # Two records change other cells, at right angles; plain queries are held to their L1 norm.
    least = 0.49 if name == "laplace" else 0.7
    assert least * 0.1 < gaussian <= 0.1 * (1 + 1e-9)


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


# The laws by hand, for all four protections

BINS_OF_DESK = Encoding.from_schema(
    Schema((NumericFeature("a", 0, 1), NumericFeature("b", 0, 1))), max_bins=4
).feature_bins
WEIGHT = {"identity": 1, "laplace": 2}  # the largest column of the stumps: a leaf of each tree


@pytest.mark.parametrize("labels", [None, False, True])
@pytest.mark.parametrize("price", [Pure(Fraction(1, 2)), Gaussian(0.2)], ids=["pure", "gaussian"])
def test_every_question_has_the_noise_of_its_own_price(
    recorded_desk, protected, paid_before_read, price, labels
):
    """Three questions at three prices: a first one's noise for all would be caught."""
    protection, steps = protected
    desk = recorded_desk(protection)
    if labels is None:
        stumps = Paths((5, 5), np.array([[i, -1] for i in range(5)] + [[-1, i] for i in range(5)]))
        population = Cells((0, 1), (5, 5))
        strategies = {"identity": Identity((5, 5)), "laplace": Direct(stumps)}
    else:
        forest = grow_binary(BINS_OF_DESK, 2, 1, np.random.default_rng(0))
        stumps = Rows(sparse.csr_array(np.ones((2, forest.n_leaves))))
        population = OwnLeaves(forest, labels)
        strategies = {"identity": Identity(stumps.domain), "laplace": Direct(stumps)}
    unit = 2 if labels else 1  # a record is 1 in one cell, or moves two halves of votes
    factors = (1, 2, Fraction(1, 2))
    asked = []
    for factor, name in zip(factors, ("identity", "laplace", "identity"), strict=True):
        own = None
        if factor != 1:
            own = Pure(price.epsilon * factor) if isinstance(price, Pure) else Gaussian(
                price.mu * float(factor)
            )  # fmt: skip
        asked.append(Question(name, stumps, strategies[name], population, price=own))
    answer_workloads(desk, asked, 2, price)
    made = [law for _, law in desk.draws.laws]
    assert desk.made() == made
    paid_before_read(desk)
    for law, factor, q in zip(made, factors, asked, strict=True):
        reach = steps * WEIGHT[q.label] * unit
        if isinstance(price, Pure):
            assert law.sensitivity == reach
            assert law.scale == reach / (price.epsilon * factor)
        else:
            assert law.sensitivity == pytest.approx(reach, rel=1e-12)
            variance = (reach / (price.mu * float(factor))) ** 2
            # Discrete noise has a little more, by the proof.
            assert variance * (1 - 1e-9) <= law.sigma2 <= variance + 6


def test_the_baseline_pays_for_every_query_and_every_tree(measured):
    """A batch of the same record twice, whose votes both trees count: by enumeration."""
    subsets = np.unique(STUMPS.subsets)
    votes = Votes((3, 2), np.zeros((2, 2), np.int64), subsets, np.ones((2, 2)))
    cells = Cells((0, 1), N_BINS, times=2)
    question = Question("votes", votes, one_by_one(votes, cells).strategy, cells)
    worst = 0.0
    for record in RECORDS:
        for world in ([RECORDS[0]], [RECORDS[3], RECORDS[8]]):
            releases = []
            for table in (world, [*world, record]):
                measured.clear()
                answer_workloads(open_world(table), [question], 2, Pure(EPSILON))
                releases.append(measured[0])
            worst = max(worst, loss_between(*releases, Pure(EPSILON)))
    assert measured[0][1].made.sensitivity == 2 * 2  # two queries, and two trees count a record
    assert 0.9 * EPSILON < worst <= EPSILON


def test_class_totals_have_a_price_of_their_own(recorded_desk, protected):
    protection, steps = protected
    desk = recorded_desk(protection)
    (answers,) = answer_workloads(desk, [class_totals((5, 5), Pure(Fraction(1, 4)))], 2, Pure(1))
    assert answers.values.sum() == 60
    assert desk.made() == [DiscreteLaplace(4 * steps, steps)]


class WholeTable(Cells):
    """A population that gives the whole table where a marginal is asked for."""

    def tables(self, desk, n_classes, wanted):
        (whole,) = super().tables(desk, n_classes, [(0, 1)])
        return [whole] * len(wanted)


def test_tables_that_are_no_marginals_are_refused_before_anything_is_released(measured):
    """They would be weighted by more rows than the norm of the strategy counts."""
    strategy = WeightedMarginals((3, 2), ((0,), (1,)), (3, 1))
    question = Question("w", STUMPS, strategy, WholeTable((0, 1), N_BINS))
    with pytest.raises(ValueError, match="nothing was released"):
        answer_workloads(open_world(RECORDS), [question], 2, Pure(EPSILON))
    assert measured == []
