"""Importances: 0 for constants and for random labels, and what trees do everywhere else."""

import math

import numpy as np
import pytest

import dpforest
from dpforest import (
    CategoricalFeature,
    GreedyForestClassifier,
    MatrixForestClassifier,
    MatrixForestPredictor,
    MedianForestClassifier,
    MedianForestRegressor,
    NumericFeature,
    PrivateForestClassifier,
    PrivateForestRegressor,
    RandomDecisionForestClassifier,
    Schema,
    Target,
    load_model,
)
from dpforest.report.importances import importances_of
from dpforest.report.moving_kernels import moved_scores
from dpforest.tables.routing import add_tree_values
from dpforest.trees.unfolding import leaf_table, unfold

FEATURES = (
    NumericFeature("constant", 0, 1),
    NumericFeature("strong", 0, 1),
    CategoricalFeature("kind", ("a", "b", "c", "d")),
    NumericFeature("noise", 0, 1),
    CategoricalFeature("one", ("x", "y", "z")),
)
CLASSIFIERS = [
    PrivateForestClassifier,
    RandomDecisionForestClassifier,
    GreedyForestClassifier,
    MedianForestClassifier,
    MatrixForestClassifier,
]
REGRESSORS = [PrivateForestRegressor, MedianForestRegressor]


def table(n=6000, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.choice(4, n, p=[0.7, 0.1, 0.1, 0.1])
    X = np.empty((n, 5), object)
    X[:, 0], X[:, 1], X[:, 3] = 0.37, rng.random(n), rng.random(n)
    X[:, 2], X[:, 4] = np.array(list("abcd"))[kind], "y"
    signal = (X[:, 1].astype(float) > 0.5) ^ (rng.random(n) < 0.1)
    return X, np.where(kind == 1, True, signal).astype(int), rng.integers(0, 2, n)


def fitted(estimator, y, X, **options):
    classes = estimator in CLASSIFIERS
    if estimator is GreedyForestClassifier:
        options["leaves"] = "counts"  # labels do not say which bins are empty
    target = Target("y", classes=(0, 1)) if classes else Target("y", low=0, high=1)
    options = {"random_state": 0, **options}
    return estimator(schema=Schema(FEATURES, target), **options).fit(X, y)


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS])
def test_random_labels_and_constants_have_no_importance(estimator):
    X, y, chance = table()
    assert not fitted(estimator, chance, X).feature_importances_.any()
    found = dict(
        zip(
            Schema(FEATURES).feature_names, fitted(estimator, y, X).importances().value, strict=True
        )
    )
    assert found["constant"] < 0.01
    assert found["one"] < 0.01
    assert found["noise"] <= 0.02


@pytest.mark.parametrize(
    ("estimator", "delta"),
    [
        (PrivateForestClassifier, 1e-6),
        (PrivateForestClassifier, 0.0),
        (PrivateForestRegressor, 1e-6),
        (PrivateForestRegressor, 0.0),
    ],
)
def test_the_flagship_finds_what_there_is(estimator, delta):
    """The weaker of two in most of five fits, and next to never what is useless.

    One fit misses it in a sixth of all cases, so three of five do in 3 %; seeds are fixed.
    """
    X, y, _ = table()
    told, useless = [], 0
    for seed in range(5):
        found = fitted(estimator, y, X, delta=delta, random_state=seed).importances()
        told.append(found.distinguishable[:2])
        useless += len(set(found.distinguishable) - {"strong", "kind"})
        assert 0.6 < found.value.sum() <= 1
        assert (found.low <= found.value).all()
        assert (found.value <= found.high).all()
        assert "not distinguishable from 0" in str(found).splitlines()[-1]
    assert all("strong" in names for names in told)
    assert sum("kind" in names for names in told) >= 3
    assert useless <= 1


@pytest.mark.parametrize("estimator", [PrivateForestClassifier, RandomDecisionForestClassifier])
def test_points_that_do_not_fit_into_memory_together_tell_the_same(estimator, monkeypatch):
    X, y, _ = table(1000)
    model = fitted(estimator, y, X, epsilon=4.0)
    at_once = importances_of(model._explained())
    monkeypatch.setattr("dpforest.report.importances.MOST_MOVES", 3000)
    in_parts = importances_of(model._explained())
    for one, other in zip(
        (at_once.value, at_once.low, at_once.high),
        (in_parts.value, in_parts.low, in_parts.high),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert at_once.value.any()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_useless_features_are_not_told_from_noise(seed, epsilon):
    """In 3 of 72 tables of nothing but noise a feature was told from it; seeds are fixed."""
    rng = np.random.default_rng(seed)
    schema = Schema(
        tuple(NumericFeature(f"x{j}", 0, 1) for j in range(20)), Target("y", classes=(0, 1))
    )
    model = PrivateForestClassifier(epsilon=epsilon, schema=schema, random_state=seed)
    model.fit(rng.random((2000, 20)), rng.integers(0, 2, 2000))
    assert not model.feature_importances_.any()


@pytest.mark.parametrize("bounds", [(0, 1), (-4, 6)])
def test_a_feature_of_a_number_is_told_from_useless_ones(bounds):
    """Of 1,680 useless features beside a useful one, 5 were taken for more; seeds are fixed."""
    rng = np.random.default_rng(0)
    X = rng.random((2000, 12))
    y = 0.2 + 0.3 * (X[:, 0] > 0.5) + 0.3 * rng.random(2000)
    features = tuple(NumericFeature(f"x{j}", 0, 1) for j in range(12))
    schema = Schema(features, Target("y", low=bounds[0], high=bounds[1]))
    model = PrivateForestRegressor(schema=schema, random_state=0).fit(X, y)
    assert model.importances().distinguishable == ("x0",)


def test_without_noise_everything_adds_up():
    X, y, _ = table(1500)
    found = fitted(PrivateForestClassifier, y, X, epsilon=math.inf, n_estimators=60).importances()
    assert found.value.sum() == pytest.approx(1)
    assert found.value[[0, 4]].max() < 0.01
    np.testing.assert_allclose(found.low, found.high)


@pytest.mark.parametrize(("epsilon", "n_fits", "most"), [(1.0, 40, 0.08), (2.0, 10, 0.05)])
def test_shares_of_categories_are_learnt_from_released_hessians(epsilon, n_fits, most):
    """On average of the fits: of a single one, at epsilon 1, half are off by more than that."""
    X, y, _ = table()
    models = [
        fitted(PrivateForestClassifier, y, X, random_state=seed, epsilon=epsilon)
        for seed in range(n_fits)
    ]
    found = np.mean([model.bin_shares_[2][:4] for model in models], axis=0)
    np.testing.assert_allclose(found, [0.7, 0.1, 0.1, 0.1], atol=most)
    for model in models:
        np.testing.assert_allclose(model.bin_shares_[4][:3], [0, 1, 0], atol=0.05)
        for shares, n_bins in zip(model.bin_shares_, model.encoding_.n_bins, strict=True):
            assert len(shares) == n_bins
            assert shares.sum() == pytest.approx(1)


def test_missing_values_have_a_share():
    X, y, _ = table()
    X[:2000, 1] = None
    X[1000:3000, 2] = None
    model = fitted(PrivateForestRegressor, y, X, epsilon=8.0)  # whose Hessians are all 1
    n_values = model.encoding_.n_values
    assert model.bin_shares_[1][n_values[1] :].sum() == pytest.approx(1 / 3, abs=0.07)
    assert model.bin_shares_[2][n_values[2] :].sum() == pytest.approx(1 / 3, abs=0.07)


def test_moves_are_those_of_the_scores():
    """Against the model itself: the score at a point, and with one feature of it replaced."""
    X, y, _ = table(500)
    model = fitted(PrivateForestClassifier, y, X, n_estimators=9, max_depth=5)
    trees, values = model.forest_.trees, model.forest_.values
    bins = model._bins(X, order="F")[:40]
    points, others = np.ascontiguousarray(bins[:20]), np.ascontiguousarray(bins[20:])
    moves = np.zeros((20, 5, 3, 1))
    group = np.arange(trees.n_trees) % 3
    arrays = unfold(trees).routing_arrays
    own = moved_scores(points, others, arrays, leaf_table(trees, values), group, moves)

    def score(record):
        total = 0.0
        for t, depth in enumerate(trees.depth):
            answers = [trees.goes_right[t, k, record[trees.feature[t, k]]] for k in range(depth)]
            total += values[t, 0, sum(int(a) << k for k, a in enumerate(answers))]
        return total

    for j in range(5):
        changed = points.copy()
        changed[:, j] = others[:, j]
        expected = [score(a) - score(b) for a, b in zip(points, changed, strict=True)]
        np.testing.assert_allclose(moves[:, j].sum(axis=(1, 2)), expected, atol=1e-6)
    assert (own >= 0).all()


def test_a_loaded_model_has_the_same_importances(tmp_path):
    X, y, _ = table(1000)
    model = fitted(PrivateForestRegressor, y, X, n_estimators=50)
    model.save(tmp_path / "m.dpforest")
    again = load_model(tmp_path / "m.dpforest")
    np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)


def test_a_continued_model_has_importances():
    X, y, _ = table(2000)
    model = fitted(PrivateForestClassifier, y, X, warm_start=True, max_depth=2, n_estimators=100)
    model.set_params(max_depth=4).fit(X, y)
    assert len(model.leaf_noise_.gains) == 200
    assert model.importances().distinguishable[0] == "strong"


def test_a_predictor_has_none():
    X, y, _ = table(300)
    model = MatrixForestPredictor(
        schema=Schema(FEATURES, Target("y", classes=(0, 1))), max_depth=2, random_state=0
    ).fit(X, y)
    assert not hasattr(model, "feature_importances_")
    with pytest.raises(AttributeError, match="no trees"):
        model.importances()
    assert dpforest.MatrixForestPredictor is MatrixForestPredictor


def test_one_tree_cannot_be_told_from_noise():
    X, y, _ = table(500)
    model = fitted(MedianForestClassifier, y, X, n_estimators=1)
    assert not importances_of(model._explained()).value.any()


def random_labels(n_classes, n_records, n_features, seed):
    """A model of nothing else than noise and chance."""
    rng = np.random.default_rng(seed)
    X, y = rng.random((n_records, n_features)), rng.integers(0, n_classes, n_records)
    features = tuple(NumericFeature(f"x{j}", 0, 1) for j in range(n_features))
    schema = Schema(features, Target(classes=tuple(range(n_classes))))
    return PrivateForestClassifier(schema=schema, random_state=seed).fit(X, y), X


@pytest.mark.parametrize(
    ("n_classes", "n_records", "n_features", "n_fits"),
    [(2, 3_000, 3, 1), (3, 3_000, 3, 1), (5, 3_000, 3, 1), (2, 500, 6, 8), (3, 500, 6, 8)],
)
def test_noise_runs_spread_as_far_as_a_model_of_random_labels(
    n_classes, n_records, n_features, n_fits
):
    """Few features and many rounds; or few records, of which a linear start learnt first."""
    spreads = np.zeros((n_fits, 2))
    for seed in range(n_fits):
        model, X = random_labels(n_classes, n_records, n_features, seed)
        bins = np.asfortranarray(model._bins(X))
        for place, forest in enumerate((model.forest_, model.noise_forest())):
            scores = np.zeros((forest.values.shape[1], len(X)), np.float32)
            add_tree_values(forest.trees, bins, forest.values, scores)
            spreads[seed, place] = np.sqrt(scores.var(axis=1).mean())
    released, runs = np.sqrt((spreads**2).mean(axis=0))
    assert 0.8 < runs / released < 1.4


@pytest.mark.parametrize(("n_classes", "n_records"), [(2, 300), (3, 300)])
def test_of_few_records_no_feature_is_told_from_noise(n_classes, n_records):
    """In at most 1 of 12 fits: in more than 1 of 6 then once in 12; seeds are fixed."""
    fits = [random_labels(n_classes, n_records, 6, seed)[0].importances() for seed in range(6)]
    assert sum(bool(found.distinguishable) for found in fits) <= 1
    assert not any(found.chosen_once for found in fits)


def test_of_a_rule_it_is_said_that_chance_cannot_be_told():
    X, y, _ = table(200)
    model = fitted(PrivateForestClassifier, y, X, epsilon=0.5)
    assert "choice of a rule" in model.ledger_.explain()
    found = model.importances()
    assert found.chosen_once
    assert found.distinguishable == ()
    assert found.value.any()
    assert np.isnan([found.low, found.high]).all()
    told = [line for line in str(found).splitlines() if "whether by chance cannot be told" in line]
    assert len(told) == (found.value > 0).sum()
    assert " to " not in str(found)
    page = model.report().html
    assert "whether by chance cannot be told" in page


def test_importances_are_kept_for_as_long_as_the_forest_is_the_same():
    X, y, _ = table(400)
    options = {"warm_start": True, "n_estimators": 20, "epsilon": 4.0}
    model = fitted(PrivateForestClassifier, y, X, **options)
    found = model.importances()
    assert model.importances() is found
    model.feature_importances_[:] = 2.0
    assert found.value.max() <= 1.0
    model.set_params(n_estimators=40).fit(X, y)
    assert model.importances() is not found
