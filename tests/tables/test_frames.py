"""Frames: every kind of table gives the same columns, and bad ones are refused without a value."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from dpforest.exceptions import SchemaError
from dpforest.schema import NumericFeature, Schema
from dpforest.tables import frames
from dpforest.tables.encode import Encoding
from dpforest.tables.frames import Frame, as_column

AB = Schema((NumericFeature("a", 0, 1), NumericFeature("b", 0, 1)))
SECRET = "Ms Secret"


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_by_name_in_any_order(make):
    frame = Frame(make({"b": [3.0, 4.0], "a": [1.0, 2.0]}))
    assert frame.names == ("b", "a")
    assert (frame.n_rows, frame.n_columns) == (2, 2)
    assert frame.column("a").tolist() == [1.0, 2.0]
    selected = frame.select(AB)
    assert selected.names == ("a", "b")
    assert selected.column(0).tolist() == [1.0, 2.0]
    assert selected.select(AB).column("b").tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    "data",
    [
        np.array([[1.0, 3.0], [2.0, 4.0]]),
        np.array([[1, 3], [2, 4]], dtype=np.int8),
        [[1.0, 3.0], [2.0, 4.0]],
        ((1, 3), (2, 4)),
        pd.DataFrame([[1.0, 3.0], [2.0, 4.0]]),
    ],
)
def test_columns_without_names_go_by_position(data):
    frame = Frame(data)
    assert frame.names is None
    assert frame.labels() == ("x0", "x1")
    assert frame.select(AB).column("b").tolist() == [3, 4]


def test_numeric_columns_of_an_array_are_views():
    table = np.zeros((5, 3))
    assert Frame(table).column(1).base is table


def test_mixed_lists_keep_their_numbers():
    assert Frame([[1, "x"], [2, "y"]]).column(0).tolist() == [1, 2]


class ArrayLike:
    def __array__(self, dtype=None, copy=None):
        return np.array([[0.5, 0.25]], dtype=dtype)


def test_whatever_turns_into_an_array_is_read():
    assert Frame(ArrayLike()).column(1).tolist() == [0.25]


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (np.zeros(4), ValueError, ["Expected 2D array", "Reshape your data"]),
        (np.zeros((2, 2, 2)), ValueError, ["Expected 2D array, got 3D"]),
        (pd.Series([1.0]), ValueError, ["Expected 2D array", "Reshape your data"]),
        (5, ValueError, ["Expected 2D array, got 0D"]),
        (np.zeros((0, 2)), SchemaError, ["empty", "0 sample(s)"]),
        (np.zeros((3, 0)), SchemaError, ["0 feature(s) (shape=(, 0)) while a minimum of 1"]),
        (pd.DataFrame({"a": []}), SchemaError, ["empty"]),
        (csr_array(np.eye(2)), TypeError, ["Sparse", "toarray"]),
        (np.array([[1j, 0]]), ValueError, ["Complex data not supported"]),
        (np.array([[b"x", b"y"]]), TypeError, ["bytes"]),
        (np.zeros(3, dtype=[("a", float)]), TypeError, ["structured"]),
        ([[1, 2], [3]], ValueError, ["X", "different lengths"]),
        (None, TypeError, ["X", "NoneType"]),
        ("data.csv", TypeError, ["X", "str"]),
        ({"a": [1]}, TypeError, ["X", "dict"]),
        (pl.LazyFrame({"a": [1]}), TypeError, ["lazy", "collect"]),
        (pd.DataFrame([[1, 2]], columns=["a", 1]), TypeError, ["only supported if all", "string"]),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), SchemaError, ["same name", "'a'"]),
        (pd.DataFrame([[1, 2]], columns=[0, 0]), SchemaError, ["same name", "0"]),
        (pa.table([[1], [2]], names=["a", "a"]), SchemaError, ["same name", "'a'"]),
    ],
)
def test_bad_tables_are_refused(data, error, words):
    with pytest.raises(error) as caught:
        Frame(data)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (pd.DataFrame({"a": [1.0]}), ["missing: 'b'", "select the declared columns"]),
        (pd.DataFrame({"a": [1.0], "b": [1.0], "c": [1.0]}), ["not in the schema: 'c'"]),
        (pd.DataFrame({"a": [1.0], "c": [1.0]}), ["missing: 'b'", "not in the schema: 'c'"]),
        (np.zeros((1, 3)), ["X has 3 features", "declares 2", "'a', 'b'"]),
        (np.zeros((1, 1)), ["X has 1 features", "declares 2"]),
    ],
)
def test_columns_must_be_those_of_the_schema(data, words):
    with pytest.raises(SchemaError) as caught:
        Frame(data).select(AB)
    for word in words:
        assert word in str(caught.value)


def test_long_lists_of_names_are_cut():
    wide = Schema([NumericFeature(f"f{i}", 0, 1) for i in range(20)])
    with pytest.raises(SchemaError, match=r"'f7' and 12 more"):
        Frame(pd.DataFrame({"z": [1.0]})).select(wide)


TABLES = [
    lambda values: pd.DataFrame({"a": values}),
    lambda values: pd.DataFrame({"a": pd.Series(values, dtype=object)}),
    lambda values: pd.DataFrame({"a": values}).convert_dtypes(),
    lambda values: pl.DataFrame({"a": values}),
    lambda values: pa.table({"a": values}),
    lambda values: np.array([[value] for value in values], dtype=object),
]


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, None, 9], [1, np.nan, 9]),
        ([1.5, None, 9.0], [1.5, np.nan, 9]),
        ([True, None, False], [1, np.nan, 0]),
        (["1", None, "9.5"], [1, np.nan, 9.5]),
        ([None, None], [np.nan, np.nan]),
    ],
)
def test_numbers_from_every_kind_of_column(make, values, expected):
    numbers = Frame(make(values)).series(0).numbers()
    np.testing.assert_array_equal(numbers.astype(float), expected)


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize(
    "values", [["x", None, "y", "x"], [True, None, False, True], [2, None, 3, 2], [None, None]]
)
def test_levels_from_every_kind_of_column(make, values):
    codes, distinct = Frame(make(values)).series(0).levels()
    found = [None if code < 0 else distinct[code] for code in codes]
    spelt = [None if value is None else float(value) if value not in ("x", "y") else value
             for value in found]  # fmt: skip
    assert spelt == values


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize("read", ["numbers", "levels"])
@pytest.mark.parametrize(
    "values", [[dt.datetime(2020, 1, 1), None], [dt.timedelta(1), None], [dt.date(2020, 1, 1)]]
)
def test_times_are_refused(make, read, values):
    with pytest.raises((SchemaError, TypeError), match=r"column '(a|x0)': .*dates") as caught:
        getattr(Frame(make(values)).series(0), read)()
    assert "2020" not in str(caught.value)


@pytest.mark.parametrize("make", TABLES[:5])
@pytest.mark.parametrize("read", ["numbers", "levels"])
def test_nested_values_are_refused(make, read):
    with pytest.raises(TypeError, match="column 'a': argument must be a string or a number"):
        getattr(Frame(make([[1], [2]])).series(0), read)()


def test_objects_are_refused_as_scikit_learn_words_it():
    table = np.array([[1.0, {"foo": "bar"}]], dtype=object)
    with pytest.raises(TypeError, match=r"argument must be .* string.* number"):
        Frame(table).series(1).numbers()


@pytest.mark.parametrize("make", TABLES)
def test_text_in_a_numeric_column_is_refused_and_not_quoted(make):
    with pytest.raises(SchemaError, match=r"column '(a|x0)': the schema says numeric") as caught:
        Frame(make(["1", SECRET])).series(0).numbers()
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__, "the traceback must not quote the value either"


@pytest.mark.parametrize(
    "y",
    [
        [1, 2],
        np.array([1, 2]),
        np.array([[1], [2]]),
        pd.Series([1, 2]),
        pd.DataFrame({"y": [1, 2]}),
        pl.Series([1, 2]),
        pa.chunked_array([[1], [2]]),
    ],
)
def test_one_value_a_record(y):
    assert as_column(y).numbers().tolist() == [1, 2]


@pytest.mark.parametrize(
    "y", [None, "target", np.zeros((2, 2)), pd.DataFrame({"a": [1], "b": [2]}), csr_array([[1]])]
)
def test_more_than_one_value_a_record_is_refused(y):
    with pytest.raises(SchemaError, match=r"^groups"):
        as_column(y, "groups")


TYPES = ["i1", "i8", "u8", "f2", "f4", "f8"]


@settings(deadline=None, max_examples=60)
@given(
    values=st.lists(st.sampled_from([0, 1, 2.5, 0.1, 7, 100, 2**53 + 1, 2**62 + 1]), min_size=3),
    types=st.lists(st.sampled_from(TYPES), min_size=4, max_size=4),
    make=st.sampled_from([pd.DataFrame, pl.DataFrame, pa.table]),
)
def test_small_tables_are_read_like_large_ones(values, types, make):
    # Values beyond a type wrap around or become infinite: any numbers will do.
    with np.errstate(all="ignore"):
        columns = {f"c{j}": np.array(values).astype(kind) for j, kind in enumerate(types)}
    if make is pl.DataFrame:
        columns = {n: c.astype("f4") if c.dtype == "f2" else c for n, c in columns.items()}
    table = make(columns)
    encoding = Encoding.from_schema(
        Schema([NumericFeature(f"c{j}", 0, 2.0**60, cuts=(0.1, 7, 2.0**53)) for j in range(4)])
    )
    with pytest.MonkeyPatch.context() as patch:
        small = encoding.bins(table)
        patch.setattr(frames, "SMALL_TABLE", 0)
        np.testing.assert_array_equal(small, encoding.bins(table))
