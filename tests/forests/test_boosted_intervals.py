"""Prediction intervals: how many targets they hold, how wide they are, and what they cost."""

import math

import numpy as np
import pytest
from sklearn.metrics import mean_pinball_loss

from dpforest import (
    NumericFeature,
    ParquetTable,
    PrivateForestRegressor,
    PrivateIntervalRegressor,
    Schema,
    Target,
    load_model,
)

SCHEMA = Schema(
    tuple(NumericFeature(f"x{j}", 0, 1) for j in range(3)), Target("y", low=-10, high=20)
)
SMALL = {"n_estimators": 12, "trees_per_round": 4, "max_depth": 3, "random_state": 0}


def make_table(n=6_000, seed=0):
    """Two features move the target, the third its spread, from 0.1 to 1.1."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    return X, 3 * X[:, 0] + X[:, 1] + (0.1 + X[:, 2]) * rng.normal(0, 1, n)


def regressor(**settings):
    return PrivateIntervalRegressor(**{"schema": SCHEMA, "random_state": 0} | settings)


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_intervals_hold_the_share_they_say(epsilon, coverage):
    """On other records, within 7 points; and they are wide where targets spread. Fixed seeds."""
    (X, y), (fresh, target) = make_table(), make_table(10_000, seed=1)
    low, high = regressor(epsilon=epsilon, coverage=coverage).fit(X, y).predict_interval(fresh).T
    assert (low <= high).all()
    assert ((low <= target) & (target <= high)).mean() == pytest.approx(coverage, abs=0.07)
    wide, narrow = fresh[:, 2] > 0.8, fresh[:, 2] < 0.2
    assert (high - low)[wide].mean() > 1.5 * (high - low)[narrow].mean()
    # As many below as above, roughly.
    assert abs((target < low).mean() - (target > high).mean()) < 0.05


def test_the_pure_kind_holds_them_too():
    (X, y), (fresh, target) = make_table(), make_table(10_000, seed=1)
    model = regressor(epsilon=2.0, delta=0.0).fit(X, y)
    low, high = model.predict_interval(fresh).T
    assert ((low <= target) & (target <= high)).mean() == pytest.approx(0.9, abs=0.07)


def test_one_forest_of_three_beats_two_of_half_the_budget():
    """What sharing is for: the ends are nearer to the truth, by their pinball losses."""
    (X, y), (fresh, target) = make_table(), make_table(10_000, seed=1)
    ours = regressor(epsilon=0.5).fit(X, y).predict_interval(fresh)
    theirs = [
        PrivateForestRegressor(
            epsilon=0.25, loss="quantile", quantile=q, schema=SCHEMA, random_state=0
        )
        .fit(X, y)
        .predict(fresh)
        for q in (0.05, 0.95)
    ]
    losses = [
        sum(
            mean_pinball_loss(target, end, alpha=q)
            for q, end in zip((0.05, 0.95), ends, strict=True)
        )
        for ends in (ours.T, theirs)
    ]
    assert losses[0] < losses[1]


def test_ends_are_in_order_and_within_the_bounds_whatever_the_noise():
    X, y = make_table(60)
    for seed in range(5):
        model = regressor(epsilon=0.05, random_state=seed, n_hint=60).fit(X, y)
        (low, high), middle = model.predict_interval(X).T, model.predict(X)
        assert (low >= -10).all()
        assert (high <= 20).all()
        assert ((low <= middle) & (middle <= high)).all()


def test_files_stages_and_going_on(tmp_path):
    X, y = make_table(1_000)
    model = regressor(warm_start=True, **SMALL).fit(X, y)
    np.testing.assert_allclose(list(model.staged_predict(X))[-1], model.predict(X), atol=1e-5)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))
    np.testing.assert_array_equal(again.target_width_, model.target_width_)
    again.set_params(random_state=1).fit(X, y)
    assert again.forest_.trees.n_trees == model.forest_.trees.n_trees + SMALL["n_estimators"]
    assert again.ledger_.epsilon == pytest.approx(2.0, abs=1e-5)
    with pytest.raises(ValueError, match="another loss"):
        again.set_params(coverage=0.5).fit(X, y)


def test_explanations_speak_of_both_ends():
    pytest.importorskip("matplotlib")
    from dpforest.report import feature_effect

    X, y = make_table()
    model = regressor(epsilon=2.0).fit(X, y)
    parts = model.contributions(X[:20])
    inside = np.sort(np.clip(parts.scores, -10, 20), axis=1)
    np.testing.assert_allclose(inside[:, ::2], model.predict_interval(X[:20]), atol=1e-3)
    for place, end in enumerate(("lower end", "median", "upper end")):
        told = parts.sentence(0, end)
        assert told.startswith(f"The {end} of y is {parts.scores[0, place]:.2f}"[:-1])
        assert "x2 = " in told
    assert parts.sentence(0) == parts.sentence(0, "median")
    effect = feature_effect(model, "x2")
    rises = effect.answers[-1] - effect.answers[0]
    assert rises[0] < -0.5 < 0.5 < rises[2]
    assert [line.get_text() for line in model.plot_effect("x2").get_legend().get_texts()] == [
        "lower end",
        "median",
        "upper end",
    ]
    assert "the interval of y" in model.report().html


def test_sources_get_a_column_for_each_end(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X, y = make_table(500)
    columns = {f"x{j}": X[:, j] for j in range(3)} | {"y": y}
    pq.write_table(pa.table(columns), tmp_path / "table.parquet", row_group_size=100)
    stored = ParquetTable(tmp_path / "table.parquet")
    plain, again = regressor(**SMALL).fit(X, y), regressor(**SMALL).fit(stored, "y")
    found = again.predict_interval(stored).read_all()
    assert found.column_names == ["lower", "upper"]
    ends = np.column_stack([found["lower"], found["upper"]])
    np.testing.assert_array_equal(ends, plain.predict_interval(X))


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.5, 90, "much"])
def test_a_coverage_that_makes_no_sense_is_refused(coverage):
    X, y = make_table(50)
    model = regressor(coverage=coverage)
    with pytest.raises((ValueError, TypeError), match="coverage must be"):
        model.fit(X, y)
    assert not hasattr(model, "ledger_")


@pytest.mark.filterwarnings("ignore::dpforest.LittleSignalWarning")
@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("n", [200, 500, 1_500])
def test_with_little_signal_intervals_are_wide_rather_than_wrong(delta, n):
    """Means of twelve fits, of which each may be off by some hundredths by chance."""
    features = tuple(NumericFeature(name, 0, 1) for name in "abc")
    schema = Schema(features, Target(low=-10.0, high=10.0))
    held = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.random((n + 2_000, 3))
        y = 2.0 * X[:, 0] + np.sin(3.0 * X[:, 1]) + rng.normal(0, 0.5, len(X))
        model = PrivateIntervalRegressor(schema=schema, delta=delta, random_state=seed)
        low, high = model.fit(X[:n], y[:n]).predict_interval(X[n:]).T
        held.append(((low <= y[n:]) & (y[n:] <= high)).mean())
    assert np.mean(held) > 0.85
    assert np.min(held) > 0.6
