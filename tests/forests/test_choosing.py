"""Choices of questions over the rounds: when they are made, what they cost, and a trial of them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest import NumericFeature, PrivateForestClassifier, Schema, Target
from dpforest.forests.plan import BoostingPlan
from dpforest.forests.question_plan import QuestionPlan
from dpforest.privacy.accounts.spends import Gaussian

TRIED, GONE_ON = "choices of questions, to try them", "choices of questions"


def plan_of(n_trees, per_round, n_choices, n_trial):
    plan = BoostingPlan(n_trees, per_round, 3, 0.1, 1.0, 0.0, 0.8, 2.0, 0.9, 0.9)
    return QuestionPlan(Fraction(1, 10), n_choices, 3, n_trial=n_trial).joined_to(plan)


@given(st.integers(1, 400), st.integers(1, 9), st.integers(1, 30), st.booleans())
def test_every_choice_has_a_round_of_its_own_and_a_trial_comes_first(n_trees, size, n, tried):
    plan = plan_of(n_trees, size, n, 2 * n // 5 if tried else 0)
    rounds = plan.choice_rounds
    assert len(rounds) == plan.n_choices <= plan.n_rounds
    assert rounds == sorted(set(rounds))
    assert rounds[0] == 0
    assert rounds[-1] < plan.n_rounds
    if plan.n_trial:
        assert max(rounds[: plan.n_trial]) < 2 * plan.n_rounds / 5 <= 1 + rounds[plan.n_trial]
        assert 0 < plan.n_trees_after_trial < n_trees


def test_without_a_trial_choices_are_spread_over_all_rounds():
    assert plan_of(20, 1, 5, 0).choice_rounds == [0, 4, 8, 12, 16]


def table(signal, n=6_000, d=12):
    """Many features; three classes, which follow from what the signal says."""
    rng = np.random.default_rng(0)
    X = rng.random((n, d))
    y = np.clip(np.floor(1.5 + signal(X) + rng.normal(0, 0.3, n)), 0, 2).astype(int)
    features = tuple(NumericFeature(f"x{j}", 0, 1) for j in range(d))
    return X, y, Schema(features, Target(classes=(0, 1, 2)))


def season(X):
    """One feature, up and down."""
    return 1.5 * np.sin(14.0 * X[:, 4])


def sum_of_all(X):
    return (X - 0.5).sum(axis=1)


def fitted(signal, **settings):
    X, y, schema = table(signal)
    return PrivateForestClassifier(schema=schema, random_state=0, **settings).fit(X, y)


def entries(model, label):
    return [entry for entry in model.ledger_.entries if entry.label.startswith(label)]


def test_choices_go_on_where_they_name_one_feature_again_and_again():
    model = fitted(season, epsilon=2.0)
    (tried,) = entries(model, TRIED)
    assert tried.times == model.plan_.n_trial == 8
    assert [entry.times for entry in entries(model, GONE_ON)] == [8, model.plan_.n_choices - 8]


def test_where_they_scatter_trees_get_what_is_left():
    model = fitted(sum_of_all, epsilon=2.0)
    assert [entry.times for entry in entries(model, GONE_ON)] == [8]
    trees = [entry.cost().mu / math.sqrt(entry.times) for entry in entries(model, "trees of")]
    assert max(trees) > 1.03 * min(trees)


@pytest.mark.parametrize("signal", [season, sum_of_all])
def test_either_way_the_budget_is_filled_and_kept(signal):
    model = fitted(signal, epsilon=2.0)
    assert 2.0 * (1 - 2e-3) < model.ledger_.epsilon <= 2.0


def test_both_ways_cost_the_same():
    """By hand: squares of mu add up."""
    plan = plan_of(100, 2, 20, 8)
    model = fitted(sum_of_all, epsilon=1.0)
    share, for_choices = Fraction(8, 10), Fraction(1, 10)
    prices = model._prices(plan, share, for_choices)
    assert all(isinstance(price, Gaussian) for price in (prices.tree, prices.choice))
    before = 100 - plan.n_trees_after_trial
    on = 20 * prices.choice.mu**2 + 100 * prices.tree.mu**2
    off = (
        8 * prices.choice.mu**2
        + before * prices.tree.mu**2
        + plan.n_trees_after_trial * prices.tree_alone.mu**2
    )
    assert on == pytest.approx(off)
