"""Schema: what is accepted, what is refused and how, and the way to JSON and back."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.exceptions import ModelFileError, PrivacyLeakWarning, SchemaError
from dpforest.privacy.accounts.ledger import Ledger, Protection, Spend
from dpforest.privacy.accounts.mechanisms_used import DiscreteLaplace
from dpforest.schema import CategoricalFeature, NumericFeature, Schema, Target

AGE = NumericFeature("age", 0, 120, integer=True)
SEX = CategoricalFeature("sex", ("f", "m"))


def test_numbers_become_floats_and_lists_become_tuples():
    feature = NumericFeature("a", np.int64(0), np.float32(1), cuts=[0, 0.5])
    assert feature == NumericFeature("a", 0.0, 1.0, cuts=(0.0, 0.5))
    assert type(feature.low) is float
    assert CategoricalFeature("c", [np.int64(1), np.str_("b")]).categories == (1, "b")
    assert hash(Schema([AGE, SEX])) == hash(Schema((AGE, SEX)))


def test_properties():
    schema = Schema((AGE, SEX), Target(classes=("no", "yes")))
    assert schema.feature_names == ("age", "sex")
    assert schema.n_features == 2
    assert schema.classes == ("no", "yes")
    assert Schema((AGE,), Target(low=0, high=9)).target_bounds == (0.0, 9.0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: NumericFeature("a", 1, 1), ["'a'", "'low' must be below 'high'"]),
        (lambda: NumericFeature("a", 2, 1), ["'a'", "'low' must be below 'high'"]),
        (lambda: NumericFeature("a", math.nan, 1), ["'a'", "'low'", "finite"]),
        (lambda: NumericFeature("a", 0, math.inf), ["'a'", "'high'", "finite"]),
        (lambda: NumericFeature("a", 0, 10**400), ["'a'", "'high'", "finite"]),
        (lambda: NumericFeature("a", -1e308, 1e308), ["'a'", "too far apart"]),
        (lambda: Target(low=0, high=1e-300), ["target", "too close together"]),
        (lambda: NumericFeature("a", "0", 1), ["'a'", "'low'", "number"]),
        (lambda: NumericFeature("a", None, 1), ["'a'", "'low'", "number"]),
        (lambda: NumericFeature("", 0, 1), ["'name'"]),
        (lambda: NumericFeature(3, 0, 1), ["'name'"]),
        (lambda: NumericFeature("a", 0, 1, integer="yes"), ["'a'", "'integer'"]),
        (lambda: NumericFeature("a", 0.5, 9, integer=True), ["'a'", "whole"]),
        (lambda: NumericFeature("a", 0, 9, cuts=(3, 2)), ["'a'", "'cuts'", "increase"]),
        (lambda: NumericFeature("a", 0, 9, cuts=(2, 2)), ["'a'", "'cuts'", "increase"]),
        (lambda: NumericFeature("a", 0, 9, cuts=(-1, 2)), ["'a'", "'cuts'", "within"]),
        (lambda: NumericFeature("a", 0, 9, cuts=(2, 9)), ["'a'", "'cuts'", "within"]),
        (lambda: NumericFeature("a", 0, 9, cuts=(math.nan,)), ["'a'", "'cuts'", "finite"]),
        (lambda: NumericFeature("a", 0, 9, cuts=5), ["'a'", "'cuts'", "list"]),
        (lambda: NumericFeature("a", 0, 999, cuts=range(255)), ["'a'", "at most 254"]),
        (lambda: CategoricalFeature("c", ()), ["'c'", "empty"]),
        (lambda: CategoricalFeature("c", "abc"), ["'c'", "list"]),
        (lambda: CategoricalFeature("c", 5), ["'c'", "list"]),
        (lambda: CategoricalFeature("c", ("x", "x")), ["'c'", "differ"]),
        (lambda: CategoricalFeature("c", (1, True)), ["'c'", "differ"]),
        (lambda: CategoricalFeature("c", (1, "1")), ["'c'", "differ"]),
        (lambda: CategoricalFeature("c", ("a", None)), ["'c'", "NoneType"]),
        (lambda: CategoricalFeature("c", ("a", math.nan)), ["'c'", "NaN"]),
        (lambda: CategoricalFeature("c", range(100_001)), ["'c'", "at most 100000"]),
        (lambda: Target(), ["'target'", "either"]),
        (lambda: Target(classes=(0, 1), low=0, high=1), ["'target'", "not both"]),
        (lambda: Target(low=0), ["'target'", "'high'"]),
        (lambda: Target(low=1, high=0), ["'target'", "below"]),
        (lambda: Target(classes=("a",)), ["'target'", "at least two"]),
        (lambda: Target(classes=("a", "a")), ["'target'", "differ"]),
        (lambda: Target(name="", classes=(0, 1)), ["'name'"]),
        (lambda: Schema(()), ["'features'", "at least one"]),
        (lambda: Schema(AGE), ["'features'"]),
        (lambda: Schema(("age",)), ["features[0]", "str"]),
        (lambda: Schema((AGE, SEX, AGE)), ["repeated", "'age'"]),
        (lambda: Schema((AGE,), "y"), ["'target'"]),
        (lambda: Schema((AGE,), Target("age", classes=(0, 1))), ["'age'", "another name"]),
        (lambda: Schema((AGE,)).classes, ["target with classes"]),
        (lambda: Schema((AGE,), Target(low=0, high=1)).classes, ["target with classes"]),
        (lambda: Schema((AGE,), Target(classes=(0, 1))).target_bounds, ["target with bounds"]),
    ],
)
def test_bad_schemas_are_refused_with_field_and_expectation(make, words):
    with pytest.raises(SchemaError) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


GOOD = {"name": "a", "kind": "numeric", "low": 0, "high": 1}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ([], ["schema", "dictionary"]),
        ({}, ["'features' is missing"]),
        ({"features": "abc"}, ["'features'", "list"]),
        ({"features": [1]}, ["features[0]", "dictionary"]),
        ({"features": [GOOD, {"kind": "numeric"}]}, ["features[1]", "'name' is missing"]),
        ({"features": [{"name": "a"}]}, ["'a'", "'kind' is missing"]),
        ({"features": [{"name": "a", "kind": "date"}]}, ["'a'", "'numeric' or 'categorical'"]),
        ({"features": [{"name": "a", "kind": "numeric", "low": 0}]}, ["'a'", "'high'"]),
        ({"features": [{"name": "a", "kind": "categorical"}]}, ["'a'", "'categories'"]),
        ({"features": [GOOD], "target": ["a", "b"]}, ["target", "dictionary"]),
        ({"features": [GOOD], "target": {}}, ["target", "either"]),
    ],
)
def test_bad_dictionaries_are_refused(entry, words):
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict(entry)
    for word in words:
        assert word in str(caught.value)


def test_unknown_keys_are_ignored():
    entry = {"title": "t", "features": [GOOD | {"observed": True}], "target": {"classes": [0, 1]}}
    assert Schema.from_dict(entry | {"notes": "n"}).target == Target(classes=(0, 1))


names = st.text(min_size=1, max_size=5)
finite = st.floats(-1e9, 1e9)


@st.composite
def features(draw, name):
    if draw(st.booleans()):
        choices = st.one_of(st.text(max_size=4), st.integers(), finite, st.booleans())
        values = draw(st.lists(choices, min_size=1, max_size=6, unique_by=str))
        try:
            return CategoricalFeature(name, values)
        except SchemaError:  # 1 and "1" drawn together
            return CategoricalFeature(name, ("a",))
    points = sorted(draw(st.lists(finite, min_size=3, max_size=9, unique=True)))
    return NumericFeature(name, points[0], points[-1], cuts=points[1:-1])


@st.composite
def schemas(draw):
    found = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    targets = [None, Target("the target", classes=("a", 2)), Target("the target", low=-1.5, high=3)]
    return Schema([draw(features(name)) for name in found], draw(st.sampled_from(targets)))


@given(schemas())
def test_dictionary_and_json_round_trip(schema):
    assert Schema.from_dict(schema.to_dict()) == schema
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_save_and_load(tmp_path):
    schema = Schema((AGE, SEX, CategoricalFeature("é", (True, False))), Target(classes=(0, 1)))
    schema.save(tmp_path / "schema.json")
    assert Schema.load(tmp_path / "schema.json") == schema
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(SchemaError, match=r"broken\.json: not a JSON file"):
        Schema.load(tmp_path / "broken.json")


@pytest.mark.parametrize(
    ("written", "told"),
    [(b"", "it is empty"), (b"{\n 1", "see line 2, column 2"), (b"\xff", "it is not UTF-8 text")],
)
def test_what_is_wrong_with_a_file_is_said_in_words(tmp_path, written, told):
    (tmp_path / "broken.json").write_bytes(written)
    with pytest.raises(SchemaError, match=f"not a JSON file: {told}$"):
        Schema.load(tmp_path / "broken.json")


def read(*args, **keywords):
    with pytest.warns(PrivacyLeakWarning, match=r"Schema\.infer"):
        return Schema.from_frame(*args, **keywords)


COLUMNS = {
    "age": [30, 41, 35],
    "pay": [1.5, None, 7.25],
    "sex": ["m", "f", None],
    "old": [False, False, False],
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_from_frame_reads_what_is_there(make):
    assert read(make(COLUMNS), ["b", "a", "b"]) == Schema(
        (
            NumericFeature("age", 30, 41, integer=True),
            NumericFeature("pay", 1.5, 7.25),
            CategoricalFeature("sex", ("f", "m")),
            CategoricalFeature("old", (False, True)),
        ),
        Target(classes=("a", "b")),
    )


def test_from_frame_takes_the_target_by_name_or_as_a_series():
    frame = pd.DataFrame(COLUMNS)
    assert read(frame, "age").feature_names == ("pay", "sex", "old")
    assert read(frame, frame["age"].rename("years")).target == Target("years", classes=(30, 35, 41))
    assert read(frame, frame["age"]).target.name == "age_"
    with pytest.raises(SchemaError, match="'income'"):
        Schema.from_frame(frame, "income")
    with pytest.raises(SchemaError, match="no feature is left"):
        Schema.from_frame(frame[["age"]], "age")


@pytest.mark.parametrize(
    ("y", "task", "expected"),
    [
        ([1, 2, 1], "auto", {"classes": (1, 2)}),
        ([0.0, 1.0, 1.0], "auto", {"classes": (0.0, 1.0)}),
        ([0.5, 1.0, 1.0], "auto", {"low": 0.5, "high": 1.0}),
        ([1, 2, 1], "regression", {"low": 1, "high": 2}),
        ([4, 4, 4], "regression", {"low": 4, "high": 5}),
        ([True, False, True], "auto", {"classes": (False, True)}),
    ],
)
def test_from_frame_tells_classes_from_numbers(y, task, expected):
    assert read([[1.0], [2.0], [3.0]], y, task=task).target == Target(**expected)


def test_from_frame_of_arrays():
    schema = read(np.array([[1.0, np.inf], [3.0, 5.0], [np.nan, 5.0]]))
    assert schema.features == (NumericFeature("x0", 1, 3), NumericFeature("x1", 5, 6))
    mixed = read([[1, "a"], [2, "b"]])
    assert mixed.features == (NumericFeature("x0", 1, 2), CategoricalFeature("x1", ("a", "b")))


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (pd.DataFrame({"a": [np.nan, np.nan]}), None, ["'a'", "bounds"]),
        (pd.DataFrame({"a": pd.Series([None, None], dtype="str")}), None, ["'a'", "categories"]),
        (
            pd.DataFrame({"a": [f"v{i}" for i in range(100_001)]}),
            None,
            ["'a'", "more than 100000"],
        ),
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}), None, ["'a'", "dates"]),
        ([[1.0], [2.0]], ["a", "a"], ["at least two"]),
    ],
)
def test_from_frame_refuses_what_says_nothing(X, y, words):
    with pytest.raises(SchemaError) as caught:
        Schema.from_frame(X, y)
    for word in words:
        assert word in str(caught.value)


def test_from_frame_refuses_fractions_as_classes():
    with pytest.raises(SchemaError, match="Unknown label type"):
        Schema.from_frame([[1.0], [2.0]], [0.5, 1.5], task="classification")


# Parts of a schema keep what it cost


def paid():
    ledger = Ledger(1.0, 0.0, Protection())
    ledger.debit(Spend.of("bounds of 'age'", "discrete Laplace", DiscreteLaplace(1, 1)))
    return Schema((AGE, SEX), Target("ill", classes=(0, 1)), ledger)


def test_select_keeps_order_target_and_ledger():
    schema = paid()
    assert schema.select(["sex", "age"]).features == (SEX, AGE)
    part = schema.select(["sex"])
    assert part.features == (SEX,)
    assert part.target == schema.target
    assert part.ledger is schema.ledger
    assert Schema.from_dict(part.to_dict()).ledger.stages == schema.ledger.stages
    identities = [s.ledger.stages[0].identity for s in (Schema.from_dict(part.to_dict()), schema)]
    assert identities[0] == identities[1]
    with pytest.raises(SchemaError, match=r"no such features: \['size'\]; it has \('age', 'sex'\)"):
        schema.select(["age", "size"])
    with pytest.raises(SchemaError, match="a list of names"):
        schema.select("age")
    with pytest.raises(SchemaError, match="at least one feature"):
        schema.select([])


def test_a_schema_whose_ledger_was_made_cheaper_is_refused():
    def spend_of(written):
        return written["ledger"]["stages"][0]["entries"][0]

    cheaper = paid().to_dict()
    spend_of(cheaper)["loss"]["epsilon"] = "1/50"
    with pytest.raises(ModelFileError, match="follows from how it was made"):
        Schema.from_dict(cheaper)
    silent = paid().to_dict()
    spend_of(silent)["made"] = None
    with pytest.raises(SchemaError, match="does not say what it was made of"):
        Schema.from_dict(silent)


def test_replace_keeps_what_is_not_named():
    schema = paid()
    wide = NumericFeature("age", 0, 150)
    other = schema.replace(wide, target=Target("ill", classes=(0, 1, 2)))
    assert other.features == (wide, SEX)
    assert other.classes == (0, 1, 2)
    assert other.ledger is schema.ledger
    assert schema.replace(wide).target == schema.target
    assert schema.replace() == schema
    with pytest.raises(SchemaError, match="no such features"):
        schema.replace(NumericFeature("size", 0, 1))


def starter(**others):
    declared = Schema((AGE, SEX), Target("ill", classes=(0, 1)))
    return {"read_from_data": "PRIVATE", **others} | declared.to_dict()


def test_a_starter_is_void_until_it_is_edited(tmp_path):
    with pytest.warns(PrivacyLeakWarning, match="private and were not paid for"):
        schema = Schema.from_dict(starter())
    with pytest.warns(PrivacyLeakWarning):
        observed = Schema.from_frame([[30.0, "no"], [50.5, "yes"]], [0, 1])
    assert schema.ledger.reasons == observed.ledger.reasons
    assert not schema.ledger.releasable
    (tmp_path / "starter.json").write_text(json.dumps(starter()), encoding="utf-8")
    with pytest.warns(PrivacyLeakWarning):
        loaded = Schema.load(tmp_path / "starter.json")
    schema.save(tmp_path / "saved.json")
    kept = (
        Schema.from_dict(schema.to_dict()),
        Schema.load(tmp_path / "saved.json"),
        schema.select(["age"]),
        schema.replace(NumericFeature("age", 0, 150)),
    )
    for each in (loaded, *kept):
        assert each.ledger.reasons == schema.ledger.reasons
    edited = starter()
    del edited["read_from_data"]
    assert Schema.from_dict(edited).ledger is None


def test_a_starter_with_a_price_is_void_and_keeps_the_price():
    with pytest.warns(PrivacyLeakWarning):
        schema = Schema.from_dict(starter(ledger=paid().ledger.to_dict()))
    assert schema.ledger.epsilon == paid().ledger.epsilon
    assert schema.ledger.guarantee is None


def test_a_part_of_a_schema_read_from_the_data_stays_void():
    with pytest.warns(PrivacyLeakWarning):
        schema = Schema.from_frame([[30.0, "no"], [50.5, "yes"]], [0, 1])
    for part in (schema.select(["x0"]), schema.replace(NumericFeature("x0", 0, 120))):
        assert "not paid for" in part.ledger.reasons[0]
