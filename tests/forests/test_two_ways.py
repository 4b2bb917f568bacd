"""A noisy count that chooses between a pure and a Gaussian way costs no more than the budget."""

import itertools
import math
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from scipy.special import ndtr

from dpforest import (
    Budget,
    NumericFeature,
    PrivateForestClassifier,
    PrivateForestRegressor,
    Schema,
    Target,
)
from dpforest.forests import two_ways
from dpforest.forests.base import COUNT_SHARE
from dpforest.forests.boosted_ways import OTHER_WAY
from dpforest.forests.one_number import most_signal_of_numbers
from dpforest.forests.one_rule import CHOICE_SHARE
from dpforest.forests.purse import Purse
from dpforest.forests.rule_plan import ONE_RULE
from dpforest.forests.two_ways import HAIR, Ways
from dpforest.privacy.accounts.accounting import mu_for, pure_beside

DELTA = 1e-6
COLUMNS = [f"x{j}" for j in range(8)]
SCHEMA = Schema(tuple(NumericFeature(name, 0, 1) for name in COLUMNS), Target(classes=("a", "b")))


def fitted(n, **options):
    rng = np.random.default_rng(0)
    X = rng.random((n, 8))
    y = np.where(X[:, 0] > 0.5, "a", "b")
    return PrivateForestClassifier(schema=SCHEMA, random_state=0, **options).fit(X, y)


def fitted_to_numbers(n, **options):
    rng = np.random.default_rng(0)
    X = rng.random((n, 8))
    schema = Schema(SCHEMA.features, Target(low=0, high=1))
    return PrivateForestRegressor(schema=schema, random_state=0, **options).fit(X, X[:, 0])


def entries(forest):
    return [entry for entry in forest.ledger_.entries if entry.label == OTHER_WAY]


def ways_of(epsilon):
    return Ways.of(Purse(epsilon, DELTA), ONE_RULE, COUNT_SHARE)


def gaussian_delta(epsilon, mu):
    return ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)


def pure_delta(epsilon, parts):
    """Of a randomised response for each part, the worst there is at these prices."""
    delta = np.zeros_like(epsilon)
    for signs in itertools.product((-1, 1), repeat=len(parts)):
        losses = [sign * part for sign, part in zip(signs, parts, strict=True)]
        chance = math.prod(1 / (1 + math.exp(-loss)) for loss in losses)
        delta += chance * np.maximum(0.0, 1 - np.exp(epsilon - sum(losses)))
    return delta


def worst_delta(epsilon):
    """Over numbers of records: what count and either way cost together, at their worst."""
    ways = ways_of(epsilon)
    mu = ways.purse.total * float(COUNT_SHARE) ** 0.5
    rule = DELTA - float(ways.delta_aside(1.0, alone=True))
    shares = CHOICE_SHARE, 1 - CHOICE_SHARE
    pure = pure_beside(mu, Fraction(epsilon), rule, shares)
    parts = [float(share * pure) for share in shares]
    left = {
        noisy: (mu_for(epsilon, DELTA - float(ways.delta_aside(noisy, alone=False))) ** 2 - mu**2)
        ** 0.5
        for noisy in (ways.most, ways.far)
    }
    found = []
    for n in np.linspace(0.0, ways.far + 5.0 / mu, 120):
        for side in (-1.0, 1.0):
            counts = n + np.linspace(-12.0, 12.0, 40_001) / mu
            density = np.exp(-((mu * (counts - n)) ** 2) / 2) * mu / np.sqrt(2 * np.pi)
            rest = epsilon - side * mu**2 * (counts - n) - mu**2 / 2
            trees = np.where(
                counts < ways.far,
                gaussian_delta(rest, left[ways.most]),
                gaussian_delta(rest, left[ways.far]),
            )
            delta = np.where(counts < ways.most, pure_delta(rest, parts), trees)
            found.append(float(density @ delta) * (counts[1] - counts[0]))
    return max(found)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_count_and_either_way_cost_the_budget_at_most(epsilon):
    """By numerical integration over the count; and trees far off cost nearly all of it."""
    assert 0.99 * DELTA < worst_delta(epsilon) <= DELTA * (1 + 1e-6)


def test_control_if_each_way_had_all_of_delta_it_would_cost_more():
    with patch.object(two_ways.Ways, "delta_aside", lambda *told, **alone: Fraction(0)):
        assert worst_delta(1.0) > 1.5 * DELTA


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_parts_of_delta_add_up(epsilon):
    ways, whole = ways_of(epsilon), Fraction(1, 10**6)
    rule, near = (ways.delta_aside(ways.most, alone=alone) for alone in (True, False))
    far = ways.delta_aside(ways.far, alone=False)
    assert (whole - rule) + (whole - near) + far == whole
    assert far == HAIR * whole


@pytest.mark.parametrize(("n", "alone"), [(60, True), (300, False), (2_000, False)])
def test_the_ledger_has_the_delta_of_the_other_way(n, alone):
    forest = fitted(n, epsilon=1.0)
    (entry,) = entries(forest)
    # A rule that was tried has a Gaussian price, as trees have.
    assert any(entry.cost().epsilon for entry in forest.ledger_.entries) == alone
    expected = ways_of(1.0).delta_aside(forest.n_records_, alone=alone)
    assert entry.cost().delta == expected > 0
    assert 0.98 < forest.ledger_.epsilon <= 1.0
    assert forest.ledger_.delta == DELTA


@pytest.mark.parametrize(("n", "alone"), [(60, True), (400, False), (2_000, False)])
def test_one_number_is_such_a_way_too(n, alone):
    forest = fitted_to_numbers(n, epsilon=1.0)
    (entry,) = entries(forest)
    assert any(entry.cost().epsilon for entry in forest.ledger_.entries) == alone
    ways = Ways.of(Purse(1.0, DELTA), most_signal_of_numbers(1, pure=False), COUNT_SHARE)
    assert entry.cost().delta == ways.delta_aside(forest.n_records_, alone=alone) > 0
    assert 0.98 < forest.ledger_.epsilon <= 1.0
    assert forest.ledger_.delta == DELTA


@pytest.mark.parametrize(
    "options",
    [{"n_hint": 100}, {"neighbors": "replace_one"}, {"delta": 0.0}, {"n_estimators": 5}],
    ids=str,
)
def test_where_the_count_chooses_nothing_nothing_is_set_aside(options):
    assert not entries(fitted(100, **options))
    assert not entries(fitted_to_numbers(100, **options))


def test_a_shared_budget_has_gaussian_ways_only(tmp_path):
    budget = Budget.create(tmp_path / "budget", epsilon=1.0, delta=1e-6, table="t")
    assert not entries(fitted(100, epsilon=0.4, delta=4e-7, budget=budget))
    assert not entries(fitted_to_numbers(100, epsilon=0.4, delta=4e-7, budget=budget))
