"""The flagship with monotone constraints: they hold exactly, and true ones cost little."""

import math

import numpy as np
import pytest

from dpforest import (
    NumericFeature,
    PrivateForestClassifier,
    PrivateForestRegressor,
    PrivateIntervalRegressor,
    Schema,
    Target,
)
from dpforest.privacy.questions import QuestionChoices

NAMES = "abcde"
TRUE = {"a": 1, "b": 1, "c": -1}


def make_table(n=6_000, seed=0):
    """Numbers that follow three features, one of them by as much as a fourth says; e is like a."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 5))
    X[:, 4] = (X[:, 0] + 0.3 * X[:, 4]) / 1.3
    return X, 3 * X[:, 0] * (1 + X[:, 3]) + X[:, 1] - X[:, 2] + rng.normal(0, 0.3, n)


def fit(estimator, X, y, **settings):
    classes = estimator is PrivateForestClassifier
    target = Target(classes=(0, 1)) if classes else Target(low=-5, high=10)
    schema = Schema(tuple(NumericFeature(name, 0, 1) for name in NAMES), target)
    y = (y > 2).astype(int) if classes else y
    settings = {"random_state": 0, **settings}
    return estimator(schema=schema, **settings).fit(X, y)


def scores_along(model, X, feature, low=0.0, high=1.0):
    """Scores of some records, shape (steps, outputs, n), as one of their features rises."""
    moved = np.repeat(X[None], 60, axis=0)
    moved[:, :, feature] = np.linspace(low, high, 60)[:, None]
    return np.array([model._scores(each) for each in moved])


@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_constraints_that_are_true_cost_next_to_nothing(epsilon):
    """Noise must not add up to a rise that no later tree may take back."""
    X, y = make_table(8_000)
    train, test = slice(0, 6_000), slice(6_000, None)
    free, one, three = (
        fit(PrivateForestRegressor, X[train], y[train], epsilon=epsilon, monotone_constraints=signs)
        for signs in (None, {"a": 1}, TRUE)
    )
    reached = free.score(X[test], y[test])
    assert one.score(X[test], y[test]) > reached - 0.01
    assert three.score(X[test], y[test]) > reached - 0.01


@pytest.mark.parametrize("epsilon", [0.5, 4.0, math.inf])
@pytest.mark.parametrize(
    "estimator", [PrivateForestClassifier, PrivateForestRegressor, PrivateIntervalRegressor]
)
def test_scores_follow_exactly_after_calibration_and_with_more_trees(estimator, epsilon):
    """In float32, also where labels go the other way and where other values are missing."""
    X, y = make_table(2_000)
    signs = {"a": -1, "b": 1, "c": -1}
    settings = {"epsilon": epsilon, "monotone_constraints": signs, "warm_start": True}
    model = fit(estimator, X, y, **settings)
    again = np.where(np.random.default_rng(1).random((100, 5)) < 0.1, np.nan, X[:100])
    for _ in range(2):
        for j, sign in enumerate(signs.values()):
            assert (sign * np.diff(scores_along(model, again, j), axis=0) >= 0).all()
        # Whole multiples of a power of two, so that adding them up rounds nothing.
        values = model.forest_.values.astype(np.float64)
        unit = 2.0 ** (np.frexp(np.abs(values).max(axis=2).sum(axis=0).max())[1] - 24)
        assert (np.mod(values, unit) == 0).all()
        if math.isinf(epsilon):
            break
        model.fit(X, (y > 2).astype(int) if estimator is PrivateForestClassifier else y)


@pytest.mark.parametrize("signs", [{"a": 1}, TRUE])
def test_importances_are_those_of_the_model_without_constraints(signs):
    rng = np.random.default_rng(0)
    X = rng.random((5_000, 5))
    y = 3 * X[:, 0] + X[:, 1] - X[:, 2] + rng.normal(0, 0.3, 5_000)
    free, held = (
        fit(PrivateForestRegressor, X, y, monotone_constraints=asked).importances()
        for asked in (None, signs)
    )
    assert held.distinguishable[:1] == ("a",)
    assert set(held.distinguishable) == set(free.distinguishable) == set("abc")
    for name, share in zip(free.names, free.value, strict=True):
        assert held.value[held.names.index(name)] == pytest.approx(share, abs=0.1)


def test_choices_do_not_name_what_has_to_be_followed(monkeypatch):
    """Gradients that go against a constraint stay, and would win every choice."""
    offered, choose = [], QuestionChoices.choose

    def record(self, candidates, *args):
        offered.append(set(candidates.feature[:, 0].tolist()))
        return choose(self, candidates, *args)

    monkeypatch.setattr(QuestionChoices, "choose", record)
    X, y = make_table(2_000)
    settings = {"epsilon": math.inf, "n_estimators": 40}
    for signs, features in [
        (None, {0, 1, 2, 3, 4}),
        (TRUE, {3, 4}),
        (dict.fromkeys(NAMES, 1), {0, 1, 2, 3, 4}),
    ]:
        offered.clear()
        fit(PrivateForestRegressor, X, y, monotone_constraints=signs, **settings)
        assert offered
        assert set().union(*offered) == features


def test_what_is_not_let_through_is_seldom_asked():
    """Features that tell most, against their constraints: trees had better ask for others."""
    X, y = make_table(8_000)
    shares, settings = [], {"epsilon": 4.0, "max_depth": 2}
    for signs in (None, {"a": -1, "e": -1}):
        model = fit(PrivateForestRegressor, X, y, monotone_constraints=signs, **settings)
        asked = model.forest_.trees.feature[model._n_start_trees :, :2]
        shares.append(float(np.isin(asked[len(asked) // 2 :], [0, 4]).mean()))
    assert shares[0] > 0.6
    assert shares[1] < 0.4
