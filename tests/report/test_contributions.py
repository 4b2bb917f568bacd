"""Shapley values: exact, against all orders of features and all combinations of bins."""

import itertools
import math
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from dpforest import Target
from dpforest.forests.boosting import BoostedTrees
from dpforest.report import contributions, plot_contributions
from dpforest.report.contributions import shapley_values
from dpforest.trees.oblivious import ObliviousTrees
from tests.report.test_effects import TARGETS, fitted, score, table


def random_forest(rng, n_trees=6, depth=4, n_features=3, n_bins=4, n_outputs=2):
    """Trees of different depths that ask features twice, with sides that are no intervals."""
    trees = ObliviousTrees(
        rng.integers(0, n_features, (n_trees, depth)).astype(np.int32),
        rng.random((n_trees, depth, 256)) < 0.5,
        rng.integers(0, depth + 1, n_trees).astype(np.int32),
    )
    values = rng.random((n_trees, n_outputs, 1 << depth)).astype(np.float32)
    shares = tuple(rng.dirichlet(np.ones(n_bins)) for _ in range(n_features))
    return BoostedTrees(trees, values), shares


def by_definition(forest, shares, record):
    """Shapley's sum, the score averaged over all combinations of what is not known."""
    n = len(shares)

    def expected(known):
        total = np.zeros(forest.values.shape[1])
        for other in itertools.product(*(range(len(s)) for s in shares)):
            weight = math.prod(shares[j][other[j]] for j in range(n) if j not in known)
            fits = all(other[j] == record[j] for j in known)
            total += weight * score(forest, other) if fits else 0.0
        return total

    found = np.zeros((n, forest.values.shape[1]))
    for j in range(n):
        others = [i for i in range(n) if i != j]
        for size in range(n):
            weight = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
            for known in itertools.combinations(others, size):
                found[j] += weight * (expected({*known, j}) - expected(set(known)))
    return found, expected(set())


@pytest.mark.parametrize("seed", range(3))
def test_values_are_exact(seed):
    rng = np.random.default_rng(seed)
    forest, shares = random_forest(rng)
    records = rng.integers(0, 4, (3, 3)).astype(np.uint8)
    found, mean = shapley_values(forest, shares, np.asfortranarray(records))
    for record, values in zip(records, found, strict=True):
        expected, expected_mean = by_definition(forest, shares, record)
        np.testing.assert_allclose(values, expected, atol=1e-9)
        np.testing.assert_allclose(mean, expected_mean, atol=1e-9)


@pytest.mark.parametrize("kind", TARGETS)
def test_contributions_add_up_to_the_score(kind):
    model = fitted(kind, max_depth=5)
    X, _ = table(TARGETS[kind])
    X[0, 0], X[1, 1], X[2, 1] = None, None, "unheard of"
    parts = contributions(model, X)
    center = 0.0 if kind != "number" else model.target_center_
    width = 1.0 if kind != "number" else model.target_width_
    expected = center + width * model._scores(X).T.astype(float)
    np.testing.assert_allclose(parts.scores.reshape(expected.shape), expected, atol=1e-4)
    assert parts.data[3, 1] == X[3, 1]
    np.testing.assert_array_equal(model.contributions(X).values, parts.values)


def test_weights_of_classes_are_in_the_mean():
    model = fitted("two", class_weight={"yes": 5.0})
    X, _ = table(TARGETS["two"])
    np.testing.assert_allclose(
        contributions(model, X).scores, model.decision_function(X), atol=1e-4
    )


def test_a_sentence_names_what_moved_the_score_most():
    model = fitted("two")
    X, _ = table(TARGETS["two"])
    parts = contributions(model, X[:5])
    first = parts.names[np.abs(parts.values[2]).argmax()]
    sentence = parts.sentence(2)
    label = model.predict(X[:5])[2]
    score = f"score of yes is {parts.scores[2]:.2f}, where {parts.mean:.2f} is the mean: {first}"
    assert sentence.startswith(f"{label} is predicted: the {score}")
    assert parts.sentence(2, "yes").startswith(f"The {score}")
    # One score of two classes: the other one's is the opposite.
    assert parts.sentence(2, "no").startswith(f"The score of no is {-parts.scores[2]:.2f}")


def test_a_sentence_is_about_the_predicted_class_and_names_it():
    model = fitted("three")
    X, _ = table(TARGETS["three"])
    parts, labels = contributions(model, X), model.predict(X)
    assert len(set(labels)) > 1
    for record, label in enumerate(labels[:40]):
        score = parts.scores[record, list("abc").index(label)]
        start = f"{label} is predicted: the score of {label} is {score:.2f}"
        assert parts.sentence(record).startswith(start)
    assert parts.sentence(0, "b").startswith(f"The score of b is {parts.scores[0, 1]:.2f}")
    with pytest.raises(ValueError, match=r"output is 'couple', expected one of \['a', 'b', 'c'\]"):
        parts.sentence(0, "couple")


def test_a_sentence_of_a_number_names_the_target_and_holds_it_to_its_bounds():
    model = fitted("number")
    X, _ = table(TARGETS["number"])
    parts, told = contributions(model, X), model.predict(X)
    assert parts.sentence(0).startswith(f"size is {parts.scores[0]:.3f}, where {parts.mean:.3f} is")
    below = replace(parts, target=Target("size", low=3, high=5))
    assert told[0] < 3
    assert "(3.000 within its bounds)" in below.sentence(0)


def test_shap_gets_its_own_object(monkeypatch):
    parts = contributions(fitted("two"), table(TARGETS["two"])[0][:5])
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match="pip install shap"):
        parts.to_shap()
    shap = ModuleType("shap")
    shap.Explanation = lambda values, **rest: SimpleNamespace(values=values, **rest)
    monkeypatch.setitem(sys.modules, "shap", shap)
    found = parts.to_shap()
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, parts.scores)
    assert found.feature_names == list(parts.names)


def test_contributions_are_drawn():
    parts = contributions(fitted("three"), table(TARGETS["three"])[0][:5])
    ax = plot_contributions(parts, 1, output="c")
    widths = [bar.get_width() for bar in ax.patches]
    assert sorted(map(abs, widths)) == list(map(abs, widths))
    assert np.isclose(sum(widths) + parts.mean[2], parts.scores[1, 2])
