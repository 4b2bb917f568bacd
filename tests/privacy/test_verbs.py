"""The verbs of the desk: debit first, reads after, and adds the noise that the ledger says."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpforest.exceptions import BudgetExceededError
from dpforest.losses import IntegerLoss, Logistic
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Branch, Gaussian, Pure
from dpforest.privacy.accounts.tree_sampling import TreeSampling
from dpforest.privacy.counts import bin_counts, count, table_counts, target_counts
from dpforest.privacy.desk import Desk
from dpforest.privacy.errors import error_sums
from dpforest.privacy.gradients import gradient_sums
from dpforest.privacy.leaves import LeafQuestion, leaf_counts, leaf_labels, leaf_target_sums
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.median_splits import middle_of_target
from dpforest.records.local import LocalStore
from dpforest.schema import NumericFeature, Schema, Target
from dpforest.tables.encode import Encoding
from dpforest.tables.frames import Frame
from dpforest.trees.growers import grow_binary
from dpforest.trees.oblivious_grower import ObliviousGrower

N = 300
SCHEMA = Schema((NumericFeature("a", 0, 1), NumericFeature("b", 0, 1)), Target(classes=(0, 1)))
ENCODING = Encoding.from_schema(SCHEMA, max_bins=4)
LOSSES = {
    "pure": IntegerLoss(Logistic(), 1, 1024, 0.5, 0.2),
    "gaussian": IntegerLoss(Logistic(), 2, 1024, 0.5, 0.37),
}
PRICES = {"pure": Pure(Fraction(1, 10)), "gaussian": Gaussian(0.05)}


def draw_trees(n_trees=5):
    weights = (np.ones(3), np.ones(3))
    rng = np.random.default_rng(0)
    grower = ObliviousGrower(ENCODING.feature_bins, weights, rng, learnt=0.0, focus=1.0)
    return grower.draw(n_trees, 2)


VERBS = {
    "count": lambda desk, kind: count(desk, PRICES[kind]),
    "bin_counts": lambda desk, kind: bin_counts(desk, ENCODING, (0, 1), PRICES[kind], "bins"),
    "table_counts": lambda desk, kind: table_counts(desk, ENCODING, (0, 1), PRICES[kind], "table"),
    "error_sums": lambda desk, kind: error_sums(desk, (0.0, 1.0), 0.5, PRICES[kind]),
    "target_counts": lambda desk, kind: target_counts(desk, 0.0, 1.0, 4, PRICES[kind]),
    "middle_of_target": lambda desk, kind: middle_of_target(desk, (0.0, 1.0), Fraction(1, 10)),
    "gradient_sums": lambda desk, kind: gradient_sums(
        desk, draw_trees(), LOSSES[kind], PRICES[kind], "trees"
    ),
    "leaf_counts": lambda desk, kind: leaf_counts(desk, leaves_of("disjoint")),
    "leaf_labels": lambda desk, kind: leaf_labels(desk, leaves_of("shared")),
    "leaf_target_sums": lambda desk, kind: leaf_target_sums(
        desk, a_forest(), (0.0, 1.0), Fraction(1, 10), TreeSampling("disjoint", 3)
    ),
}


def leaves_of(kind):
    return LeafQuestion.alike(a_forest(), 2, Fraction(1, 10), TreeSampling(kind, 3))


def a_forest():
    return grow_binary(ENCODING.feature_bins, 3, 2, np.random.default_rng(0))


class Untouchable:
    """A store that must not be asked anything at all."""

    def __getattr__(self, name):
        raise AssertionError(f"the store was touched: {name}")


class Witness:
    """A store that looks at the ledger when it is asked for a total, and gives none."""

    def __init__(self):
        self.ledger = None
        self.spent = None

    def encode(self, *_, **__):
        """Binning releases nothing, but is reading all the same."""
        self.spent = self.ledger.epsilon

    def deal(self, *_):
        self.spent = self.ledger.epsilon

    def total(self, _):
        self.spent = self.ledger.epsilon
        raise RuntimeError("the store broke down")


def make_desk(store=None, *, epsilon=5.0, delta=1e-6, protection=None, seed=0):
    ledger = Ledger(epsilon, delta, protection or Protection())
    if store is None:
        rng = np.random.default_rng(5)
        X = rng.random((N, 2))
        store = LocalStore(Frame(X), (X[:, 0] > 0.3).astype(np.int32))
        store.encode(ENCODING, by_feature=True)
        store.start_scores(1)
    return Desk(store, ledger, Draws(seed))


# Debit first, read after


@pytest.mark.parametrize("kind", PRICES)
@pytest.mark.parametrize("verb", VERBS)
def test_the_ledger_is_debited_before_the_records_are_read(verb, kind):
    witness = Witness()
    desk = make_desk(witness)
    witness.ledger = desk.ledger
    with pytest.raises(RuntimeError, match="broke down"):
        VERBS[verb](desk, kind)
    assert witness.spent > 0
    # What was debited stays debited: how the store failed may have told something.
    assert desk.ledger.epsilon == witness.spent


@pytest.mark.parametrize("kind", PRICES)
@pytest.mark.parametrize("verb", VERBS)
def test_nothing_is_touched_when_the_budget_is_exceeded(verb, kind):
    desk = make_desk(Untouchable(), epsilon=0.001)
    with pytest.raises(BudgetExceededError, match="Nothing was read or released"):
        VERBS[verb](desk, kind)
    assert desk.ledger.entries == ()


@pytest.mark.parametrize("verb", VERBS)
def test_control_the_untouchable_store_does_catch_reading(verb):
    with pytest.raises(AssertionError, match="the store was touched"):
        VERBS[verb](make_desk(Untouchable()), "gaussian")


def test_pure_budgets_refuse_gaussian_noise():
    desk = make_desk(Untouchable(), delta=0.0)
    with pytest.raises(BudgetExceededError):
        count(desk, Gaussian(0.01))


# What the ledger says is what was done


def spend_of(ledger):
    entry = ledger.entries[-1]
    return entry.parts[0] if isinstance(entry, Branch) else entry


STEPS = {
    "one record": (Protection(), 1),
    "replace one": (Protection("replace_one"), 2),
    "persons": (Protection(unit="group", max_records_per_group=3), 3),
    "replace persons": (Protection("replace_one", "group", 3), 6),
}


@pytest.fixture
def recorded(monkeypatch):
    """Exact totals and noise parameters, as they come together; no noise is added."""
    calls = []

    def record(self, noise, totals):
        calls.append((totals.copy(), noise.parameter))
        return totals

    monkeypatch.setattr(Draws, "add_noise", record)
    return calls


@pytest.mark.parametrize("kind", PRICES)
@pytest.mark.parametrize("steps", STEPS)
def test_noise_grows_with_the_distance_of_neighbours(recorded, steps, kind):
    """The noise, whatever its grid, against the sensitivity worked out by hand."""
    protection, times = STEPS[steps]
    price = PRICES[kind]
    desk = make_desk(protection=protection)
    released = bin_counts(desk, ENCODING, (0, 1), price, "bins")
    ((totals, parameter),) = recorded
    grid = totals.sum() / released.values.sum()
    width = float(parameter) / grid if kind == "pure" else math.sqrt(parameter) / grid
    # Two features: L1 is 2 and L2 is the root of 2, for each single record.
    expected = 2 * times / 0.1 if kind == "pure" else math.sqrt(2) * times / 0.05
    assert width == pytest.approx(expected, rel=1e-4)
    assert f"= {width:.4g}" in spend_of(desk.ledger).mechanism
    assert spend_of(desk.ledger).loss.__class__ is price.__class__


@pytest.mark.parametrize("kind", PRICES)
@pytest.mark.parametrize("steps", STEPS)
def test_gradient_noise_is_the_grid_times_the_steps(recorded, steps, kind):
    protection, times = STEPS[steps]
    loss = LOSSES[kind]
    desk = make_desk(protection=protection)
    release = gradient_sums(desk, draw_trees(), loss, PRICES[kind], "trees")
    ((_, parameter),) = recorded
    width = float(parameter) if kind == "pure" else math.sqrt(parameter)
    strength = 0.1 if kind == "pure" else 0.05
    assert width == pytest.approx(loss.grid * times / strength, rel=1e-4)
    assert width * strength >= loss.grid * times * (1 - 1e-9)
    deviation = width * (math.sqrt(2) if kind == "pure" else 1.0) / loss.gradient_unit
    assert release.deviation == pytest.approx(deviation, rel=1e-3)
    branch = desk.ledger.entries[-1]
    assert (branch.rule, branch.times) == ("sequential", 5)


def test_control_noise_for_single_records_does_not_cover_persons(recorded):
    for protection in (Protection(), Protection(unit="group", max_records_per_group=3)):
        count(make_desk(protection=protection), Gaussian(0.05))
    (_, one), (_, three) = recorded
    assert three > 8.9 * one  # variances, on the same grid


@pytest.mark.parametrize("kind", PRICES)
def test_released_sums_are_exact_but_for_the_noise(kind):
    """Draws of 2,000 noisy cells: mean and deviation within 5 standard errors, fixed seeds."""
    trees, loss = draw_trees(500), LOSSES[kind]
    exact = gradient_sums(make_desk(epsilon=math.inf), trees, loss, Pure(math.inf), "trees")
    noisy = gradient_sums(make_desk(epsilon=math.inf), trees, loss, PRICES[kind], "trees")
    noise = (noisy.gradients - exact.gradients).ravel()
    assert exact.deviation == 0
    assert abs(noise.mean()) < 5 * noisy.deviation / math.sqrt(noise.size)
    assert noise.std() == pytest.approx(noisy.deviation, rel=5 * math.sqrt(5 / 4 / noise.size))
    hessian_noise = (noisy.hessians - exact.hessians).ravel()
    in_units = noisy.deviation * loss.gradient_unit / loss.hessian_unit
    assert hessian_noise.std() == pytest.approx(in_units, rel=5 * math.sqrt(5 / 4 / noise.size))


def test_without_noise_the_answers_are_plain_facts():
    desk = make_desk(epsilon=math.inf)
    free = Pure(math.inf)
    assert count(desk, free) == N
    assert bin_counts(desk, ENCODING, (0, 1), free, "bins").values.sum(axis=1).tolist() == [N, N]
    assert target_counts(desk, 0.0, 1.0, 2, free).values.sum() == N
    desk.encode(ENCODING, by_feature=True)
    release = gradient_sums(desk, draw_trees(), LOSSES["gaussian"], free, "trees")
    # At score 0 every Hessian is a quarter, cut off to the grid.
    assert release.hessians.sum(axis=1) == pytest.approx(N / 4, rel=1e-2)
    assert desk.ledger.guarantee is None
    assert {spend_of(desk.ledger).mechanism} == {"no noise"}


# The number of records


def test_the_number_of_records_is_public_and_free_when_records_are_replaced():
    desk = make_desk(protection=Protection("replace_one"))
    assert desk.count_is_public
    assert count(desk, Gaussian(0.01)) == N
    assert desk.ledger.epsilon == 0
    assert spend_of(desk.ledger).mechanism == "public"


@pytest.mark.parametrize("steps", ["one record", "persons", "replace persons"])
def test_control_it_is_not_public_otherwise(steps):
    """A person who is replaced may bring another number of records."""
    desk = make_desk(protection=STEPS[steps][0])
    assert not desk.count_is_public
    assert count(desk, Gaussian(0.01)) != N
    assert desk.ledger.epsilon > 0


def test_scores_and_bins_cost_nothing():
    desk = make_desk()
    desk.encode(ENCODING, by_feature=True)
    desk.start_scores(1)
    desk.add_to_scores(draw_trees(), np.zeros((5, 1, 4), np.float32))
    assert desk.ledger.entries == ()


def test_rounds_of_one_model_are_one_line_of_the_ledger():
    desk = make_desk()
    for _ in range(4):
        gradient_sums(desk, draw_trees(), LOSSES["gaussian"], PRICES["gaussian"], "trees")
    (branch,) = desk.ledger.entries
    assert branch.times == 20
    assert branch.cost().mu == pytest.approx(0.05 * math.sqrt(20), rel=1e-6)
