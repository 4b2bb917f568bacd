"""Weights of classes and of records: what they mean, what they cost, what is refused."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import recall_score, roc_auc_score

from dpforest import (
    GreedyForestClassifier,
    MedianForestClassifier,
    NumericFeature,
    PrivateForestClassifier,
    PrivateForestRegressor,
    RandomDecisionForestClassifier,
    Schema,
    SchemaError,
    Target,
    load_model,
)
from dpforest.forests.class_weights import balanced_weights, score_shift, weigh
from dpforest.losses import Logistic, Softmax

N = 20_000
FEATURES = tuple(NumericFeature(f"x{j}", 0, 1) for j in range(4))
TREES = {"n_estimators": 60, "max_depth": 3}
FORESTS = [
    PrivateForestClassifier(n_estimators=100),
    PrivateForestClassifier(n_estimators=20, delta=0.0),
    RandomDecisionForestClassifier(n_estimators=10, max_depth=5),
    MedianForestClassifier(n_estimators=5, max_depth=4),
    GreedyForestClassifier(n_estimators=5, leaves="counts"),
]


def table(n=N, classes=("no", "yes"), seed=0):
    """One in twenty is of the second class."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    rare = rng.random(n) < expit(8 * (X[:, 0] + X[:, 1] - 1) - 6)
    y = np.array(classes)[rare.astype(int)]
    if len(classes) > 2:
        y[rng.random(n) < 0.3] = classes[2]
    return X, y, Schema(FEATURES, Target(classes=classes))


@pytest.mark.parametrize("forest", FORESTS, ids=lambda f: type(f).__name__)
def test_balanced_classes_are_recalled_alike(forest):
    X, y, schema = table()
    forest.set_params(schema=schema, random_state=1, n_hint=N, class_weight=None)
    plain = forest.fit(X, y).predict(X)
    spent = forest.ledger_.epsilon
    forest.set_params(class_weight="balanced").fit(X, y)
    weighted = forest.predict(X)
    assert recall_score(y, plain, pos_label="yes") < 0.5
    assert recall_score(y, weighted, pos_label="yes") > 0.5
    assert recall_score(y, weighted, pos_label="no") > 0.5
    assert forest.ledger_.epsilon == pytest.approx(spent)
    assert "records of each class" in forest.ledger_.explain()
    exact = len(y) / (2 * np.array([(y == label).sum() for label in forest.classes_]))
    np.testing.assert_allclose(forest.class_weights_, exact, rtol=0.4)


@pytest.mark.parametrize("classes", [("no", "yes"), (0, 1, 2)])
@pytest.mark.parametrize("epsilon", [1.0, np.inf])
def test_weights_of_classes_change_no_release_and_keep_the_order(classes, epsilon, tmp_path):
    X, y, schema = table(3_000, classes)
    options = {"schema": schema, "epsilon": epsilon, "random_state": 0, **TREES}
    plain = PrivateForestClassifier(**options).fit(X, y)
    weights = {classes[1]: 6.0}
    forest = PrivateForestClassifier(class_weight=weights, **options).fit(X, y)
    np.testing.assert_array_equal(forest.forest_.values, plain.forest_.values)
    assert forest.ledger_.entries == plain.ledger_.entries
    expected = weigh(plain.predict_proba(X), forest.class_weights_)
    np.testing.assert_allclose(forest.predict_proba(X), expected)
    # What is predicted is the most probable class, and the decision says so too.
    probabilities = forest.predict_proba(X)
    clear = np.sort(probabilities, axis=1)[:, -2:] @ [-1, 1] > 1e-6
    most = forest.classes_[probabilities.argmax(axis=1)]
    np.testing.assert_array_equal(forest.predict(X)[clear], most[clear])
    decision = forest.decision_function(X)
    if len(classes) == 2:
        np.testing.assert_array_equal(forest.classes_[(decision > 0) * 1][clear], most[clear])
        scores = [roc_auc_score(y, f.predict_proba(X)[:, 1]) for f in (plain, forest)]
        assert scores[0] == pytest.approx(scores[1])
    else:
        np.testing.assert_array_equal(forest.classes_[decision.argmax(axis=1)][clear], most[clear])
    *_, last = forest.staged_predict(X)
    np.testing.assert_array_equal(last, forest.predict(X))
    forest.save(tmp_path / "m.dpforest")
    again = load_model(tmp_path / "m.dpforest")
    assert again.class_weight == weights
    np.testing.assert_array_equal(again.predict_proba(X), forest.predict_proba(X))


def test_a_continued_model_keeps_its_weights():
    X, y, schema = table(2_000)
    forest = PrivateForestClassifier(
        schema=schema, warm_start=True, class_weight="balanced", random_state=0, **TREES
    )
    first = forest.fit(X, y).class_weights_
    np.testing.assert_array_equal(forest.fit(X, y).class_weights_, first)
    assert forest.ledger_.explain().count("records of each class") == 1


@pytest.mark.parametrize("loss", [Logistic(), Softmax(3)])
@pytest.mark.parametrize("clipped", [True, False])
def test_shifted_scores_are_where_weighted_classes_are_equally_probable(loss, clipped):
    weights = np.array([0.3, 2.0, 1.7])[: max(loss.n_outputs, 2)]
    shift = score_shift(weights, clipped)
    probabilities = weigh(loss.predictions(-shift[:, None], clipped), weights)
    np.testing.assert_allclose(probabilities, 1 / len(weights))


def test_a_class_that_drowns_in_noise_has_a_finite_weight():
    weights = balanced_weights(np.array([500.0, -80.0, 3.0]), deviation=40.0)
    assert (weights > 0).all()
    assert weights[1] == weights[2] == pytest.approx(580 / 120)


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ({"maybe": 2.0}, SchemaError, "not among the declared"),
        ({1: 2.0}, SchemaError, "not among the declared"),
        ({"yes": -1.0}, ValueError, "positive, finite"),
        ({"yes": 0.0}, ValueError, "positive, finite"),
        ({"yes": np.nan}, ValueError, "positive, finite"),
        ("even", TypeError, "'balanced' or None"),
        ([1, 2], TypeError, "dictionary"),
    ],
)
def test_other_weights_of_classes_are_refused_before_anything_is_spent(weights, error, message):
    X, y, schema = table(50)
    forest = PrivateForestClassifier(schema=schema, class_weight=weights)
    with pytest.raises(error, match=message):
        forest.fit(X, y)
    assert not hasattr(forest, "ledger_")


@pytest.mark.parametrize(
    "kind", [GreedyForestClassifier, MedianForestClassifier, RandomDecisionForestClassifier]
)
def test_labels_of_leaves_have_nothing_to_weigh(kind):
    X, y, schema = table(50)
    with pytest.raises(ValueError, match="leaves='counts'"):
        kind(schema=schema, leaves="label", class_weight="balanced").fit(X, y)


def numbers(n=8_000, seed=0):
    """Two populations with opposite slopes."""
    rng = np.random.default_rng(seed)
    X, first = rng.random((n, 4)), rng.random(n) < 0.5
    y = np.where(first, X[:, 0], 1 - X[:, 0])
    return X, y, first, Schema(FEATURES, Target(low=0, high=1))


def test_records_without_weight_do_not_count():
    X, y, first, schema = numbers()
    options = {"schema": schema, "random_state": 0, "max_sample_weight": 2.0, "n_hint": 8_000}
    for whom in (first, ~first):
        forest = PrivateForestRegressor(**options).fit(X, y, sample_weight=2.0 * whom)
        assert forest.score(X[whom], y[whom]) > 0.8
        assert forest.score(X[~whom], y[~whom]) < 0
        assert forest.total_weight_ == pytest.approx(4_000, rel=0.1)


def test_weights_of_records_are_in_units_of_their_bound_and_clipped():
    X, y, schema = table(2_000)
    weights = np.random.default_rng(1).choice([0.5, 2.0, 4.0], len(y))

    def fitted(bound, weights):
        forest = PrivateForestClassifier(
            schema=schema, random_state=0, max_sample_weight=bound, **TREES
        )
        return forest.fit(X, y, sample_weight=weights).forest_.values

    np.testing.assert_array_equal(fitted(4.0, weights), fitted(8.0, 2 * weights))
    np.testing.assert_array_equal(fitted(2.0, weights), fitted(2.0, np.minimum(weights, 2.0)))
    ones = fitted(1.0, np.ones(len(y)))
    assert (fitted(4.0, weights) != ones).any()


def test_weights_of_records_need_a_bound_and_one_that_will_do():
    X, y, schema = table(50)
    ones = np.ones(len(y))
    with pytest.raises(ValueError, match=r"private.*declare max_sample_weight"):
        PrivateForestClassifier(schema=schema).fit(X, y, sample_weight=ones)
    for bound in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="positive and finite"):
            PrivateForestClassifier(schema=schema, max_sample_weight=bound).fit(X, y)
    forest = PrivateForestClassifier(schema=schema, max_sample_weight=1.0)
    with pytest.raises(SchemaError, match="missing, infinite or negative"):
        forest.fit(X, y, sample_weight=-ones)
    assert not hasattr(forest, "ledger_")


def test_only_zeros_give_a_model_that_knows_nothing():
    X, y, schema = table(500)
    forest = PrivateForestClassifier(
        schema=schema, max_sample_weight=1.0, epsilon=np.inf, random_state=0, **TREES
    ).fit(X, y, sample_weight=np.zeros(len(y)))
    np.testing.assert_allclose(forest.predict_proba(X), 0.5)
