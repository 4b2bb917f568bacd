"""Where a classifier is one rule: what it costs, what it says, and when there is none."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dpforest import (
    Budget,
    CategoricalFeature,
    NumericFeature,
    PrivateForestClassifier,
    Schema,
    Target,
)
from dpforest.forests import one_rule
from dpforest.forests.one_rule import (
    is_any_rule_seldom_wrong,
    right_share,
    score_weights,
)
from dpforest.losses.logistic import clipped_logistic
from dpforest.privacy.accounts.spends import Pure
from dpforest.privacy.desk import Released
from dpforest.privacy.rule_choice import Rule
from dpforest.trees.structure import FeatureBins

FEATURES = (
    NumericFeature("a", 0, 1),
    NumericFeature("b", 0, 1),
    CategoricalFeature("c", ("x", "y", "z")),
)
SCHEMA = Schema(FEATURES, Target(classes=("no", "yes")))
THREE = Schema(FEATURES, Target(classes=("no", "maybe", "yes")))


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    X = np.empty((n, 3), object)
    X[:, 0], X[:, 1] = rng.random(n), rng.random(n)
    X[:, 2] = rng.choice(["x", "y", "z"], n)
    return X


def fit(X, y, schema=SCHEMA, **options):
    settings = {"epsilon": 0.1, "random_state": 0, **options}
    return PrivateForestClassifier(schema=schema, **settings).fit(X, y)


pytestmark = pytest.mark.filterwarnings("ignore::dpforest.LittleSignalWarning")


@pytest.mark.parametrize("options", [{}, {"n_hint": 300}, {"delta": 0.0}, {"epsilon": 0.02}])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
def test_a_rule_spends_the_budget_and_no_more(options, neighbors):
    X = draw(300)
    forest = fit(X, np.where(X[:, 0] > 0.5, "yes", "no"), neighbors=neighbors, **options)
    epsilon = options.get("epsilon", 0.1)
    assert 0.98 * epsilon < forest.ledger_.epsilon <= epsilon
    assert "choice of a rule" in forest.ledger_.explain()
    assert "bins" not in forest.ledger_.explain()
    assert forest.plan_.n_trees == 0


def test_it_finds_what_one_feature_or_a_sum_tells():
    """At a signal where sums of gradients drown; means of 10 fits."""
    X, fresh = draw(800), draw(2_000, 1)
    for truth in (lambda X: X[:, 0] > 0.6, lambda X: X[:, 2] == "y", lambda X: X[:, 0] > X[:, 1]):
        y, expected = np.where(truth(X), "yes", "no"), np.where(truth(fresh), "yes", "no")
        scores = [fit(X, y, random_state=s).score(fresh, expected) for s in range(10)]
        assert np.mean(scores) > 0.85


def test_with_nothing_to_learn_it_says_the_most_frequent_class():
    """Or a rule that is nearly as often right; mean of 10 fits, where that class has 0.8."""
    X = draw(300)
    y = np.where(np.arange(300) % 5 > 0, "yes", "no")
    assert np.mean([fit(X, y, random_state=s).score(X, y) for s in range(10)]) > 0.76


def test_three_classes_are_told_by_two_of_them():
    """Mean of 10 fits; a rule cannot tell the tenth that is neither."""
    X = draw(900)
    y = np.select([X[:, 0] < 0.45, X[:, 0] > 0.55], ["no", "yes"], "maybe")
    forests = [fit(X, y, THREE, random_state=s) for s in range(10)]
    assert np.mean([forest.score(X, y) for forest in forests]) > 0.8
    forest = forests[0]
    probabilities = forest.predict_proba(X)
    assert_array_equal(forest.classes_[probabilities.argmax(axis=1)], forest.predict(X))
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(900))


def test_missing_and_unseen_values_have_a_side():
    X = draw(300)
    forest = fit(X, np.where(X[:, 0] > 0.5, "yes", "no"))
    X[:100, 0], X[100:, 2] = np.nan, "never seen"
    assert set(forest.predict(X)) <= {"yes", "no"}


def test_who_asks_for_trees_or_weighs_records_gets_no_rule():
    X = draw(300)
    y = np.where(X[:, 0] > 0.5, "yes", "no")
    for options in ({"max_depth": 1}, {"n_estimators": 4}, {"epsilon": math.inf}):
        assert "rule" not in fit(X, y, **options).ledger_.explain()
    weighted = PrivateForestClassifier(schema=SCHEMA, epsilon=0.1, max_sample_weight=1.0)
    weighted.fit(X, y, sample_weight=np.ones(300))
    assert "rule" not in weighted.ledger_.explain()


def test_a_shared_budget_pays_for_a_rule_by_the_gaussian_noise_set_aside(tmp_path):
    X = draw(300)
    path = tmp_path / "budget.db"
    Budget.create(path, epsilon=1, delta=1e-5, table="t")
    forest = fit(X, np.where(X[:, 0] > 0.5, "yes", "no"), random_state=None, budget=path)
    assert "choice of a rule" in forest.ledger_.explain()
    assert forest.ledger_.stages[-1].total.epsilon == 0
    assert forest.ledger_.epsilon <= 0.1


def test_a_rule_may_go_on_with_trees():
    X = draw(400)
    y = np.where(X[:, 0] > 0.5, "yes", "no")
    forest = fit(X, y, warm_start=True)
    first = forest.forest_.trees.n_trees
    forest.set_params(epsilon=2.0).fit(X, y)
    assert forest.forest_.trees.n_trees > first
    assert forest.score(X, y) > 0.8


def test_it_keeps_to_monotone_constraints():
    X = draw(300)
    y = np.where(X[:, 0] < 0.5, "yes", "no")
    forest = fit(X, y, monotone_constraints={"a": 1})
    line = X[:50].copy()
    line[:, 1:] = line[0, 1:]
    line[:, 0] = np.linspace(0, 1, 50)
    assert (np.diff(forest.predict_proba(line)[:, 1]) >= -1e-9).all()


def test_it_explains_and_saves_itself(tmp_path):
    X = draw(600)
    y = np.where(X[:, 1] > 0.5, "yes", "no")
    forest = fit(X, y)
    assert forest.feature_importances_.argmax() == 1
    assert forest.contributions(X[:3]) is not None
    forest.save(tmp_path / "rule.dpforest")
    again = PrivateForestClassifier.load(tmp_path / "rule.dpforest")
    assert_array_equal(again.predict_proba(X), forest.predict_proba(X))


def test_a_rule_is_as_sure_as_its_noisy_counts():
    assert right_share(Released(np.array([900.0, 100.0]), 1.0), 2) == pytest.approx(0.9, abs=0.001)
    assert right_share(Released(np.array([-500.0, -500.0]), 1e6), 2) == pytest.approx(0.75)
    assert right_share(Released(np.array([0.0, 500.0]), 1.0), 2) > 0.5
    assert right_share(Released(np.array([500.0, 0.0]), 0.0), 3) < 1.0


@pytest.mark.parametrize("right", [0.51, 0.7, 0.95])
def test_at_a_typical_margin_the_class_has_the_share_of_right(right):
    margin = np.array([[0.0, 1.0]])  # of a record that is above, by one feature
    score = score_weights(Rule(1, 0, 0, 1), margin, 2, right, 1.0)[0, 1]
    assert clipped_logistic(np.array(score)) == pytest.approx(right)
    weights = score_weights(Rule(1, 0, 0, 2), margin, 4, right, 1.0)
    # The constant is 1 for every record.
    scores = np.exp(weights @ np.array([1.0, 1.0]))
    assert scores[2] / scores.sum() == pytest.approx(right)


@pytest.mark.parametrize(
    "options", [{}, {"neighbors": "replace_one"}, {"max_records_per_group": 1}]
)
def test_a_trial_keeps_a_rule_that_is_seldom_wrong_and_no_other(options):
    """At a signal where trees could learn; both spend the budget and no more."""
    X = draw(2_000)
    flipped = np.random.default_rng(1).random(2_000) < 0.2
    kept = X[:, 0].astype(float) > 0.5
    for truth, is_rule in ((kept, True), (kept ^ flipped, False)):
        groups = np.arange(2_000) if "max_records_per_group" in options else None
        y = np.where(truth, "yes", "no")
        forest = PrivateForestClassifier(schema=SCHEMA, random_state=0, epsilon=0.7, **options)
        forest.fit(X, y, groups=groups)
        assert (forest.plan_.n_trees == 0) == is_rule
        assert 0.69 < forest.ledger_.epsilon <= 0.7
        tried = ["rule" in entry.label for entry in forest.ledger_.entries]
        assert sum(tried) == (3 if is_rule else 1)
        assert forest.score(X, y) > (0.95 if is_rule else 0.7)


@pytest.mark.parametrize(("n_features", "sums"), [(6, True), (7, False)])
@pytest.mark.parametrize("beyond", [-0.5, 0.5])
def test_of_many_features_no_sums_are_tried(monkeypatch, n_features, sums, beyond):
    tried = []

    def errors(desk, scales, n_classes, allowed, price):
        tried.append(scales.steps.any(axis=2).sum(axis=1).max() > 1)
        assert allowed == pytest.approx((60.0, 150.0))
        return Released(np.array([beyond]), 1.0)

    monkeypatch.setattr(one_rule, "count_errors_beyond", errors)
    bins = FeatureBins(
        np.full(n_features, 3), np.full(n_features, 4), np.zeros(n_features, np.bool_)
    )
    known = bins, (None,) * n_features, 2, Pure(Fraction(1, 10)), np.random.default_rng(0), 1_000.0
    assert is_any_rule_seldom_wrong(None, *known) == (beyond < 0)
    assert tried == [sums]


@pytest.mark.parametrize("second", [0, 20])
def test_a_class_for_all_is_no_rule_that_is_kept(second):
    """Nearly all are of one class: a model that says so would tell nothing of the others."""
    X = draw(2_000)
    y = np.where(np.arange(2_000) < second, "yes", "no")
    assert fit(X, y, epsilon=0.7).plan_.n_trees > 0
