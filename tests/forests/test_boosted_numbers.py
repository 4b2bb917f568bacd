"""Regressors of medians and quantiles as their users meet them."""

import math
import pickle

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_pinball_loss
from threadpoolctl import threadpool_limits

from dpforest import (
    ModelFileError,
    NumericFeature,
    PrivateForestRegressor,
    PrivateIntervalRegressor,
    Schema,
    Target,
    load_model,
)
from dpforest.forests import linear_plan
from dpforest.forests.plan import NO_TREES
from dpforest.trees.ranges import ends_of

LOSSES = {
    "absolute": {"loss": "absolute"},
    "quantile": {"loss": "quantile", "quantile": 0.9},
}
SMALL = {"n_estimators": 12, "trees_per_round": 4, "max_depth": 3, "random_state": 0}
FEATURES = tuple(NumericFeature(f"x{j}", 0, 1) for j in range(3))


def make_table(n=6_000, seed=0):
    """Two features move the target, the third its spread."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    return X, 3 * X[:, 0] + X[:, 1] + (0.1 + X[:, 2]) * rng.normal(0, 1, n)


def regressor(**settings):
    schema = Schema(FEATURES, Target("y", low=-10, high=20))
    return PrivateForestRegressor(schema=schema, **{"random_state": 0} | settings)


def test_a_linear_start_follows_values_where_ranks_tell_less(monkeypatch):
    """The model is the start alone; its answers are a line of the value, tail included."""
    monkeypatch.setattr(linear_plan, "LINEAR_SIGNAL", 1e9)
    amount = np.random.default_rng(0).exponential(size=(4_000, 1)).clip(0, 5)
    schema = Schema((NumericFeature("amount", 0, 5),), Target("y", low=0, high=5))
    model = PrivateForestRegressor(schema=schema, epsilon=8.0, random_state=0)
    found = model.fit(amount, amount[:, 0]).predict(amount)
    assert model.plan_ == NO_TREES
    rank = amount[:, 0].argsort().argsort()
    by_rank = np.corrcoef(rank, amount[:, 0])[0, 1] ** 2
    # 0.74 is all that ranks can tell; 0.7 of the places are values.
    assert by_rank < 0.8 < 0.9 < np.corrcoef(found, amount[:, 0])[0, 1] ** 2


@pytest.mark.parametrize("asked", [*LOSSES, "interval"])
@pytest.mark.parametrize(
    "protection",
    [
        {},
        {"delta": 0.0},
        {"neighbors": "replace_one"},
        {"n_hint": 600},
        {"max_records_per_group": 3},
    ],
    ids=str,
)
def test_a_fit_spends_its_epsilon_and_never_more(protection, asked):
    X, y = make_table(600)
    groups = np.arange(600) // 4 if "max_records_per_group" in protection else None
    model = regressor(**LOSSES.get(asked, {}), **protection)
    if asked == "interval":
        model = PrivateIntervalRegressor(schema=model.schema, random_state=0, **protection)
    for epsilon in (0.1, 1.0):
        ledger = model.set_params(epsilon=epsilon).fit(X, y, groups=groups).ledger_
        assert ledger.epsilon <= epsilon
        assert ledger.epsilon == pytest.approx(epsilon, abs=1e-6)


def pinball_of(model, quantile):
    """The loss on other records, next to that of the best constant; the share below."""
    (X, y), (fresh, target) = make_table(), make_table(10_000, seed=1)
    found = model.fit(X, y).predict(fresh)
    constant = np.full(len(target), np.quantile(target, quantile))
    losses = [mean_pinball_loss(target, each, alpha=quantile) for each in (found, constant)]
    return losses[0], losses[1], (target <= found).mean()


@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("quantile", [0.05, 0.5, 0.9])
def test_it_learns_quantiles(quantile, delta):
    """On other records, at epsilon 1 and 2; fixed seeds."""
    epsilon = 1.0 if delta else 2.0
    model = regressor(loss="quantile", quantile=quantile, delta=delta, epsilon=epsilon)
    found, constant, below = pinball_of(model, quantile)
    assert found < (0.7 if delta else 0.85) * constant
    assert below == pytest.approx(quantile, abs=0.05)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_without_noise_it_meets_scikit_learns_quantiles(quantile):
    """Within a twentieth of the pinball loss of HistGradientBoostingRegressor."""
    forest = regressor(loss="quantile", quantile=quantile, epsilon=math.inf)
    rival = HistGradientBoostingRegressor(loss="quantile", quantile=quantile, random_state=0)
    with threadpool_limits(1):  # its threads would wait for each other
        ours, theirs = (pinball_of(model, quantile)[0] for model in (forest, rival))
    assert ours < 1.05 * theirs


def test_outliers_move_the_mean_and_not_the_median():
    """Of every twenty targets one is far above; without noise, so that nothing is clipped."""
    X, y = make_table()
    y = y.copy()
    y[::20] = 20.0
    mean, median = (
        regressor(epsilon=math.inf, loss=loss).fit(X, y).predict(X).mean()
        for loss in ("squared", "absolute")
    )
    clean = make_table()[1].mean()
    assert mean > clean + 0.7
    assert median == pytest.approx(clean, abs=0.2)


@pytest.mark.parametrize("width", [5.0, 100.0])
def test_bounds_far_too_wide_hardly_matter(width):
    X, y = make_table()
    schema = Schema(FEATURES, Target("y", low=-width, high=10 * width))
    model = PrivateForestRegressor(schema=schema, loss="quantile", quantile=0.9, random_state=0)
    assert (y <= model.fit(X, y).predict(X)).mean() == pytest.approx(0.9, abs=0.05)


def test_a_target_of_one_value_is_no_obstacle():
    X, _ = make_table(500)
    for loss in LOSSES.values():
        model = regressor(epsilon=5.0, **loss).fit(X, np.full(500, 7.0))
        assert np.abs(model.predict(X) - 7.0).max() < 2.0


def test_the_median_and_the_absolute_loss_are_the_same():
    X, y = make_table(500)
    one = regressor(loss="absolute", **SMALL).fit(X, y)
    other = regressor(loss="quantile", quantile=0.5, **SMALL).fit(X, y)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.parametrize("loss", LOSSES)
def test_stages_files_and_threads(loss, tmp_path):
    X, y = make_table(500)
    model = regressor(**LOSSES[loss], **SMALL).fit(X, y)
    np.testing.assert_allclose(list(model.staged_predict(X))[-1], model.predict(X), atol=1e-5)
    model.save(tmp_path / "model")
    for again in (load_model(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.target_center_ == model.target_center_
        assert again.told == {"absolute": "median", "quantile": "0.9 quantile"}[loss]
    model.set_params(loss="squared", quantile=0.5)  # what was learnt stays what it is
    np.testing.assert_array_equal(load_model(tmp_path / "model").predict(X), model.predict(X))
    threads = regressor(n_jobs=2, **LOSSES[loss], **SMALL).fit(X, y)
    np.testing.assert_array_equal(threads.predict(X), model.predict(X))


def test_a_file_whose_scores_do_not_fit_its_quantiles_is_refused(tmp_path, monkeypatch):
    X, y = make_table(200)
    model = regressor(loss="absolute", **SMALL).fit(X, y)
    honest = model._facts()
    lie = {"quantiles": [0.1, 0.5], "target_center": [0, 1], "target_width": [1, 1]}
    monkeypatch.setattr(model, "_facts", lambda: honest | lie)
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "model")


def test_warm_start_goes_on_with_the_same_loss_only():
    X, y = make_table(2_000)
    model = regressor(loss="quantile", quantile=0.9, warm_start=True, epsilon=1.0).fit(X, y)
    before, n_trees = model.target_width_, model.forest_.trees.n_trees
    model.fit(X, y)
    assert model.forest_.trees.n_trees > n_trees
    assert model.target_width_ == before
    assert (y <= model.predict(X)).mean() == pytest.approx(0.9, abs=0.05)
    spent = model.ledger_.epsilon
    for other in ({"quantile": 0.8}, {"loss": "absolute", "quantile": 0.5}):
        with pytest.raises(ValueError, match="another loss"):
            model.set_params(**other).fit(X, y)
    assert model.ledger_.epsilon == spent


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"loss": "huber"}, "loss must be one of"),
        ({"loss": "quantile", "quantile": 0.0}, "between 0 and 1"),
        ({"loss": "quantile", "quantile": 1}, "between 0 and 1"),
        ({"loss": "quantile", "quantile": 1.5}, "quantile must be from 0 to 1"),
        ({"loss": "quantile", "quantile": math.nan}, "quantile must be from 0 to 1"),
        ({"quantile": 0.9}, "goes with loss='quantile'"),
        ({"loss": "absolute", "quantile": 0.9}, "goes with loss='quantile'"),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_anything_is_spent(settings, match):
    X, y = make_table(50)
    model = regressor(**settings)
    with pytest.raises(ValueError, match=match):
        model.fit(X, y)
    assert not hasattr(model, "ledger_")


@pytest.mark.parametrize("kind", [PrivateForestRegressor, PrivateIntervalRegressor])
def test_monotone_constraints_hold_for_quantiles(kind):
    X, y = make_table(500)
    settings = {"loss": "quantile", "quantile": 0.9} if kind is PrivateForestRegressor else {}
    schema = Schema(FEATURES, Target("y", low=-10, high=20))
    signs = {"x0": 1, "x2": -1}
    model = kind(schema=schema, monotone_constraints=signs, random_state=0, **settings).fit(X, y)
    answers = model.predict if settings else model.predict_interval
    for j, sign in ((0, 1), (2, -1)):
        moved = np.repeat(X[None, :50], 20, axis=0)
        moved[:, :, j] = np.linspace(0, 1, 20)[:, None]
        steps = np.array([answers(each) for each in moved])
        assert (sign * np.diff(steps, axis=0) >= 0).all()


def test_a_target_that_goes_up_and_down_is_asked_for_ranges():
    """Unless the model has to follow the feature: then no question about it ends again."""
    rng = np.random.default_rng(0)
    X = rng.random((4_000, 3))
    y = 5 + 3 * np.sin(12 * X[:, 0]) + X[:, 1] + rng.normal(0, 0.3, len(X))
    schema, shares = Schema(FEATURES, Target("y", low=0, high=10)), []
    for signs in (None, {"x0": 1}):
        model = PrivateForestRegressor(
            epsilon=4, schema=schema, monotone_constraints=signs, random_state=0
        ).fit(X, y)
        grown = model.forest_.trees[model._n_start_trees :]
        ends = ends_of(grown, model.encoding_.feature_bins)
        shares.append(float((ends[grown.feature == 0] >= 0).mean()))
    assert shares[0] > 0.2 > shares[1] == 0.0


@pytest.mark.parametrize("loss", LOSSES)
def test_explanations_are_of_the_quantile(loss):
    from dpforest.report import feature_effect

    X, y = make_table(6_000)
    model = regressor(epsilon=2.0, **LOSSES[loss]).fit(X, y)
    parts = model.contributions(X[:20])
    inside = np.clip(parts.scores, -10, 20)
    np.testing.assert_allclose(inside, model.predict(X[:20]), atol=1e-3)
    assert model.importances().distinguishable[0] == "x0"
    effect = feature_effect(model, "x2")
    rise = effect.answers[-1] - effect.answers[0]
    # Where targets spread more, their upper quantile is higher, and their median is not.
    assert rise > 0.6 if loss == "quantile" else abs(rise) < 0.5
    assert effect.told == model.told


def test_sources_give_the_same_model(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    from dpforest import ParquetTable

    X, y = make_table(500)
    columns = {f"x{j}": X[:, j] for j in range(3)} | {"y": y}
    pq.write_table(pa.table(columns), tmp_path / "table.parquet", row_group_size=100)
    stored = ParquetTable(tmp_path / "table.parquet")
    for loss in LOSSES.values():
        plain = regressor(**loss, **SMALL).fit(X, y)
        again = regressor(**loss, **SMALL).fit(stored, "y")
        np.testing.assert_array_equal(again.predict(X), plain.predict(X))


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_without_noise_nothing_but_a_constant_is_learnt_of_one(loss):
    X = np.random.default_rng(0).random((200, 3))
    forest = regressor(loss=loss, epsilon=math.inf).fit(X, np.full(200, 0.25))
    np.testing.assert_allclose(forest.predict(X), 0.25, atol=0.03)  # of a range of 30


def test_without_noise_what_only_ranges_of_two_features_tell_is_learnt():
    X = np.random.default_rng(0).random((4000, 3))
    y = 0.5 + 0.4 * np.sin(12 * X[:, 0]) * np.sin(12 * X[:, 1])
    forest = regressor(epsilon=math.inf).fit(X[:3000], y[:3000])
    assert forest.score(X[3000:], y[3000:]) > 0.88


@pytest.mark.parametrize(("n", "n_hint"), [(1, None), (50, 200_000)])
def test_few_records_without_noise_are_learnt_by_heart(n, n_hint):
    """And nothing is left to learn long before the last tree."""
    rng = np.random.default_rng(0)
    X, y = rng.random((n, 20)), rng.random(n)
    features = tuple(NumericFeature(f"x{j}", 0, 1) for j in range(20))
    schema = Schema(features, Target(low=0, high=1))
    model = PrivateForestRegressor(epsilon=math.inf, schema=schema, n_hint=n_hint, random_state=0)
    np.testing.assert_allclose(model.fit(X, y).predict(X), y, atol=0.01)
