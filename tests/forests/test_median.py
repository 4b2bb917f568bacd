"""Median forests: what they spend, what they promise, and that they learn."""

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest

from dpforest import (
    CategoricalFeature,
    MedianForestClassifier,
    MedianForestRegressor,
    NumericFeature,
    Schema,
    Target,
    datasets,
    load_model,
)
from dpforest.audit.exhaustive import exhaust
from dpforest.privacy import leaves, median_splits
from dpforest.privacy.mechanisms import splitting
from dpforest.records.blocks import Block
from dpforest.records.statistics import LeafSums, TargetGrid

CHOICES = ["pay", "joint", "attribute"]
SMALL = Schema(
    (CategoricalFeature("a", (0, 1)), CategoricalFeature("b", (0, 1))), Target(classes=(0, 1))
)


@pytest.fixture(scope="module")
def census():
    return datasets.make_census(4_000, random_state=0)


def classifier(census, **settings):
    return MedianForestClassifier(schema=census.schema, random_state=0, **settings).fit(
        census.X, census.y
    )


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("sampling", ["shared", "disjoint"])
def test_the_whole_budget_is_spent_and_no_more(census, choice, sampling):
    forest = classifier(
        census, choice=choice, sampling=sampling, n_estimators=3, max_depth=3, epsilon=2.0
    )
    assert forest.ledger_.epsilon == 2.0
    assert forest.ledger_.guarantee.epsilon == 2.0
    assert "a level" in forest.ledger_.explain()


@pytest.mark.parametrize("settings", [
    {"leaves": "label", "voting": "majority"},
    {"cuts": "grid", "categories": "one_vs_rest"},
    {"splits": "random"},
    {"neighbors": "replace_one"},
    {"rho": 0.3, "n_candidates": 2},
])  # fmt: skip
def test_every_setting_spends_epsilon_and_beats_a_coin(census, settings):
    forest = classifier(census, epsilon=4.0, **settings)
    assert forest.ledger_.epsilon <= 4.0
    assert forest.ledger_.guarantee is not None
    assert forest.score(census.X, census.y) > 0.6


@pytest.mark.parametrize("choice", CHOICES)
def test_regression_learns_and_spends_epsilon(numbers, choice):
    X, y, schema = numbers
    forest = MedianForestRegressor(epsilon=2.0, schema=schema, choice=choice, random_state=0)
    forest.fit(X, y)
    assert forest.ledger_.epsilon == 2.0
    assert forest.score(X, y) > 0.5
    predicted = forest.predict(X)
    assert predicted.min() >= -1
    assert predicted.max() <= 3


def test_splits_of_regression_pay_for_the_middle_of_the_target(numbers):
    X, y, schema = numbers
    forest = MedianForestRegressor(epsilon=2.0, schema=schema, random_state=0).fit(X, y)
    assert "quartiles of the target" in forest.ledger_.explain()
    blind = MedianForestRegressor(epsilon=2.0, schema=schema, splits="random", random_state=0)
    assert "quartiles" not in blind.fit(X, y).ledger_.explain()


@pytest.mark.parametrize("bounds", [(1e16, 1e16 + 4), (1.0, 1.0 + 2**-52), (0.0, 1e-280)])
def test_a_target_of_few_distinct_numbers_fits(numbers, bounds):
    # The cells of quartiles are narrower than the gaps between numbers of double precision.
    X, _, schema = numbers
    narrow = Schema(schema.features, Target(low=bounds[0], high=bounds[1]))
    y = np.resize(bounds, len(X))
    forest = MedianForestRegressor(epsilon=2.0, schema=narrow, random_state=0).fit(X, y)
    assert forest.ledger_.epsilon == 2.0
    assert (forest.predict(X) >= bounds[0]).all()
    assert (forest.predict(X) <= bounds[1]).all()


def test_median_trees_are_the_limit_without_noise(numbers):
    X, y, schema = numbers
    forest = MedianForestRegressor(
        epsilon=math.inf, schema=schema, choice="pay", sampling="shared", n_estimators=3,
        max_depth=6, random_state=0,
    ).fit(X, y)  # fmt: skip
    assert forest.score(X, y) > 0.9
    assert forest.ledger_.guarantee is None
    counts = leaf_sizes(forest, X, y)
    assert counts.max() / np.median(counts) < 2


def leaf_sizes(forest, X, y):
    total = np.zeros((forest.forest_.n_leaves, 2), np.int64)
    statistic = LeafSums(forest.forest_, TargetGrid(*forest.schema_.target_bounds, 1), "shared")
    statistic.add(Block(forest.encoding_.bins(X), np.asarray(y, float)), total)
    return total[:, 0]


def test_leaves_are_balanced_where_random_splits_are_not(numbers):
    X, y, schema = numbers
    skewed = X**4
    shape = {"epsilon": 10.0, "n_estimators": 5, "max_depth": 4, "sampling": "shared"}
    ratios = {}
    for splits in ("median", "random"):
        forest = MedianForestRegressor(schema=schema, splits=splits, random_state=0, **shape)
        counts = leaf_sizes(forest.fit(skewed, y), skewed, y).reshape(5, 16)
        ratios[splits] = np.median(counts.max(axis=1) / np.maximum(np.median(counts, axis=1), 1))
    assert ratios["median"] < 3 < ratios["random"]


def test_auto_pays_for_a_count_unless_it_is_hinted(census):
    paid = classifier(census)
    assert "number of records" in paid.ledger_.explain()
    hinted = classifier(census, n_hint=4_000)
    assert "number of records" not in hinted.ledger_.explain()
    assert hinted.ledger_.epsilon == paid.ledger_.epsilon == 1.0


def test_missing_and_unseen_values_are_predicted(gaps):
    X, y, schema = gaps
    for categories in ("subset", "one_vs_rest"):
        forest = MedianForestClassifier(
            epsilon=8.0, schema=schema, categories=categories, random_state=0
        ).fit(X, y)
        assert forest.score(X, y) > 0.75
        assert forest.predict_proba(X).shape == (900, 2)


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_saved_models_predict_the_same(tmp_path, census, numbers, kind):
    X, y, schema = numbers
    if kind == "classifier":
        forest, X = classifier(census), census.X
    else:
        forest = MedianForestRegressor(schema=schema, random_state=0).fit(X, y)
    forest.save(tmp_path / "model.dpforest")
    again = load_model(tmp_path / "model.dpforest")
    assert np.array_equal(again.predict(X), forest.predict(X))
    assert again.ledger_.guarantee == forest.ledger_.guarantee


def test_persons_are_protected_with_groups(census):
    groups = np.arange(len(census.y)) // 2
    forest = MedianForestClassifier(
        schema=census.schema, max_records_per_group=2, random_state=0, n_estimators=2, max_depth=2
    ).fit(census.X, census.y, groups=groups)
    assert "person" in str(forest.ledger_.guarantee)


def test_records_are_dealt_once(census, monkeypatch):
    from dpforest.records.local import LocalStore

    dealt = []
    deal = LocalStore.deal
    monkeypatch.setattr(
        LocalStore, "deal", lambda self, n, draw: (dealt.append(n), deal(self, n, draw))
    )
    classifier(census, n_estimators=3, max_depth=4)
    assert dealt == [3]


@pytest.mark.parametrize(("settings", "message"), [
    ({"rho": 1.5}, "rho"),
    ({"choice": "best"}, "choice"),
    ({"n_candidates": 0}, "n_candidates"),
    ({"max_depth": 40}, "leaves"),
    ({"voting": "most_confident"}, "voting"),
])  # fmt: skip
def test_bad_parameters_are_refused_before_anything_is_read(settings, message):
    with pytest.raises(ValueError, match=message):
        MedianForestClassifier(**settings).fit(None, None)


def test_a_fresh_interpreter_loads_any_model(tmp_path, census):
    classifier(census, n_estimators=2, max_depth=2).save(tmp_path / "model.dpforest")
    code = "import sys, dpforest; print(type(dpforest.load_model(sys.argv[1])).__name__)"
    loaded = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "model.dpforest"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert loaded.stdout.strip() == "MedianForestClassifier"


@pytest.mark.parametrize("choice", CHOICES)
def test_whole_forests_keep_their_promise_on_every_pair_of_small_tables(choice):
    forest = MedianForestClassifier(
        epsilon=0.7, schema=SMALL, n_estimators=1, max_depth=1, choice=choice, leaves="label",
        random_state=3,
    )  # fmt: skip
    report = exhaust(forest, list(itertools.product((0, 1), repeat=3)), most=3)
    assert report.holds
    assert report.worst_loss > 0.3


def exhaust_regression(monkeypatch, choice):
    """Quartiles on two cells, splits and leaves in whole steps of the target: the draws are few."""
    monkeypatch.setattr(median_splits, "TARGET_CELLS", 2)
    monkeypatch.setattr(median_splits, "TARGET_STEPS", 1)
    monkeypatch.setattr(leaves, "TARGET_STEPS", 1)
    features = tuple(NumericFeature(name, 0, 1, integer=True) for name in "ab")
    forest = MedianForestRegressor(
        epsilon=0.8, schema=Schema(features, Target(low=0, high=1)), n_estimators=1, max_depth=1,
        choice=choice, random_state=3,
    )  # fmt: skip
    return exhaust(forest, list(itertools.product((0, 1), repeat=3)), most=2)


@pytest.mark.parametrize("choice", CHOICES)
def test_regression_keeps_its_promise_on_every_pair_of_small_tables(choice, monkeypatch):
    report = exhaust_regression(monkeypatch, choice)
    assert report.holds
    assert report.worst_loss > 0.4


def test_control_an_error_eight_times_too_large_is_caught(monkeypatch):
    choose = splitting._choose_attribute
    monkeypatch.setattr(
        splitting,
        "_choose_attribute",
        lambda splits, utility, epsilon, draws: choose(splits, 8 * utility, epsilon, draws),
    )
    assert not exhaust_regression(monkeypatch, "attribute").holds
