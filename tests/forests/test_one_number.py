"""Where a regressor is one number: what it costs, what it says, and when there is none."""

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dpforest import (
    NumericFeature,
    PrivateForestRegressor,
    PrivateIntervalRegressor,
    Schema,
    Target,
)

SCHEMA = Schema(
    (NumericFeature("a", 0, 1), NumericFeature("b", 0, 1)), Target(low=0.0, high=1_000.0)
)
X = np.random.default_rng(0).random((150, 2))
Y = 20.0 + 5.0 * X[:, 0] + np.random.default_rng(1).random(150)

pytestmark = pytest.mark.filterwarnings("ignore::dpforest.LittleSignalWarning")


def fit(Estimator=PrivateForestRegressor, **options):
    groups = np.arange(150) if "max_records_per_group" in options else None
    settings = {"epsilon": 0.3, "random_state": 0, **options}
    return Estimator(schema=SCHEMA, **settings).fit(X, Y, groups=groups)


def is_number(forest):
    return "choice of a number" in forest.ledger_.explain()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"delta": 0.0},
        {"n_hint": 150},
        {"neighbors": "replace_one"},
        {"max_records_per_group": 1},
        {"loss": "absolute"},
        {"loss": "quantile", "quantile": 0.9},
    ],
)
def test_it_spends_the_budget_and_no_more(options):
    forest = fit(**options)
    assert is_number(forest)
    assert 0.98 * 0.3 < forest.ledger_.epsilon <= 0.3
    assert "bins" not in forest.ledger_.explain()
    assert forest.plan_.n_trees == 0
    assert len(np.unique(forest.predict(X))) == 1


def test_it_is_near_the_target_where_bounds_are_far_too_wide():
    """Means of 20 fits; a target that lies in half a hundredth of its range."""
    found = [float(fit(random_state=seed).predict(X[:1])[0]) for seed in range(20)]
    assert np.median(np.abs(np.array(found) - np.median(Y))) < 5.0


@pytest.mark.parametrize("high", [1e5, 1e7])
def test_it_is_as_near_where_bounds_are_absurd(high):
    """The same 20 fits; cells are narrow near zero."""
    schema = Schema(SCHEMA.features, Target(low=-high, high=high))
    found = []
    for seed in range(20):
        forest = PrivateForestRegressor(schema=schema, delta=0.0, random_state=seed)
        found.append(float(forest.fit(X, Y).predict(X[:1])[0]))
    assert np.median(np.abs(np.array(found) - np.median(Y))) < 5.0


def test_quantiles_are_in_their_order():
    forest = fit(PrivateIntervalRegressor, epsilon=0.4, coverage=0.8)
    assert is_number(forest)
    low, high = forest.predict_interval(X).T
    assert (low <= high).all()
    assert forest.predict(X).shape == (150,)


def test_with_more_signal_or_a_shape_that_was_asked_for_it_learns():
    for options in ({"epsilon": 2.0}, {"n_estimators": 3}, {"max_depth": 1}, {"epsilon": math.inf}):
        assert not is_number(fit(**options))
    weighted = PrivateForestRegressor(schema=SCHEMA, epsilon=0.3, max_sample_weight=1.0)
    assert not is_number(weighted.fit(X, Y, sample_weight=np.ones(150)))


def test_it_explains_and_saves_itself_and_goes_on_with_trees(tmp_path):
    forest = fit(warm_start=True)
    assert_array_equal(forest.feature_importances_, 0.0)
    forest.save(tmp_path / "number.dpforest")
    again = PrivateForestRegressor.load(tmp_path / "number.dpforest")
    assert_array_equal(again.predict(X), forest.predict(X))
    before = forest.forest_.trees.n_trees
    forest.set_params(epsilon=3.0).fit(X, Y)
    assert forest.forest_.trees.n_trees > before
