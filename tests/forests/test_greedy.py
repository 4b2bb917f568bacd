"""Greedy forests: what they spend, what they promise, and that they learn."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dpforest import (
    BudgetExceededError,
    CategoricalFeature,
    GreedyForestClassifier,
    NumericFeature,
    Schema,
    Target,
    datasets,
    literature,
    load_model,
)
from dpforest.audit.exhaustive import exhaust
from dpforest.forests import greedy_phase
from dpforest.privacy import greedy_splits, leaves
from dpforest.privacy.accounts.tree_sampling import TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.greedy_choices import Rule
from dpforest.privacy.mechanisms.scores import score_of
from dpforest.records.local import LocalStore
from dpforest.trees.level_budgets import LEVEL_BUDGETS, share_out

CRITERIA = ["gini", "information_gain", "max", "f_max"]
SMALL = Schema(
    (CategoricalFeature("a", (0, 1)), CategoricalFeature("b", (0, 1))), Target(classes=(0, 1))
)
EVERY_RECORD = list(itertools.product((0, 1), repeat=3))


@pytest.fixture(scope="module")
def census():
    return datasets.make_census(4_000, random_state=0)


def fitted(census, **settings):
    model = GreedyForestClassifier(schema=census.schema, random_state=0, **settings)
    return model.fit(census.X, census.y)


@pytest.mark.parametrize("sampling", ["shared", "disjoint", "without_replacement"])
@pytest.mark.parametrize("level_budget", LEVEL_BUDGETS)
@pytest.mark.parametrize("leaves", ["label", "counts"])
def test_the_whole_budget_is_spent_and_no_more(census, sampling, level_budget, leaves):
    forest = fitted(
        census, sampling=sampling, level_budget=level_budget, leaves=leaves, n_estimators=3,
        max_depth=3, epsilon=2.0,
    )  # fmt: skip
    assert forest.ledger_.epsilon == pytest.approx(2.0, abs=1e-9)
    assert forest.ledger_.epsilon <= 2.0
    assert forest.ledger_.guarantee.epsilon == pytest.approx(2.0, abs=1e-9)


@pytest.mark.parametrize("settings", [
    {"splits": "binary"},
    {"level_budget": "hou", "stopping": "noisy_counts"},
    {"level_budget": "hou", "stopping": "noisy_counts", "align": False},
    {"level_budget": "cube_root", "stopping": None, "align": False},
    {"splits": "binary", "stopping": None, "selection": "exponential"},
    {"align": False},
    {"max_features": "sqrt", "voting": "majority"},
    {"max_features": 2, "stopping": None},
    {"neighbors": "replace_one"},
    {"leaves": "counts", "voting": "weighted"},
    {"sampling": "without_replacement", "sample_share": 0.3, "second_phase": 0.4},
    {"min_support": 0, "max_bins": 3},
    *({"criterion": criterion} for criterion in CRITERIA),
], ids=str)  # fmt: skip
def test_every_setting_spends_epsilon_and_beats_a_coin(census, settings):
    forest = fitted(census, epsilon=4.0, **settings)
    assert forest.ledger_.epsilon == pytest.approx(4.0, abs=1e-9)
    assert forest.ledger_.guarantee is not None
    assert forest.score(census.X, census.y) > 0.6


def test_it_learns_what_can_be_learnt(census):
    majority = np.bincount(np.unique(census.y, return_inverse=True)[1]).max() / len(census.y)
    assert fitted(census, epsilon=8.0).score(census.X, census.y) > majority + 0.02


@pytest.mark.parametrize("criterion", CRITERIA)
def test_without_noise_the_root_takes_the_best_attribute(criterion):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, (500, 5))
    y = ((X[:, 2] + rng.integers(0, 2, 500)) > 2).astype(int)
    features = tuple(CategoricalFeature(f"x{j}", (0, 1, 2, 3)) for j in range(5))
    forest = GreedyForestClassifier(
        epsilon=math.inf, schema=Schema(features, Target(classes=(0, 1))), n_estimators=1,
        sampling="shared", max_depth=1, criterion=criterion, random_state=0,
    ).fit(X, y)  # fmt: skip
    tables = [pd.crosstab(X[:, j], y).to_numpy() for j in range(5)]
    best = np.argmax([score_of(criterion, 1000).of_children(t).sum() for t in tables])
    assert forest.forest_.feature[0] == best == 2
    # Its leaves are the most frequent classes.
    assert np.array_equal(forest.predict(X), tables[2].argmax(axis=1)[X[:, 2]])


def test_a_node_that_gains_nothing_stops_without_noise():
    X = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (50, 1))
    y = np.zeros(200, int)
    settings = {"epsilon": math.inf, "schema": SMALL, "n_estimators": 1, "max_depth": 2}
    for splits in ("multiway", "binary"):
        grown = GreedyForestClassifier(**settings, splits=splits, stopping=None).fit(X, y)
        stopped = GreedyForestClassifier(**settings, splits=splits).fit(X, y)
        assert stopped.forest_.n_leaves == 1 < grown.forest_.n_leaves


def test_auto_pays_for_a_count_unless_it_is_hinted(census):
    paid = fitted(census)
    assert "number of records" in paid.ledger_.explain()
    hinted = fitted(census, n_hint=4_000)
    assert "number of records" not in hinted.ledger_.explain()
    assert hinted.ledger_.epsilon == paid.ledger_.epsilon == 1.0
    nothing_to_know = fitted(census, n_estimators=2, max_depth=2, min_support=0)
    assert "number of records" not in nothing_to_know.ledger_.explain()


def test_missing_and_unseen_values_are_predicted(gaps):
    X, y, schema = gaps
    for splits in ("multiway", "binary"):
        forest = GreedyForestClassifier(
            epsilon=8.0, schema=schema, splits=splits, n_estimators=3, random_state=0
        ).fit(X, y)
        assert forest.score(X, y) > 0.75
        assert forest.predict_proba(X).shape == (900, 2)


def test_saved_models_predict_the_same(tmp_path, census):
    forest = fitted(census, leaves="counts")
    forest.save(tmp_path / "model.dpforest")
    again = load_model(tmp_path / "model.dpforest")
    assert np.array_equal(again.predict_proba(census.X), forest.predict_proba(census.X))
    assert again.ledger_.guarantee == forest.ledger_.guarantee


def test_persons_are_protected_with_groups(census):
    groups = np.arange(len(census.y)) // 2
    forest = GreedyForestClassifier(
        schema=census.schema, max_records_per_group=2, random_state=0, n_estimators=2, max_depth=2
    ).fit(census.X, census.y, groups=groups)
    assert "person" in str(forest.ledger_.guarantee)


@pytest.mark.parametrize(("settings", "message"), [
    ({"criterion": "entropy"}, "criterion"),
    ({"selection": "best"}, "selection"),
    ({"level_budget": "odd"}, "level_budget"),
    ({"stopping": "pure"}, "stopping"),
    ({"sampling": "bootstrap"}, "sampling"),
    ({"splits": "ternary"}, "splits"),
    ({"sample_share": 0}, "sample_share"),
    ({"sample_share": 1.5}, "sample_share"),
    ({"second_phase": 0.5}, "without_replacement"),
    ({"second_phase": -1}, "second_phase"),
    ({"second_phase": 1.0, "sampling": "without_replacement"}, "first phase"),
    ({"second_phase": 0.5, "n_estimators": 1, "sampling": "without_replacement"}, "first phase"),
    ({"max_features": "log2"}, "sqrt"),
    ({"max_depth": 5_000, "n_estimators": 2, "splits": "binary"}, "leaves"),
    ({"n_estimators": 10**9}, "leaves"),
    ({"min_support": -1}, "min_support"),
    ({"n_bound": 1}, "n_bound"),
    ({"n_bound": 1 << 40, "criterion": "information_gain"}, "n_bound"),
    ({"max_features": 0}, "max_features"),
    ({"max_depth": 40, "splits": "binary"}, "leaves"),
    ({"voting": "most_confident"}, "voting"),
    ({"align": "yes"}, "align"),
    ({"stopping": "noisy_counts"}, "level_budget with noisy_counts"),
    ({"leaves": "mean"}, "leaves"),
])  # fmt: skip
def test_bad_parameters_are_refused_before_anything_is_read(settings, message):
    with pytest.raises(ValueError, match=message):
        GreedyForestClassifier(**settings).fit(None, None)


@pytest.mark.parametrize("settings", [
    {"sampling": "without_replacement", "sample_share": 1 / 700},
    {"sampling": "without_replacement", "sample_share": 1e-300},
    {"sampling": "without_replacement", "second_phase": 0.01, "n_estimators": 3},
    {"max_depth": 2_000, "level_budget": "cube_root"},
    {"n_estimators": 3_000, "max_depth": 3, "min_support": 0, "stopping": None},
    {"splits": "binary", "max_depth": "auto", "n_estimators": "auto"},
    {"splits": "binary", "max_depth": 20, "n_hint": 10**6},
], ids=str)  # fmt: skip
def test_odd_settings_fit_within_the_budget(settings):
    wide = Schema(
        tuple(CategoricalFeature(f"x{j}", tuple(range(60))) for j in range(3)),
        Target(classes=(0, 1)),
    )
    X = np.random.default_rng(0).integers(0, 60, (300, 3))
    forest = GreedyForestClassifier(schema=wide, random_state=0, **settings).fit(X, X[:, 0] % 2)
    assert forest.ledger_.epsilon == pytest.approx(1.0, abs=1e-9)


def test_numbers_of_numpy_are_saved(tmp_path, census):
    forest = fitted(census, n_estimators=np.int64(3), max_depth=np.int64(2))
    forest.save(tmp_path / "model.dpforest")
    assert load_model(tmp_path / "model.dpforest").n_estimators == 3


def test_nothing_is_totalled_before_it_is_debited(census, monkeypatch):
    seen = []
    total = LocalStore.total

    def watched(store, statistic):
        seen.append(ledger.epsilon)
        return total(store, statistic)

    def opened(desk, store, ledger_, draws):
        nonlocal ledger
        ledger = ledger_
        make(desk, store, ledger_, draws)

    ledger, make = None, Desk.__init__
    monkeypatch.setattr(Desk, "__init__", opened)
    monkeypatch.setattr(LocalStore, "total", watched)
    shape = {"n_estimators": 2, "max_depth": 3, "min_support": 0}
    fitted(census, level_budget="hou", stopping="noisy_counts", **shape)
    assert len(seen) == 7  # counts and choices of three levels, and the leaves
    assert seen == sorted(set(seen))
    assert seen[0] > 0


def test_a_spent_budget_is_refused_before_the_records_are_seen(census, monkeypatch):
    def never(*_):
        raise AssertionError("the records were totalled")

    monkeypatch.setattr(LocalStore, "total", never)
    modest = greedy_splits.choose_attributes

    def ask_for_too_much(desk, question, n_classes, rule, span, sampling):
        return modest(desk, question, n_classes, rule, span._replace(after=99), sampling)

    monkeypatch.setattr(greedy_phase, "choose_attributes", ask_for_too_much)
    with pytest.raises(BudgetExceededError):
        fitted(census, n_estimators=2, max_depth=2, min_support=0)


@pytest.mark.parametrize("name", ["dpgdf", "dprf_hou"])
def test_trees_of_recipes_with_counts_stop_on_public_facts_only(census, name):
    # With one record every noisy count is within its noise, and a tree that asks would stop.
    shape = {"n_estimators": 50, "max_depth": 2, "schema": census.schema, "random_state": 0}
    forest = literature.make(name, **shape).fit(census.X[:1], census.y[:1]).forest_
    assert (np.diff(forest.leaf_offsets) > 1).all()
    stopping = {"stopping": "noisy_counts"}
    forest = literature.make(name, **shape, **stopping).fit(census.X[:1], census.y[:1]).forest_
    assert (np.diff(forest.leaf_offsets) == 1).mean() > 0.5


@pytest.mark.parametrize("scheme", ["hou", "cube_root"])
def test_leaves_have_the_share_of_their_level(census, monkeypatch, scheme):
    asked = []
    release = leaves.leaf_counts
    monkeypatch.setattr(
        greedy_phase, "leaf_counts", lambda desk, q: asked.append(q) or release(desk, q)
    )
    settings = {"level_budget": scheme, "align": False, "stopping": None, "leaves": "counts"}
    forest = fitted(census, n_estimators=2, max_depth=3, min_support=0, **settings)
    (question,) = asked
    assert {1, 2, 3} == set(question.level)  # missing and unseen values end a way
    shares = share_out(scheme, 3)
    prices = [float(span.price) for span in question.spans]
    assert prices == pytest.approx([float(share) for share in shares.counts])
    assert forest.ledger_.epsilon == pytest.approx(1.0, abs=1e-9)


SMALL_FORESTS = {  # settings, and the size of the largest table
    "one tree": ({}, 2),
    "two levels": ({"max_depth": 2, "stopping": None}, 2),
    "two levels, not aligned": ({"max_depth": 2, "align": False}, 2),
    "exponential": ({"selection": "exponential"}, 2),
    "no stopping": ({"stopping": None}, 3),
    "counts": ({"leaves": "counts"}, 3),
    "leaves of a level": (
        {"level_budget": "cube_root", "align": False, "max_depth": 2, "stopping": None},
        2,
    ),
    "binary": ({"splits": "binary"}, 2),
    "two trees, shared": ({"n_estimators": 2, "sampling": "shared"}, 2),
    "samples": ({"sampling": "without_replacement", "sample_share": 0.5}, 2),
    "replaced records": ({"neighbors": "replace_one"}, 2),
    **{criterion: ({"criterion": criterion, "n_bound": 4}, 2) for criterion in CRITERIA},
}


def small_forest(**settings):
    shape = {"n_estimators": 1, "max_depth": 1, "min_support": 0, "random_state": 3}
    return GreedyForestClassifier(**{"epsilon": 0.7, "schema": SMALL, **shape, **settings})


# How near tables of so few records come to the claim; noise comes all the way.
NEAR = {"counts": 0.999, "two trees, shared": 0.87, "leaves of a level": 0.45, "samples": 0.53}


@pytest.mark.parametrize("name", SMALL_FORESTS)
def test_whole_forests_keep_their_promise_on_every_pair_of_small_tables(name):
    settings, most = SMALL_FORESTS[name]
    report = exhaust(small_forest(**settings), EVERY_RECORD, most=most)
    assert report.holds
    assert report.worst_loss > NEAR.get(name, 0.66) * 0.7


ONE_FEATURE = Schema((NumericFeature("a", 0, 1, integer=True),), Target(classes=(0, 1)))


@pytest.mark.parametrize("settings", [
    {"sampling": "disjoint"},
    {"sampling": "without_replacement", "sample_share": 1.0, "second_phase": 0.5},
], ids=str)  # fmt: skip
def test_two_trees_keep_their_promise(settings):
    forest = small_forest(n_estimators=2, stopping=None, schema=ONE_FEATURE, **settings)
    report = exhaust(forest, list(itertools.product((0, 1), repeat=2)), most=2)
    assert report.holds
    assert report.worst_loss > 0.66 * 0.7


def broken_rule(rule, utilities, epsilon, draws):
    """A choice with twice the epsilon that was paid for."""
    return choose(rule, utilities, 2 * epsilon, draws)


def broken_span(desk, span, sampling):
    """A leaf that forgets what its way has spent."""
    return noise_within(desk, span._replace(before=Fraction(0)), sampling)


choose, noise_within = Rule.choose, leaves.noise_within


@pytest.mark.parametrize(("where", "name", "broken"), [
    (Rule, "choose", broken_rule),
    (leaves, "noise_within", broken_span),
])  # fmt: skip
def test_a_broken_forest_is_caught(monkeypatch, where, name, broken):
    monkeypatch.setattr(where, name, broken)
    assert not exhaust(small_forest(leaves="counts"), EVERY_RECORD, most=3).holds


def test_the_second_phase_draws_harder_samples_at_the_share_that_is_priced(census, monkeypatch):
    harder, phases = [], []
    draw, grow = Desk.draw_harder_samples, greedy_phase.Phase.grow

    def watched(desk, sampling, forest, votes):
        harder.append((sampling, forest.n_trees, len(votes) == forest.n_leaves))
        draw(desk, sampling, forest, votes)

    monkeypatch.setattr(Desk, "draw_harder_samples", watched)
    monkeypatch.setattr(
        greedy_phase.Phase,
        "grow",
        lambda phase, grower: phases.append(phase) or grow(phase, grower),
    )
    settings = {"sampling": "without_replacement", "sample_share": 0.3, "second_phase": 0.4}
    fitted(census, n_estimators=5, max_depth=2, min_support=0, **settings)
    first, second = phases
    assert first.sampling == TreeSampling("without_replacement", 3, Fraction(3, 10))
    assert second.sampling == TreeSampling("without_replacement", 2, Fraction(3, 10))
    assert harder == [(second.sampling, 3, True)]
    assert first.epsilon + second.epsilon == 1
