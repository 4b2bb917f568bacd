"""A label equals its class, in every container, or the fit is refused before it spends."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpforest import (
    Budget,
    GreedyForestClassifier,
    MatrixForestClassifier,
    MatrixForestPredictor,
    MedianForestClassifier,
    NumericFeature,
    PrivateForestClassifier,
    RandomDecisionForestClassifier,
    Schema,
    SchemaError,
    Target,
    evaluate,
)
from dpforest.tables.labels import encode_equal_labels, spelled_classes

CODES = [1, 0, 1, 1, 0, 0, 1, 0] * 4
TEXTS = [str(code) for code in CODES]
X = np.array(CODES, np.float64)[:, None]
NUMBERS_OF_ALL_KINDS = [
    CODES,
    [bool(code) for code in CODES],
    [float(code) for code in CODES],
    np.array(CODES, np.uint8),
    np.array(CODES, np.float32),
    np.array(CODES, bool),
    np.array(CODES, object),
    pd.Series(CODES),
    pd.Series(CODES, dtype="Int64"),
    pd.Series(CODES, dtype="boolean"),
    pd.Series(CODES, dtype="category"),
    pd.Series(CODES, dtype="int8[pyarrow]"),
    pd.Series(CODES, dtype=object),
    pl.Series(CODES),
    pa.array(CODES),
]
TEXTS_OF_ALL_KINDS = [
    TEXTS,
    np.array(TEXTS),
    np.array(TEXTS, object),
    pd.Series(TEXTS),
    pd.Series(TEXTS, dtype="category"),
    pd.Series(TEXTS, dtype="string"),
    pl.Series(TEXTS),
    pl.Series(TEXTS, dtype=pl.Categorical),
    pa.array(TEXTS),
    pa.array(TEXTS).dictionary_encode(),
]


def schema_of(classes):
    return Schema((NumericFeature("x0", 0, 1),), Target(classes=classes))


def forest_of(classes):
    options = {"max_depth": 1, "n_estimators": 1, "n_hint": len(CODES)}
    return RandomDecisionForestClassifier(
        epsilon=1e6, schema=schema_of(classes), random_state=0, **options
    )


@pytest.mark.parametrize(
    ("classes", "of_their_type", "of_the_other"),
    [
        ((0, 1), NUMBERS_OF_ALL_KINDS, TEXTS_OF_ALL_KINDS),
        ((False, True), NUMBERS_OF_ALL_KINDS, TEXTS_OF_ALL_KINDS),
        ((0.0, 1.0), NUMBERS_OF_ALL_KINDS, TEXTS_OF_ALL_KINDS),
        (("0", "1"), TEXTS_OF_ALL_KINDS, NUMBERS_OF_ALL_KINDS),
    ],
)
def test_what_fit_takes_predict_and_score_speak(classes, of_their_type, of_the_other):
    for y in of_their_type:
        forest = forest_of(classes).fit(X, y)
        assert (forest.predict(X) == np.asarray(y)).all()
        assert forest.score(X, y) == 1.0
    for y in of_the_other:
        with pytest.raises(SchemaError, match=r"another type.*convert y"):
            forest_of(classes).fit(X, y)
        with pytest.raises(SchemaError, match="another type"):
            forest.score(X, y)


@pytest.mark.parametrize(
    "kind",
    [
        GreedyForestClassifier,
        MatrixForestClassifier,
        MatrixForestPredictor,
        MedianForestClassifier,
        PrivateForestClassifier,
        RandomDecisionForestClassifier,
    ],
)
def test_every_classifier_refuses_before_it_spends(kind, tmp_path):
    budget = Budget.create(tmp_path / "b.db", epsilon=2.0, delta=1e-5, table="t")
    forest = kind(schema=schema_of(("0", "1")), epsilon=1.0, n_hint=32, budget=budget)
    with pytest.raises(SchemaError, match="another type"):
        forest.fit(X, CODES)
    assert not hasattr(forest, "ledger_")
    assert budget.remaining(0.0) == 2.0


def test_an_evaluation_refuses_before_it_spends(tmp_path):
    forest = forest_of(("0", "1")).fit(X, TEXTS)
    budget = Budget.create(tmp_path / "b.db", epsilon=1.0, table="t")
    with pytest.raises(SchemaError, match="another type"):
        evaluate(forest, X, CODES, epsilon=0.5, budget=budget)
    assert budget.remaining() == 1.0
    assert evaluate(forest, X, TEXTS, epsilon=1e3, random_state=0).accuracy.value > 0.9


@pytest.mark.parametrize("odd", ["1", " 1", "1.0", "True", "01"])
def test_one_label_of_another_type_is_refused_whatever_its_company(odd):
    with pytest.raises(SchemaError, match="another type"):
        encode_equal_labels([*CODES, odd], (0, 1))
    if odd != "1":
        with pytest.raises(SchemaError, match=r"another type|not among"):
            encode_equal_labels([*TEXTS, odd], ("0", "1"))


def test_fractions_that_were_rounded_equal_no_class():
    assert encode_equal_labels([0.1, 0.2], (0.1, 0.2)).tolist() == [0, 1]
    with pytest.raises(SchemaError, match="another type"):
        encode_equal_labels(np.array([0.1, 0.2], np.float32), (0.1, 0.2))


def test_texts_and_numbers_are_no_classes_of_one_model():
    with pytest.raises(SchemaError, match="all of them as texts"):
        encode_equal_labels([0, 0], (0, "x"))


def test_texts_spell_classes():
    assert spelled_classes(["1", "0.0", "True"], (0, 1)).tolist() == [1, 0, 1]
    with pytest.raises(SchemaError, match="not among the declared classes"):
        spelled_classes(["1", "2"], (0, 1))
