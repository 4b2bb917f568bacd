"""The law of bins: what goes together in records is found in released sums, and nothing else is."""

import math
import pickle

import numpy as np
import pytest
from scipy.stats import norm

from dpforest import NumericFeature, PrivateForestRegressor, Schema, Target, load_model
from dpforest.report.law import Law, law_of_leaves
from dpforest.trees.oblivious import ObliviousTrees

N_BINS, N_FEATURES, DEPTH = 8, 5, 4


def random_trees(n_trees, rng):
    """Trees that cut features anywhere, some of them twice."""
    cuts = rng.integers(1, N_BINS, (n_trees, DEPTH))
    return ObliviousTrees(
        rng.integers(0, N_FEATURES, (n_trees, DEPTH)).astype(np.int32),
        np.arange(256) >= cuts[:, :, None],
        np.full(n_trees, DEPTH, np.int32),
    )


def leaf_sums(trees, bins):
    sums = np.zeros((trees.n_trees, 1 << DEPTH))
    for t in range(trees.n_trees):
        right = [trees.goes_right[t, k, bins[:, trees.feature[t, k]]] for k in range(DEPTH)]
        leaf = sum(answer.astype(int) << k for k, answer in enumerate(right))
        sums[t] = np.bincount(leaf, minlength=1 << DEPTH)
    return sums


def gaussian_bins(n, correlation, rng):
    """Features 0, 1 and 2 go together, 3 and 4 by themselves."""
    shared = rng.normal(size=(n, 1))
    scores = rng.normal(size=(n, N_FEATURES))
    scores[:, :3] = math.sqrt(correlation) * shared + math.sqrt(1 - correlation) * scores[:, :3]
    return np.minimum((N_BINS * norm.cdf(scores)).astype(int), N_BINS - 1)


def found_law(deviation, correlation=0.8, n=5000, seed=0):
    rng = np.random.default_rng(seed)
    trees, bins = random_trees(150, rng), gaussian_bins(n, correlation, rng)
    sums = leaf_sums(trees, bins) + deviation * rng.normal(size=(150, 1 << DEPTH))
    even = tuple(np.full(N_BINS, 1 / N_BINS) for _ in range(N_FEATURES))
    law = law_of_leaves(trees, sums, np.full(150, deviation), even)
    return np.corrcoef(law.draw(20_000, rng).T), np.corrcoef(bins.T)


@pytest.mark.parametrize(("deviation", "off"), [(0.0, 0.08), (100.0, 0.15)])
def test_what_goes_together_is_found_and_the_rest_stays_independent(deviation, off):
    """A leaf holds 312 of 5,000 records on average."""
    found, true = found_law(deviation)
    np.testing.assert_allclose(found, true, atol=off)


def test_noise_makes_no_dependence():
    found, _ = found_law(100.0, correlation=0.0)
    np.testing.assert_allclose(found, np.eye(N_FEATURES), atol=0.12)
    drowned, _ = found_law(5000.0)  # as much as all records
    np.testing.assert_allclose(drowned, np.eye(N_FEATURES), atol=0.2)


def test_bins_without_records_stay_empty():
    rng = np.random.default_rng(0)
    trees, bins = random_trees(60, rng), gaussian_bins(2000, 0.8, rng)
    known = np.bincount(bins[:, 0], minlength=N_BINS) / 2000
    known[5:] = 0.0
    shares = (known, *(np.full(N_BINS, 1 / N_BINS) for _ in range(N_FEATURES - 1)))
    law = law_of_leaves(trees, leaf_sums(trees, bins), np.zeros(60), shares)
    assert law.draw(1000, rng)[:, 0].max() < 5
    for of_class in law.chances:
        np.testing.assert_allclose(of_class.sum(axis=1), 1)


def test_trees_after_the_model_grew_sure_do_not_count():
    rng = np.random.default_rng(0)
    trees, bins = random_trees(80, rng), gaussian_bins(2000, 0.8, rng)
    even = tuple(np.full(N_BINS, 1 / N_BINS) for _ in range(N_FEATURES))
    sums = leaf_sums(trees, bins)
    sums[40:] = rng.random(sums[40:].shape)  # what is left of the Hessians, and where
    early = law_of_leaves(trees[:40], sums[:40], np.zeros(40), even)
    law = law_of_leaves(trees, sums, np.zeros(80), even)
    np.testing.assert_allclose(law.weights, early.weights)


def test_without_trees_features_are_independent():
    shares = (np.array([0.5, 0.5]), np.array([0.2, 0.8]))
    none = ObliviousTrees(
        np.zeros((0, 1), np.int32), np.zeros((0, 1, 256), np.bool_), np.zeros(0, np.int32)
    )
    law = law_of_leaves(none, np.zeros((0, 2)), np.zeros(0), shares)
    assert len(law.weights) == 1
    points = law.draw(1000, np.random.default_rng(0))
    np.testing.assert_allclose(points.mean(axis=0), [0.5, 0.8], atol=1e-3)


def test_points_have_the_shares_of_the_classes():
    law = Law(np.array([0.25, 0.75]), (np.eye(2), np.array([[0.5, 0.5], [0.0, 1.0]])))
    points = law.draw(400, np.random.default_rng(0))
    cells = np.bincount(2 * points[:, 0] + points[:, 1], minlength=4)
    np.testing.assert_allclose(cells, [50, 50, 0, 300], atol=1)


def test_a_fitted_forest_knows_that_two_features_are_copies(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((4000, 3))
    X[:, 1] = X[:, 0]
    features = tuple(NumericFeature(name, 0, 1) for name in ("one", "copy", "other"))
    schema = Schema(features, Target("y", low=0, high=2))
    model = PrivateForestRegressor(schema=schema, epsilon=4.0, random_state=0)
    model.fit(X, X[:, 0] + X[:, 2])
    together = np.corrcoef(model.released_law.draw(5000, rng).T)
    assert together[0, 1] > 0.6
    assert abs(together[0, 2]) < 0.15
    model.save(tmp_path / "m.dpforest")
    again = load_model(tmp_path / "m.dpforest").released_law
    np.testing.assert_array_equal(again.weights, model.released_law.weights)


def test_a_law_is_kept_for_as_long_as_the_forest_is_the_same():
    X = np.random.default_rng(0).random((400, 2))
    features = NumericFeature("one", 0, 1), NumericFeature("other", 0, 1)
    schema = Schema(features, Target("y", low=0, high=1))
    options = {"schema": schema, "n_estimators": 20, "warm_start": True, "random_state": 0}
    model = PrivateForestRegressor(**options).fit(X, X[:, 0])
    law = model.released_law
    assert model.released_law is law
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(model)).released_law.weights, law.weights
    )
    model.set_params(n_estimators=40).fit(X, X[:, 0])
    assert not np.array_equal(model.released_law.weights, law.weights)


def test_nothing_of_a_law_stays_under_the_ledger_of_the_next_fit():
    X = np.random.default_rng(0).random((400, 2))
    features = NumericFeature("one", 0, 1), NumericFeature("other", 0, 1)
    schema = Schema(features, Target("y", low=0, high=1))
    model = PrivateForestRegressor(schema=schema, n_estimators=20, random_state=0)
    law = model.fit(X, X[:, 0]).released_law
    assert law.weights.tobytes() in pickle.dumps(model)
    model.fit(X[::-1] ** 2, X[:, 1])
    assert law.weights.tobytes() not in pickle.dumps(model)
