"""Effects equal the plain average over every combination of the other features' values."""

import itertools

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dpforest import (
    CategoricalFeature,
    NumericFeature,
    PrivateForestClassifier,
    PrivateForestRegressor,
    Schema,
    Target,
    load_model,
)
from dpforest.report import feature_effect, pair_effect, plot_pair
from dpforest.report.effects import feature_effects, mean_scores

FEATURES = (
    NumericFeature("height", 0, 3, cuts=(1, 2)),
    CategoricalFeature("color", ("red", "green", "blue", "grey")),
    NumericFeature("weight", 0, 10),
)
TARGETS = {
    "two": Target("kind", classes=("no", "yes")),
    "three": Target("kind", classes=("a", "b", "c")),
    "number": Target("size", low=0, high=5),
}


def table(target, n=300):
    rng = np.random.default_rng(0)
    height, weight = rng.random(n) * 3, rng.random(n) * 10
    color = rng.integers(0, 4, n)
    signal = (height > 1) + (color == 2) * (weight > 4)
    X = np.column_stack([height, np.array(FEATURES[1].categories)[color], weight]).astype(object)
    X[:, [0, 2]] = np.column_stack([height, weight])
    y = signal if target.classes is None else np.array(target.classes)[signal % len(target.classes)]
    return X, y


def fitted(kind, **options):
    target = TARGETS[kind]
    estimator = PrivateForestRegressor if target.classes is None else PrivateForestClassifier
    settings = {"epsilon": 5.0, "n_estimators": 12, "trees_per_round": 3} | options
    model = estimator(schema=Schema(FEATURES, target), random_state=0, **settings)
    return model.fit(*table(target))


def weights_of(model):
    return model.bin_shares_


def score(forest, record):
    """The scores of one record, a tree at a time."""
    total = np.zeros(forest.values.shape[1])
    for t, depth in enumerate(forest.trees.depth):
        leaf = 0
        for level in range(depth):
            bin_ = record[forest.trees.feature[t, level]]
            leaf |= int(forest.trees.goes_right[t, level, bin_]) << level
        total += forest.values[t, :, leaf]
    return total


def averaged(model, j):
    """By brute force: every combination of bins, weighted by the product of their shares."""
    weights = weights_of(model)
    sums = np.zeros((model.forest_.values.shape[1], len(weights[j])))
    for record in itertools.product(*(range(len(shares)) for shares in weights)):
        others = [weights[i][b] for i, b in enumerate(record) if i != j]
        sums[:, record[j]] += np.prod(others) * score(model.forest_, record)
    return sums


# Depth 5 asks some of the three features twice in a tree, which breaks independent levels.
@pytest.mark.parametrize("depth", [2, 5])
@pytest.mark.parametrize("kind", TARGETS)
def test_mean_scores_are_the_average_over_all_combinations(kind, depth):
    model = fitted(kind, max_depth=depth)
    for j in range(len(FEATURES)):
        found = mean_scores(model.forest_, j, weights_of(model))
        np.testing.assert_allclose(found, averaged(model, j), atol=1e-6)


def test_trees_of_different_depths():
    model = fitted("two", max_depth=1, warm_start=True)
    model.set_params(max_depth=3).fit(*table(TARGETS["two"]))
    found = mean_scores(model.forest_, 2, weights_of(model))
    np.testing.assert_allclose(found, averaged(model, 2), atol=1e-6)


@pytest.mark.parametrize("kind", TARGETS)
def test_effects_are_answers_at_the_mean_score(kind):
    model = fitted(kind)
    effect = feature_effect(model, "weight")
    scores = mean_scores(model.forest_, 2, weights_of(model))[:, : len(effect.answers)]
    np.testing.assert_array_equal(effect.answers, model.from_scores(scores))
    if kind == "number":
        assert effect.answers.min() >= 0
        assert effect.answers.max() <= 5
    else:
        np.testing.assert_allclose(effect.answers.sum(axis=1), 1)


def test_effects_name_their_bins():
    model = fitted("two")
    height = feature_effect(model, "height")
    assert height.categories is None
    assert height.edges.tolist() == [0, 1, 2, 3]
    color = feature_effect(model, "color")
    assert color.edges is None
    assert color.categories == ("red", "green", "blue", "grey")
    assert len(color.answers) == 4


def test_effects_follow_the_data():
    model = fitted("two", epsilon=float("inf"))
    answers = feature_effect(model, "height").answers[:, 1]
    assert answers[0] < 0.5 < answers[1]


def test_a_loaded_model_has_the_same_effects(tmp_path):
    model = fitted("three")
    model.save(tmp_path / "model.dpforest")
    again = load_model(tmp_path / "model.dpforest")
    expected = feature_effect(model, "color").answers
    np.testing.assert_array_equal(feature_effect(again, "color").answers, expected)


def test_effects_of_many_features_share_the_runs_of_noise(monkeypatch):
    model, runs = fitted("two"), []
    noise_forest = model.noise_forest
    monkeypatch.setattr(model, "noise_forest", lambda: runs.append(1) or noise_forest())
    names = model.schema_.feature_names
    found = feature_effects(model, names)
    assert len(runs) == 1
    for name, effect in zip(names, found, strict=True):
        alone = feature_effect(model, name)
        assert effect.feature == name
        np.testing.assert_array_equal(effect.answers, alone.answers)
        np.testing.assert_array_equal(effect.low, alone.low)


def test_unknown_features_and_unfitted_models_are_refused():
    with pytest.raises(ValueError, match=r"'colour' is not in .*'color'"):
        feature_effect(fitted("two"), "colour")
    with pytest.raises(NotFittedError):
        feature_effect(PrivateForestClassifier(), "color")


@pytest.mark.parametrize("kind", TARGETS)
def test_the_band_holds_the_effect(kind):
    effect = feature_effect(fitted(kind), "weight")
    assert (effect.low <= effect.answers + 1e-12).all()
    assert (effect.answers <= effect.high + 1e-12).all()
    assert (effect.high - effect.low).min() > 0
    exact = feature_effect(fitted(kind, epsilon=float("inf")), "weight")
    np.testing.assert_allclose(exact.low, exact.high)


@pytest.mark.parametrize("seed", range(2))
def test_the_band_of_a_useless_feature_holds_a_flat_line(seed):
    """Two deviations hold 19 of 20 bins, were they independent; three of four are asked for."""
    rng = np.random.default_rng(seed)
    schema = Schema(tuple(NumericFeature(f"x{j}", 0, 1) for j in range(4)), TARGETS["two"])
    model = PrivateForestClassifier(schema=schema, random_state=seed)
    model.fit(rng.random((3000, 4)), np.array(["no", "yes"])[rng.integers(0, 2, 3000)])
    inside = []
    for name in schema.feature_names:
        effect = feature_effect(model, name)
        flat = np.average(effect.answers[:, 1])
        inside += list((effect.low[:, 1] <= flat) & (flat <= effect.high[:, 1]))
    assert np.mean(inside) > 0.75


def test_pairs_are_averages_over_all_combinations_of_the_rest():
    model = fitted("three", max_depth=4)
    weights = weights_of(model)
    joint = np.zeros((3, len(weights[0]), len(weights[1])))
    for record in itertools.product(*(range(len(shares)) for shares in weights)):
        joint[:, record[0], record[1]] += weights[2][record[2]] * score(model.forest_, record)
    effect = pair_effect(model, "height", "color")
    scores = joint[:, :3, :4].reshape(3, -1)
    np.testing.assert_allclose(effect.answers.reshape(12, 3), model.from_scores(scores), atol=1e-6)
    alone = joint @ weights[1], np.einsum("oab,a->ob", joint, weights[0])
    whole = alone[0] @ weights[0]
    expected = joint - alone[0][:, :, None] - alone[1][:, None] + whole[:, None, None]
    np.testing.assert_allclose(effect.interaction, expected[:, :3, :4], atol=1e-6)
    with pytest.raises(ValueError, match="two features"):
        pair_effect(model, "color", "color")
    assert plot_pair(model, "height", "color").get_xlabel() == "height (bin)"
