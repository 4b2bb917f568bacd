from fractions import Fraction

import numpy as np

from dpforest import NumericFeature, RandomDecisionForestClassifier
from dpforest.audit import SMALL_SCHEMA
from dpforest.audit.shown import Shown, digest

X, Y = [[0.1, 0.0], [0.9, 1.0]], [0, 1]


def forest(seed):
    return RandomDecisionForestClassifier(
        schema=SMALL_SCHEMA, n_estimators=1, max_depth=1, random_state=seed
    )


def test_shown_is_all_that_is_public():
    model = forest(0).fit(X, Y)
    parts = Shown.of(model).parts
    assert {"leaf_values_", "file: leaf_votes", "ledger_", "schema_", "epsilon"} <= parts.keys()
    again = forest(1).fit(X, Y)
    assert "leaf_values_" in Shown.of(model).differences(Shown.of(again))
    assert not Shown.of(model).differences(Shown.of(model))


def test_a_digest_sees_types_values_and_structure():
    feature = NumericFeature("a", 0, 1)
    values = [1, 1.0, True, "1", [1], (1,), {"a": 1}, None, np.array([1]), np.array([1.0]),
              np.array([1], object), feature, Fraction(1), {1: "a"}]  # fmt: skip
    assert len({digest(value) for value in values}) == len(values)
    assert digest(feature) == digest(NumericFeature("a", 0.0, 1.0))
