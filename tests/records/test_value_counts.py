"""Counts of values: a value's cell follows from that value alone, in every container."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpforest.records.value_counts import (
    N_MAGNITUDES,
    kind_counts,
    level_counts,
    magnitude,
    magnitude_counts,
    plain_value,
)
from dpforest.tables.columns import Column, as_column


def objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def column(values):
    return Column(objects(values), "a")


def histograms(column):
    """All counts of a column by name and cell; cells of no records are left out."""
    found = {("kind", i): n for i, n in enumerate(kind_counts(column))}
    found |= {("size", i): n for i, n in enumerate(magnitude_counts(column))}
    for numbers in (False, True):
        levels = zip(*level_counts(column, numbers=numbers), strict=True)
        found |= {("levels by number" if numbers else "levels", v): n for v, n in levels}
    return {cell: int(n) for cell, n in found.items() if n}


def test_each_record_is_in_one_cell():
    values = np.array([0, 1, 1.5, 2, -2, 1e300, np.inf, -np.inf, np.nan, 1e-300])
    counts = magnitude_counts(Column(values, "a"))
    assert counts.sum() == 9
    cells = {int(k) - N_MAGNITUDES: int(counts[k]) for k in np.flatnonzero(counts)}
    one = 64
    assert (cells[one], cells[one + 1], cells[-one - 1]) == (1, 2, 1)
    assert (cells[0], cells[N_MAGNITUDES], cells[-N_MAGNITUDES]) == (2, 2, 1)
    assert (magnitude(one - 1), magnitude(one), magnitude(0)) == (0.5, 1.0, 0.0)


def test_each_record_is_in_one_category():
    mixed = np.array(["1", 1, 1.0, True, "a", None, "b", "a"], dtype=object)
    for values in (mixed, mixed[::-1]):
        levels, counts = level_counts(Column(values, "a"), numbers=False)
        assert levels == ["1", "a", "b"]
        assert counts.tolist() == [4, 2, 1]


@pytest.mark.parametrize("order", [1, -1])
def test_a_number_counts_whatever_equals_it(order):
    mixed = column([1 + 0j, 1, 1][::order])
    assert kind_counts(mixed).tolist() == [0, 2, 0, 0]
    assert level_counts(mixed, numbers=True)[1].tolist() == [2]
    assert magnitude_counts(mixed).sum() == 2


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, 1),
        (np.False_, 1),
        ("true", 1),
        ("FALSE", 1),
        (3, 1),
        (np.int8(3), 1),
        (3.0, 1),
        ("3", 1),
        ("3.0", 1),
        (Decimal("3.00"), 1),
        (Fraction(6, 2), 1),
        (2**70, 1),
        ("9" * 400, 3),
        (3.5, 2),
        (np.float32(0.1), 2),
        ("3.5", 2),
        (Decimal("0.1"), 2),
        (np.longdouble(0.5), 2),
        ("old", 3),
        ("1_000", 3),
        ("", None),
        (None, None),
        (np.nan, None),
        (np.inf, None),
        (Decimal("sNaN"), None),
        (pd.NA, None),
        (pd.NaT, None),
        (pd.Timestamp("2020-01-01"), None),
        ([1], None),
        (10**400, None),
        (Decimal("1E+1000000"), None),
        (np.datetime64("2020-01-01", "ns"), None),
        (np.timedelta64(3, "ns"), None),
        (np.timedelta64(3), None),  # which has no hash
    ],
)
def test_kinds_follow_from_the_value(value, kind):
    expected = [0, 0, 0, 0]
    if kind is not None:
        expected[kind] = 1
    assert kind_counts(column([value])).tolist() == expected


ODD = [
    None,
    np.nan,
    pd.NA,
    True,
    1.0,
    "1",
    2,
    2.5,
    np.float32(0.1),
    2**60 + 1,
    Decimal("1.5"),
    "",
    "unknown",
    "7",
    "7.5",
    "true",
    pd.Timestamp("2020-01-01"),
    [1],
    {"a": 1},
    np.inf,
    10**400,
    np.timedelta64(3),
    np.timedelta64(3, "ns"),
]
TABLES = {
    "whole": [1, 2, 3, 2**53 + 1],
    "floats": [1.0, 2.5, float("nan")],
    "float32": [np.float32(0.1), np.float32(2)],
    "booleans": [True, False, True],
    "texts": ["red", "blue", "red"],
    "spelt": ["1", "01", "2.0", "true", "x"],
    "exact": [Decimal("0.1"), Decimal(2)],
}


def assert_one_record_more(before, after):
    """In each histogram one cell holds one record more, or none does."""
    for name in ("kind", "size", "levels", "levels by number"):
        cells = {cell for cell in before | after if cell[0] == name}
        changes = [after.get(cell, 0) - before.get(cell, 0) for cell in cells]
        assert sorted(filter(None, changes)) in ([], [1])


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("make", [objects, lambda values: pd.Series(values, dtype=object)])
def test_one_record_changes_one_cell_by_one(make, table, odd):
    values = TABLES[table] * 5
    before = histograms(as_column(make(values)))
    # Equal values of other types meet in both orders: the first must not speak for the others.
    for records in ([odd, *values], [*values, odd]):
        assert_one_record_more(before, histograms(as_column(make(records))))


@pytest.mark.parametrize("odd", [None, np.nan, "unknown", "", True, 2.5, 7], ids=repr)
@pytest.mark.parametrize("table", TABLES)
def test_the_type_that_pandas_finds_changes_nothing(table, odd):
    """Pandas makes floats or objects of a column once the odd record is in it."""
    values = TABLES[table] * 5
    before, after = (as_column(pd.Series(records)) for records in (values, [*values, odd]))
    assert_one_record_more(histograms(before), histograms(after))


@pytest.mark.parametrize(
    "array",
    [
        np.array([True, False]),
        np.array([1, -2, 2**40]),
        np.array([2**64 - 1, 3], dtype=np.uint64),
        np.array([0.5, 2.0, np.nan, np.inf, -0.0, 1e-300]),
        np.array([0.1, 2.0, np.nan], dtype=np.float32),
        np.array([0.1, np.inf], dtype=np.float16),
        np.array([0.1, 2, np.nan], dtype=np.longdouble),
        np.array(["1", "a", "a"]),
    ],
)
def test_typed_arrays_count_as_their_values(array):
    typed = histograms(Column(array, "a"))
    assert typed == histograms(column(list(array)))
    assert typed == histograms(Column(array.astype(object), "a"))


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([1, 2, None], dtype="Int64"),
        pd.Series(["1", "2", None], dtype="category"),
        pl.Series([1, 2, None]),
        pl.Series(["1", "2", None]),
        pl.Series(["1", "2", None], dtype=pl.Categorical),
        pl.Series([Decimal(1), Decimal(2), None]),
        pa.chunked_array([[1, 2, None]]),
        pa.chunked_array([["1", "2", None]]),
    ],
)
def test_frames_count_as_their_values(series):
    assert histograms(as_column(series)) == histograms(column([1, 2]))


def test_numbers_are_the_nearest_doubles():
    """So a container that made doubles of integers, for one that is missing, changes nothing."""
    large = [2**53, 2**53 + 1, 2**53 + 2]
    counted = histograms(column(large))
    assert counted == histograms(as_column(pl.Series([*large, None])))
    assert counted == histograms(as_column(pd.Series([*large, None], dtype="Int64")))
    assert counted == histograms(as_column(np.array(large, dtype=np.float64)))
    assert level_counts(column(large), numbers=True)[0] == [2**53, 2**53 + 2]
    assert plain_value(np.int64(5)) == 5
    assert isinstance(plain_value(5.0), int)
