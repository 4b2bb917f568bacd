"""Calibration: what it costs, that it tells no other class, and that it makes models honest."""

from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest

from dpforest import NumericFeature, PrivateForestClassifier, Schema, Target, load_model
from dpforest.forests import calibrating
from dpforest.forests.calibrating import calibration_share, factor_of
from dpforest.forests.purse import Purse
from dpforest.losses import Logistic
from dpforest.privacy.confidence import Confidence

LABEL = "how much surer than right the model is"


def separable(n=2_500, n_classes=2, seed=0):
    """Classes that a sum of two of four features tells without error."""
    X = np.random.default_rng(seed).random((n, 4))
    y = np.digitize(X[:, 0] + X[:, 1], np.linspace(0.4, 1.6, n_classes + 1)[1:-1])
    features = tuple(NumericFeature(f"x{j}", 0, 1) for j in range(4))
    return X, y, Schema(features, Target(classes=tuple(range(n_classes))))


def fitted(X, y, schema, **settings):
    return PrivateForestClassifier(schema=schema, random_state=0, **settings).fit(X, y)


def excess(model, X, y):
    told = model.predict_proba(X)
    return float(told.max(axis=1).mean() - (told.argmax(axis=1) == y).mean())


def labels_of(model):
    return [entry.label for entry in model.ledger_.entries]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_it_makes_a_model_as_sure_as_it_is_right_and_tells_the_same_classes(n_classes):
    X, y, schema = separable(5_000, n_classes)
    train, test = slice(0, 2_500), slice(2_500, None)
    model = fitted(X[train], y[train], schema, epsilon=2.0, n_estimators=200)
    with patch.object(calibrating, "factor_of", lambda *found: 1.0):
        plain = fitted(X[train], y[train], schema, epsilon=2.0, n_estimators=200)
    np.testing.assert_array_equal(model.predict(X[test]), plain.predict(X[test]))
    assert excess(plain, X[test], y[test]) < -0.03
    assert abs(excess(model, X[test], y[test])) < 0.02
    assert LABEL in labels_of(model)
    assert 2.0 - 1e-6 < model.ledger_.epsilon <= 2.0


def test_what_is_known_of_the_noise_follows_the_factor():
    """Scores and noise grow alike, so that importances and their doubts stay what they are."""
    model = fitted(*separable(), epsilon=2.0, n_estimators=40)
    shares = model.feature_importances_
    noise = model.noise_forest().values
    model._multiply_scores(3.0)
    off = np.linalg.norm(model.noise_forest().values - 3.0 * noise, axis=(1, 2))
    assert (off <= 0.2 * 3.0 * np.linalg.norm(noise, axis=(1, 2))).all()
    np.testing.assert_allclose(model.feature_importances_, shares, atol=0.01)


def test_a_saved_model_is_as_sure(tmp_path):
    X, y, schema = separable()
    model = fitted(X, y, schema, epsilon=2.0, n_estimators=40)
    model.save(tmp_path / "model.dpforest")
    again = load_model(tmp_path / "model.dpforest")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("epsilon", "delta", "n_records"),
    [(np.inf, 1e-6, 1e6), (1.0, 0.0, 1e6), (4.0, 1e-6, 900.0), (0.1, 1e-6, 2_000.0)],
)
def test_without_use_it_costs_nothing(epsilon, delta, n_records):
    assert calibration_share(Purse(epsilon, delta), n_records) == 0


def test_more_signal_needs_a_smaller_share():
    shares = [calibration_share(Purse(1.0, 1e-6), n) for n in (1_200.0, 20_000.0, 1e6, 1e12)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == Fraction(2, 100)
    assert shares[-1] > 0


def test_a_linear_model_that_is_all_there_is_is_calibrated_too():
    X, y, schema = separable()
    with patch("dpforest.forests.linear_plan.LINEAR_SIGNAL", 1e9):
        model = fitted(X, y, schema, epsilon=2.0)
    assert model.plan_.n_trees == 0
    assert LABEL in labels_of(model)
    assert abs(excess(model, X, y)) < 0.03


@pytest.mark.parametrize("times", [0.75, 1.0, 1.1, 1.5, 2.0, 2.5])
def test_scores_that_are_too_small_by_a_factor_get_it(times):
    honest = np.random.default_rng(0).normal(0, 2, 100_000)
    told, doubled, right = (
        Logistic().predictions((part * np.abs(honest))[None], clipped=True)[:, 1].sum()
        for part in (1 / times, 2 / times, 1)
    )
    found = Confidence(told - right, doubled - told, 0.0)
    assert np.log2(factor_of(found, len(honest)) / times) == pytest.approx(0.0, abs=0.2)


def test_the_factor_is_that_of_the_excess_within_limits():
    found = Confidence(-60.0, 60.0, 0.0)
    assert factor_of(found, 1_000.0) == pytest.approx(2.0)
    assert factor_of(found._replace(excess=60.0), 1_000.0) == pytest.approx(0.5)
    assert factor_of(found._replace(excess=900.0), 1_000.0) == 0.5
    assert factor_of(found._replace(excess=-900.0), 1_000.0) == 8.0
    # A gain that drowned in noise is no reason for an absurd step.
    assert factor_of(found._replace(gain=-50.0), 1_000.0) <= 8.0


def test_what_may_be_noise_is_not_heard_and_what_stands_out_is():
    noisy = Confidence(-10.0, 20.0, 20.0)
    assert factor_of(noisy, 1_000.0) < 1.05
    assert factor_of(noisy._replace(gain=200.0, excess=-100.0), 1_000.0) > 1.25
    assert factor_of(noisy._replace(gain=100.0, excess=-250.0), 1_000.0) > 5.0
