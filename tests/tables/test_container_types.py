"""What the types of containers declare, and that lists and objects declare nothing."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpforest.tables.container_types import series_type, table_types

COLUMNS = {"n": [1, 2], "x": [0.5, 1.0], "b": [True, False], "c": ["u", "v"]}
EXPECTED = {"n": "integer", "x": "number", "b": "boolean", "c": "category"}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_declare_their_types(make):
    assert table_types(make(COLUMNS), tuple(COLUMNS)) == EXPECTED


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([1], np.uint8), "integer"),
        (np.array([1.0], np.float32), "number"),
        (np.array(["a"]), "category"),
        (np.array(["a"], dtype=object), None),
        ([1, 2], None),
        (["a"], None),
        (pd.Series([1, None], dtype="Int64"), "integer"),
        (pd.Series([True, None], dtype="boolean"), "boolean"),
        (pd.Series(["a"], dtype="category"), "category"),
        (pd.Series(["a"], dtype=object), None),
        (pd.Series([1], dtype=object), None),
        (pl.Series([Decimal("0.1")]), "number"),
        (pl.Series(["a"], dtype=pl.Enum(["a"])), "category"),
        (pl.Series([None]), None),
        (pd.to_datetime(pd.Series(["2020-01-01"])), None),
    ],
)
def test_series_and_arrays_declare_their_type(values, expected):
    assert series_type(values) == expected


def test_a_table_without_types_declares_nothing():
    assert table_types([[1, "a"]], ("x0", "x1")) == {}
    assert table_types(np.array([[1, "a"]], dtype=object), ("x0", "x1")) == {}
    mixed = pd.DataFrame({"a": pd.Series(["u"], dtype=object), "b": [1]})
    assert table_types(mixed, ("a", "b")) == {"b": "integer"}
