"""Leaf numbers say which released values make up a prediction."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dpforest import (
    MatrixForestPredictor,
    MedianForestRegressor,
    NumericFeature,
    PrivateForestClassifier,
    RandomDecisionForestClassifier,
    Schema,
    Target,
    datasets,
)


@pytest.fixture(scope="module")
def census():
    return datasets.make_census(700, random_state=0)


def test_values_of_the_leaves_add_up_to_the_score_of_boosted_trees(census):
    forest = PrivateForestClassifier(schema=census.schema, epsilon=5.0, random_state=0)
    forest.fit(census.X, census.y)
    leaves = forest.apply(census.X)
    trees = np.arange(forest.forest_.trees.n_trees)
    assert leaves.shape == (700, len(trees))
    scores = forest.forest_.values[trees, 0, leaves].sum(axis=1, dtype=np.float64)
    np.testing.assert_allclose(scores, forest.decision_function(census.X), atol=1e-4)


def test_means_of_the_leaves_are_the_prediction_of_a_median_forest():
    X = np.random.default_rng(0).random((800, 2))
    schema = Schema([NumericFeature("x0", 0, 1), NumericFeature("x1", 0, 1)], Target(low=0, high=2))
    forest = MedianForestRegressor(schema=schema, epsilon=5.0, random_state=0).fit(X, X.sum(axis=1))
    means = forest.leaf_values_[forest.apply(X), 0].mean(axis=1)
    np.testing.assert_allclose(2 * means, forest.predict(X))


def test_trees_have_leaves_of_their_own(census):
    forest = RandomDecisionForestClassifier(
        schema=census.schema, n_estimators=3, max_depth=2, random_state=0
    )
    with pytest.raises(NotFittedError):
        forest.apply(census.X)
    leaves = forest.fit(census.X, census.y).apply(census.X)
    seen = [set(column) for column in leaves.T]
    assert not seen[0] & seen[1] | seen[1] & seen[2] | seen[0] & seen[2]
    assert leaves.max() < forest.forest_.n_leaves


def test_leaves_of_trees_that_are_drawn_blindly_cost_nothing(census):
    predictor = MatrixForestPredictor(schema=census.schema, max_depth=1).fit(census.X, census.y)
    assert predictor.apply(census.X[:9]).shape == (9, predictor.forest_.n_trees)
    assert predictor.ledger_.epsilon == 0
