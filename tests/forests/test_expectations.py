"""Warnings from public facts and a noisy number of records."""

import math
import warnings

import numpy as np
import pytest

from dpforest import (
    LittleSignalWarning,
    MedianForestRegressor,
    NumericFeature,
    PrivateForestClassifier,
    PrivateForestRegressor,
    RandomDecisionForestClassifier,
    Schema,
    Target,
    WeakGuaranteeWarning,
)

FEATURES = (NumericFeature("x0", 0, 1),)
CLASSES, NUMBER = Schema(FEATURES, Target(classes=(0, 1))), Schema(FEATURES, Target(low=0, high=1))
X = np.random.default_rng(0).random((400, 1))
FORESTS = [
    PrivateForestClassifier(schema=CLASSES, n_estimators=2),
    PrivateForestClassifier(schema=CLASSES, n_estimators=2, delta=0.0),
    PrivateForestRegressor(schema=NUMBER, n_estimators=2),
    RandomDecisionForestClassifier(schema=CLASSES),
    MedianForestRegressor(schema=NUMBER),
]


def warned(forest, **options):
    """The kinds of warnings of a fit, and their texts."""
    y = (X[:, 0] > 0.5).astype(int)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        forest.set_params(random_state=0, n_hint=None, epsilon=1.0).set_params(**options).fit(X, y)
    assert all(w.filename == __file__ for w in caught)
    return {w.category for w in caught}, " ".join(str(w.message) for w in caught)


@pytest.mark.parametrize("forest", FORESTS, ids=lambda f: type(f).__name__)
def test_little_signal_is_said_and_much_is_not(forest):
    kinds, text = warned(forest, epsilon=0.005)
    assert kinds == {LittleSignalWarning}
    assert "more records or a larger epsilon" in text
    assert warned(forest, epsilon=5.0)[0] == set()
    assert warned(forest, n_hint=50, epsilon=0.01)[0] == {LittleSignalWarning}
    assert warned(forest, epsilon=math.inf)[0] == set()


def test_persons_and_replaced_records_take_of_the_signal():
    forest = RandomDecisionForestClassifier(schema=CLASSES)
    assert warned(forest, n_hint=400, epsilon=0.07)[0] == set()
    replaced = warned(forest, n_hint=400, epsilon=0.07, neighbors="replace_one")
    assert replaced[0] == {LittleSignalWarning}


@pytest.mark.parametrize("schema", [CLASSES, NUMBER], ids=["classifier", "regressor"])
@pytest.mark.parametrize("known", [{}, {"n_hint": 4_000}], ids=["counted", "declared"])
def test_weights_far_below_their_bound_are_little_signal(schema, known):
    """Noise is made for the largest weight: what counts is their sum, not the number of records."""
    kind = PrivateForestClassifier if schema is CLASSES else PrivateForestRegressor
    rows = np.random.default_rng(1).random((4_000, 1))
    y = (rows[:, 0] > 0.5).astype(int)

    def texts(most, epsilon=1.0):
        forest = kind(schema=schema, max_sample_weight=most, epsilon=epsilon, random_state=0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            forest.set_params(n_estimators=2, **known).fit(rows, y, sample_weight=np.ones(4_000))
        assert {w.category for w in caught} <= {LittleSignalWarning}
        return [str(w.message) for w in caught]

    assert texts(most=1.0) == []
    (text,) = texts(most=1_000.0)
    assert "times max_sample_weight" in text
    # Once, where there are few records and little weight.
    (text,) = texts(most=1_000.0, epsilon=0.0005)
    assert "few records" in text


@pytest.mark.parametrize("epsilon", [10.5, 1e6])
def test_a_large_epsilon_promises_next_to_nothing(epsilon):
    kinds, text = warned(PrivateForestClassifier(schema=CLASSES), epsilon=epsilon)
    assert kinds == {WeakGuaranteeWarning}
    assert "next to nothing" in text
    assert warned(PrivateForestClassifier(schema=CLASSES), epsilon=10.0)[0] == set()


def test_a_delta_of_one_over_n_publishes_a_record():
    forest = PrivateForestClassifier(schema=CLASSES)
    kinds, text = warned(forest, delta=0.01, n_hint=400)
    assert kinds == {WeakGuaranteeWarning}
    assert "such as 1e-05" in text
    assert warned(forest, delta=1e-5, n_hint=400)[0] == set()
