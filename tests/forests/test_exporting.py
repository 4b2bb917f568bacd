"""Exported models answer like ours: ONNX in onnxruntime, JSON read by a few plain lines."""

import json
import math

import numpy as np
import onnxruntime
import pandas as pd
import pytest

from dpforest import (
    CategoricalFeature,
    GreedyForestClassifier,
    MatrixForestClassifier,
    MedianForestClassifier,
    MedianForestRegressor,
    NumericFeature,
    PrivateForestClassifier,
    PrivateForestRegressor,
    PrivateIntervalRegressor,
    RandomDecisionForestClassifier,
    Schema,
    Target,
    datasets,
)

FEATURES = (
    NumericFeature("age", 0, 100, integer=True),
    CategoricalFeature("color", ("red", "green", "", "7")),
    NumericFeature("height", -1, 2, cuts=(0, 1)),
    CategoricalFeature("grade", (1, 2, 5)),
    NumericFeature("narrow", 0, 1, cuts=()),
)
TABLES = ("adult", "abalone", "bike_sharing", "car", "credit_screening", "mushroom", "nursery",
          "pima")  # fmt: skip


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(-5, 120, n).astype(float),
            "color": rng.choice(["red", "green", "", "7", "blue", "nan"], n).astype(object),
            "height": rng.random(n) * 5 - 2,
            "grade": rng.choice([1.0, 2.0, 5.0, 9.0], n),
            "narrow": rng.random(n),
        }
    )
    for name in ("age", "height", "grade", "narrow"):
        X.loc[rng.random(n) < 0.1, name] = np.nan
    signal = (X["age"].fillna(0) > 50).to_numpy() + (X["color"] == "red").to_numpy()
    return X, signal


def run(model, X):
    """The outputs of onnxruntime, by name."""
    session = onnxruntime.InferenceSession(
        model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"]
    )
    feed = {}
    for item in session.get_inputs():
        column = X[item.name]
        if item.type == "tensor(string)":
            texts = column.astype(object).where(column.notna(), "")
            feed[item.name] = texts.astype(str).to_numpy(object)[:, None]
        else:
            feed[item.name] = column.to_numpy(np.float64)[:, None]
    names = [item.name for item in session.get_outputs()]
    return dict(zip(names, session.run(None, feed), strict=True))


def agree(model, X):
    found = run(model, X)
    if "target" in found:
        low, high = model.schema_.target_bounds
        error = (found["target"] - model.predict(X)) / (high - low)
        if isinstance(model, PrivateIntervalRegressor):
            ends = np.column_stack([found["lower"], found["upper"]])
            assert np.abs(ends - model.predict_interval(X)).max() < 1e-6
    else:
        probabilities = model.predict_proba(X)
        error = found["probabilities"] - probabilities
        two = np.sort(probabilities, axis=1)[:, -2:]
        clear = two[:, 1] - two[:, 0] > 1e-5  # ties may fall either way
        labels = np.asarray(model.predict(X))[clear]
        np.testing.assert_array_equal(found["label"][clear].astype(labels.dtype), labels)
    assert np.abs(error).max() < 1e-6


CASES = {
    "flagship": (PrivateForestClassifier, ("no", "yes"), {"n_estimators": 60}),
    "flagship without noise": (PrivateForestClassifier, (0, 1), {"epsilon": math.inf,
                                                                  "n_estimators": 40}),
    "flagship of three": (PrivateForestClassifier, (2, 0, 1), {"n_estimators": 60}),
    "flagship with weights": (PrivateForestClassifier, (2, 0, 1), {"n_estimators": 60,
                                                                   "class_weight": {0: 4.0}}),
    "flagship of numbers": (PrivateForestRegressor, None, {"n_estimators": 60}),
    "flagship of a quantile": (PrivateForestRegressor, None, {"n_estimators": 60,
                                                              "loss": "quantile", "quantile": 0.9}),
    "flagship of intervals": (PrivateIntervalRegressor, None, {"n_estimators": 60}),
    "random": (RandomDecisionForestClassifier, ("no", "yes"), {}),
    "random, one child a bin": (RandomDecisionForestClassifier, (0.5, 1.5), {"splits": "multiway",
                                                                             "max_bins": 9}),
    "random, counts": (RandomDecisionForestClassifier, ("no", "yes"), {"voting": "weighted"}),
    "greedy": (GreedyForestClassifier, ("no", "yes"), {}),
    "median": (MedianForestClassifier, ("no", "yes"), {}),
    "median of numbers": (MedianForestRegressor, None, {}),
}  # fmt: skip


def fitted(case):
    kind, classes, options = CASES[case]
    X, signal = table()
    target = Target("y", low=0, high=3) if classes is None else Target("y", classes=classes)
    y = signal if classes is None else np.array(classes)[np.minimum(signal, len(classes) - 1)]
    settings = {"epsilon": 3.0} | options
    return kind(schema=Schema(FEATURES, target), random_state=0, **settings).fit(X, y)


@pytest.mark.parametrize("case", CASES)
def test_onnx_answers_the_same(case):
    agree(fitted(case), table(seed=1)[0])


@pytest.mark.needs_tables
@pytest.mark.parametrize("name", TABLES)
def test_onnx_answers_the_same_on_tables(name):
    data = datasets.load(name)
    X, y = data.X[:4000], np.asarray(data.y)[:4000]
    classes = data.schema.target.classes
    kinds = [PrivateForestRegressor, MedianForestRegressor]
    if classes:
        kinds = [PrivateForestClassifier, RandomDecisionForestClassifier, GreedyForestClassifier,
                 MedianForestClassifier]  # fmt: skip
    odd = with_gaps_and_strangers(X, data.schema)
    for kind in kinds:
        model = kind(schema=data.schema, random_state=0).fit(X, y)
        agree(model, X)
        agree(model, odd)


def with_gaps_and_strangers(X, schema):
    """Some cells are missing, and some categories are none of those that were declared."""
    rng = np.random.default_rng(0)
    odd = X.copy()
    for feature in schema.features:
        if isinstance(feature, CategoricalFeature):
            texts = any(isinstance(each, str) for each in feature.categories)
            odd[feature.name] = odd[feature.name].astype(object)
            odd.loc[rng.random(len(odd)) < 0.1, feature.name] = "stranger" if texts else -77
        else:
            odd[feature.name] = odd[feature.name].astype(float)
        odd.loc[rng.random(len(odd)) < 0.1, feature.name] = None
    return odd


def test_a_linear_start_and_chosen_questions_are_exported():
    assert fitted("flagship")._n_start_trees == len(FEATURES)  # as in most cases above
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((3000, 12)), columns=[f"x{j}" for j in range(12)])
    schema = Schema([NumericFeature(name, 0, 1) for name in X], Target("y", low=0, high=2))
    model = PrivateForestRegressor(schema=schema, epsilon=8.0, n_estimators=60, random_state=0)
    model.fit(X, X["x0"] + X["x1"])
    assert model.plan_.n_choices > 0
    agree(model, with_gaps_and_strangers(X, schema))


def leaf_of(tree, record):
    leaf = 0
    for k, level in enumerate(tree["levels"]):
        leaf |= (record[level["feature"]] in level["goes_right"]) << k
    return leaf


@pytest.mark.parametrize(
    "case", ["flagship", "flagship of three", "flagship of numbers", "flagship of intervals"]
)
def test_json_of_oblivious_trees_says_all(case, tmp_path):
    model = fitted(case)
    model.to_json(tmp_path / "model.json")
    entry = json.loads((tmp_path / "model.json").read_text())
    assert entry == model.to_json()
    X = table(30, seed=2)[0]
    for record, score in zip(model._bins(X), model._scores(X).T, strict=True):
        parts = [tree["leaves"][leaf_of(tree, record)] for tree in entry["trees"]]
        # Scores are sums of single floats, some of them large.
        np.testing.assert_allclose(np.sum(parts, axis=0), score, rtol=1e-6, atol=1e-5)
    assert entry["link"]["name"] == {"flagship": "clipped_logistic", "flagship of three": "softmax",
                                     "flagship of numbers": "number"
                                     }.get(case, "interval")  # fmt: skip


@pytest.mark.parametrize("case", ["random", "greedy"])
def test_json_of_forests_says_all(case):
    model = fitted(case)
    entry = json.loads(json.dumps(model.to_json()))
    trees, X = entry["trees"], table(30, seed=2)[0]
    votes = []
    for record in model._bins(X):
        total = np.zeros(2)
        for node in trees["roots"]:
            while trees["n_children"][node]:
                b = int(record[trees["feature"][node]])
                step = b if trees["multiway"] else int(b in trees["goes_right"][node])
                node = trees["first_child"][node] + step
            total += entry["leaves"][trees["leaf"][node]]
        votes.append(total / total.sum())
    np.testing.assert_allclose(votes, model.predict_proba(X), atol=1e-9)


def test_what_cannot_be_exported_is_refused():
    model = fitted("random").revote("probabilistic")
    with pytest.raises(ValueError, match="revote"):
        model.to_onnx()
    X, signal = table()
    schema = Schema(FEATURES, Target("y", classes=(0, 1)))
    matrix = MatrixForestClassifier(schema=schema, max_depth=1, random_state=0)
    with pytest.raises(ValueError, match="cannot be exported"):
        matrix.fit(X, np.minimum(signal, 1)).to_json()


def test_without_onnx_the_error_says_what_to_install(monkeypatch):
    model = fitted("greedy")
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match=r"dpforest\[onnx\]"):
        model.to_onnx()
