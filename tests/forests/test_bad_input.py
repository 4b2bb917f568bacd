"""Bad input gets a clear error that names the field and the remedy, before anything is spent."""

import math
from functools import partial

import numpy as np
import pytest

from dpforest import (
    CategoricalFeature,
    NumericFeature,
    ParquetTable,
    PrivateForestClassifier,
    RandomDecisionForestClassifier,
    Schema,
    SchemaError,
    Target,
    evaluate,
)

pd = pytest.importorskip("pandas")

FEATURES = (
    NumericFeature("age", 0, 120),
    NumericFeature("income", 0, 1e6),
    CategoricalFeature("town", ("a", "b", "c")),
)
SCHEMA = Schema(FEATURES, Target("ill", classes=("no", "yes")))
SECRET = "s3cret-value"


def table(**columns):
    good = {"age": [20.0, 30.0, 40.0], "income": [1.0, 2.0, 3.0], "town": ["a", "b", "c"]}
    return pd.DataFrame(good | columns)


GOOD_Y = ["no", "yes", "no"]

# name: (parameters, X, y, groups, part of the message)
CASES = {
    "epsilon zero": ({"epsilon": 0}, None, None, None, "epsilon must be positive"),
    "epsilon negative": ({"epsilon": -1.0}, None, None, None, "epsilon must be positive"),
    "epsilon nan": ({"epsilon": math.nan}, None, None, None, "epsilon must be a number"),
    "epsilon text": ({"epsilon": "1"}, None, None, None, "epsilon must be a number"),
    "epsilon none": ({"epsilon": None}, None, None, None, "epsilon must be a number"),
    "epsilon boolean": ({"epsilon": True}, None, None, None, "epsilon must be a number"),
    "no trees": ({"n_estimators": 0}, None, None, None, "n_estimators must be at least 1"),
    "half a tree": ({"n_estimators": 1.5}, None, None, None, "n_estimators must be a whole"),
    "many trees": ({"n_estimators": "many"}, None, None, None, "n_estimators must be one of"),
    "depth zero": ({"max_depth": 0}, None, None, None, "max_depth must be at least 1"),
    "depth none": ({"max_depth": None}, None, None, None, "max_depth must be a whole"),
    "depth beyond memory": ({"max_depth": 40}, None, None, None, "lower max_depth"),
    "hint zero": ({"n_hint": 0}, None, None, None, "n_hint must be at least 1"),
    "hint text": ({"n_hint": "1e6"}, None, None, None, "n_hint must be a whole"),
    "one bin": ({"max_bins": 1}, None, None, None, "max_bins must be at least 2"),
    "too many bins": ({"max_bins": 1000}, None, None, None, "max_bins must be between"),
    "unknown splits": ({"splits": "ternary"}, None, None, None, "splits must be one of"),
    "unknown sampling": ({"sampling": "bootstrap"}, None, None, None, "sampling must be one of"),
    "unknown leaves": ({"leaves": "mean"}, None, None, None, "leaves must be one of"),
    "unknown voting": ({"voting": "loud"}, None, None, None, "voting must be one of"),
    "unknown pruning": ({"pruning": "hard"}, None, None, None, "pruning must be one of"),
    "unknown neighbours": ({"neighbors": "swap"}, None, None, None, "neighbors must be one of"),
    "pruning labels": ({"leaves": "label", "pruning": "snr"}, None, None, None, "leaves='counts'"),
    "no threads": ({"n_jobs": 0}, None, None, None, "n_jobs must not be 0"),
    "bound without groups": ({"max_records_per_group": 2}, None, None, None, "go together"),
    "groups without bound": ({}, None, None, [1, 2, 3], "go together"),
    "bound zero": ({"max_records_per_group": 0}, None, None, [1, 2, 3], "max_records_per_group"),
    "groups too short": ({"max_records_per_group": 1}, None, None, [1, 2], "one entry a row"),
    "group missing": (
        {"max_records_per_group": 1}, None, None, [1.0, 2.0, math.nan], "missing entries",
    ),
    "schema of another kind": ({"schema": "schema.json"}, None, None, None, "schema must be"),
    "schema without target": ({"schema": Schema(FEATURES)}, None, None, None, "classes"),
    "schema of a regression": (
        {"schema": Schema(FEATURES, Target(low=0, high=1))}, None, None, None, "classes",
    ),
    "column missing": ({}, table().drop(columns="income"), None, None, "'income'"),
    "column unknown": ({}, table(extra=[1, 2, 3]), None, None, "'extra'"),
    "column renamed": ({}, table().rename(columns={"age": "Age"}), None, None, "'age'"),
    "column twice": ({}, pd.concat([table(), table()[["age"]]], axis=1), None, None, "same name"),
    "names of two kinds": ({}, table().rename(columns={"age": 3}), None, None, "string"),
    "empty frame": ({}, table().iloc[:0], [], None, "empty"),
    "no columns": ({}, table()[[]], None, None, "minimum of 1 is required"),
    "text in a number": ({}, table(age=["20", SECRET, "40"]), None, None, "'age'"),
    "dates": ({}, table(age=pd.to_datetime(["2020-01-01"] * 3)), None, None, "dates"),
    "lists in a column": ({}, table(town=[["a"], ["b"], ["c"]]), None, None, "'town'"),
    "array too narrow": ({}, np.zeros((3, 2)), None, None, "2 features"),
    "one dimension": ({}, np.zeros(3), None, None, "2D array"),
    "complex numbers": ({}, np.zeros((3, 3), complex), None, None, "Complex"),
    "nothing at all": ({}, "table.csv", None, None, "X must be"),
    "label missing": ({}, None, ["no", None, "yes"], None, "missing labels"),
    "label nan": ({}, None, [0.0, math.nan, 1.0], None, "missing labels"),
    "label unknown": ({}, None, ["no", SECRET, "yes"], None, "only if they are publicly known"),
    "y too short": ({}, None, ["no", "yes"], None, "different lengths"),
    "y two columns": ({}, None, np.zeros((3, 2)), None, "y"),
    "y none": ({}, None, "none", None, "y"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_refused_before_anything_is_spent(case):
    parameters, X, y, groups, message = CASES[case]
    forest = RandomDecisionForestClassifier(
        **{"schema": SCHEMA, "n_estimators": 3, "max_depth": 2} | parameters
    )
    X = table() if X is None else X
    y = GOOD_Y if y is None else None if isinstance(y, str) else y
    with pytest.raises((ValueError, TypeError)) as caught:
        forest.fit(X, y, groups=groups)
    assert message in str(caught.value)
    assert SECRET not in str(caught.value)
    assert not hasattr(forest, "ledger_") or forest.ledger_.entries == ()


def test_there_are_at_least_forty_cases():
    assert len(CASES) >= 40


def test_odd_values_follow_the_documented_rules():
    """Out of bounds is clipped, missing and unseen have bins of their own: no error."""
    odd = table(age=[-5.0, math.inf, math.nan], town=["a", "never heard", None])
    forest = RandomDecisionForestClassifier(
        epsilon=math.inf, schema=SCHEMA, n_estimators=3, max_depth=2, random_state=0
    ).fit(odd, GOOD_Y)
    assert forest.leaf_values_.sum() == 9
    clipped = table(age=[0.0, 120.0, math.nan], town=["a", "unseen too", None])
    np.testing.assert_array_equal(forest.predict_proba(odd), forest.predict_proba(clipped))


@pytest.mark.parametrize("what", ["y", "groups", "sample_weight"])
def test_a_name_beside_a_table_in_memory_is_said_to_go_with_sources(what):
    options = {"max_records_per_group": 2} if what == "groups" else {"max_sample_weight": 1.0}
    forest = PrivateForestClassifier(schema=SCHEMA, **options)
    given = {"y": GOOD_Y, what: "ill"}
    with pytest.raises(SchemaError, match=f"{what} is 'ill', but names of columns go with"):
        forest.fit(table(ill=GOOD_Y), **given)


def test_score_says_where_names_and_sources_go(tmp_path):
    forest = RandomDecisionForestClassifier(schema=SCHEMA, n_estimators=3, max_depth=2)
    forest.fit(table(), GOOD_Y)
    table(ill=GOOD_Y).to_parquet(tmp_path / "table.parquet")
    with pytest.raises(TypeError, match=r"dpforest\.evaluate measures sources"):
        forest.score(ParquetTable(tmp_path / "table.parquet"), "ill")
    for measure in (forest.score, partial(evaluate, forest, epsilon=1.0)):
        with pytest.raises(SchemaError, match="names of columns go with"):
            measure(table(), "ill")


def test_a_question_is_checked_too():
    forest = RandomDecisionForestClassifier(schema=SCHEMA, n_estimators=3, max_depth=2)
    forest.fit(table(), GOOD_Y)
    with pytest.raises(ValueError, match="'town'"):
        forest.predict(table().drop(columns="town"))
    with pytest.raises(ValueError, match="features"):
        forest.predict(np.zeros((2, 5)))
