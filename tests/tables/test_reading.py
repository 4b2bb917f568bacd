"""Reading is local: how a record is read depends on it and the schema, whatever stands beside it.

D and D + r are built in the same kind of container by its ordinary constructor. Where the container
still holds the values of D (as numbers or as texts that spell them), the records of D must be
read alike in both.
"""

import datetime as dt
import math
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.exceptions import SchemaError
from dpforest.records.groups import person_keys
from dpforest.schema import CategoricalFeature, NumericFeature, Schema
from dpforest.tables.encode import Encoding, encode_labels, encode_target

NAN = math.nan
BIG = 2**53
TENTH = np.float32(0.1)


def columns_of(rows):
    return {f"c{j}": list(column) for j, column in enumerate(zip(*rows, strict=True))}


def convert(rows, backend):
    return pd.DataFrame(columns_of(rows)).convert_dtypes(dtype_backend=backend)


def polars(rows):
    if any(isinstance(value, Decimal) and value.is_nan() for row in rows for value in row):
        raise ValueError("polars panics at Decimal('NaN')")
    return pl.DataFrame(columns_of(rows), strict=False)


def arrow(rows):
    return pa.table({name: pa.array(column) for name, column in columns_of(rows).items()})


def dictionaries(rows):
    table = arrow(rows)
    return pa.table({name: table[name].dictionary_encode() for name in table.column_names})


CONTAINERS = {
    "lists": list,
    "tuples": lambda rows: tuple(map(tuple, rows)),
    "numpy": np.array,
    "numpy objects": lambda rows: np.array(rows, dtype=object),
    "pandas": lambda rows: pd.DataFrame(columns_of(rows)),
    "pandas objects": lambda rows: pd.DataFrame(columns_of(rows), dtype=object),
    "pandas nullable": lambda rows: convert(rows, "numpy_nullable"),
    "pandas arrow": lambda rows: convert(rows, "pyarrow"),
    "pandas categories": lambda rows: pd.DataFrame(columns_of(rows)).astype("category"),
    "polars": polars,
    "pyarrow": arrow,
    "pyarrow dictionaries": dictionaries,
}
CONVERTED = ("pandas nullable", "pandas arrow")  # convert_dtypes takes whole floats for integers

REFUSALS = (ValueError, TypeError, OverflowError, pa.ArrowException, pl.exceptions.PolarsError)


def column_at(table, j):
    """One column, as one passes y or groups."""
    if isinstance(table, list | tuple):
        return [row[j] for row in table]
    if isinstance(table, np.ndarray):
        return table[:, j]
    if isinstance(table, pd.DataFrame):
        return table.iloc[:, j]
    return table[table.columns[j]] if isinstance(table, pl.DataFrame) else table.column(j)


def held_values(column):
    """What a container holds now, value by value."""
    if isinstance(column, list):
        return column
    return column.to_pylist() if isinstance(column, pa.ChunkedArray) else column.tolist() \
        if isinstance(column, np.ndarray | pd.Series) else column.to_list()  # fmt: skip


def value_of(value, number=float):
    """Say what a container holds, by words that are not the library's: a number, text or gap."""
    if (
        value is None
        or value is pd.NA
        or value is pd.NaT
        or value != value
        or value in ("nan", "NaN")
    ):
        return "missing"
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, str):
        text = {"true": "1", "false": "0"}.get(value.lower(), value)
        try:
            return number(text)
        except (ValueError, OverflowError):
            return value
    if isinstance(value, complex | np.complexfloating) and not value.imag:
        value = value.real
    if isinstance(value, np.longdouble):
        value = float(value)
    try:
        return number(value.item() if isinstance(value, np.generic) else value)
    except OverflowError:
        return math.copysign(math.inf, 1 if value > 0 else -1)
    except TypeError:
        return repr(value)  # NumPy makes times of numbers beside a time


def kept(column, values, number=float):
    """Tell whether a container still holds these values."""
    held = held_values(column)[: len(values)]
    return [value_of(v, number) for v in held] == [value_of(v, number) for v in values]


def build(kind, rows):
    """Return the table, or None when the container itself refuses the rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas and NumPy, about mixtures
        try:
            return CONTAINERS[kind](rows)
        except REFUSALS:
            return None


NUMBERS = [
    st.integers(-12, 12),
    st.floats(-12, 12, allow_nan=False) | st.sampled_from([0.1, -0.0, math.inf, -math.inf, 1e-7]),
    st.booleans(),
    st.sampled_from([TENTH, np.float32(2.5), np.float32(-3)]),
    st.sampled_from([BIG - 1, BIG + 1, BIG + 3, -BIG - 1, 2**62 + 1, 2**63 + 2**11 + 1]),
    st.sampled_from([Decimal("0.1"), Decimal("2.50"), Decimal(7)]),
    st.sampled_from(["0.1", "7", "2.50", " 3", "true", "", "1e3"]),
]
TEXTS = [st.sampled_from(["a", "b", "01", "1", "1.0", "0.1", "True", "", "other", "nan"])]
GAPS = [None, NAN, pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT"), "", "nan"]
STRANGE = [10**400, Decimal("NaN"), Fraction(1, 3), b"x", 1j, dt.date(2020, 1, 1), [1], {"a": 1}]
ODD = (
    st.sampled_from(GAPS)
    | st.sampled_from(["word", "1.0", 0, 0.5, True, TENTH, np.float16(0.1), np.longdouble("0.1")])
    | st.sampled_from([BIG + 1, 2**64, -(2**70), math.inf, 1e300, Decimal("0.1")])
    | st.sampled_from([*STRANGE, np.datetime64("2020-01-01"), np.timedelta64(5, "D")])
)


@st.composite
def tables(draw, *pools, gaps=True):
    """Rows whose columns hold values of one sort, or of several, with or without gaps."""
    n = draw(st.integers(1, 5))
    columns = []
    for pool in pools:
        sort = draw(st.sampled_from([*pool, st.one_of(pool)]))
        if gaps and draw(st.booleans()):
            sort |= st.sampled_from([None, NAN])
        columns.append(draw(st.lists(sort, min_size=n, max_size=n)))
    return [list(row) for row in zip(*columns, strict=True)]


SCHEMA = Schema(
    (
        NumericFeature("c0", -10, 10, cuts=(-3, 0, 0.1, float(TENTH), 2.5, 7)),
        NumericFeature("c1", -(2.0**60), 2.0**60, cuts=(-(2.0**53), 0, 2.0**53 - 1, 2.0**53)),
        CategoricalFeature("c2", (0.1, 0.2, 1, 7, "2.5", BIG, "true story")),
        CategoricalFeature("c3", ("a", "b", "01", "1", "0.1", "")),
    )
)
ENCODING = Encoding.from_schema(SCHEMA)


def refused(read):
    """Return what was read, or None when it was refused."""
    try:
        return read()
    except (SchemaError, TypeError, ValueError):
        return None


@settings(deadline=None, max_examples=100)
@given(
    rows=tables(NUMBERS, NUMBERS, NUMBERS + TEXTS, NUMBERS + TEXTS),
    odd=st.lists(ODD, min_size=4, max_size=4),
)
def test_no_record_changes_the_bins_of_others(rows, odd):
    expected = ENCODING.bins(rows)
    alone = refused(lambda: ENCODING.bins(np.array([[*odd, None]], dtype=object)[:, :4]))
    for kind in CONTAINERS:
        fewer, more = build(kind, rows), build(kind, [*rows, odd])
        if fewer is not None and all_kept(kind, fewer, rows):
            np.testing.assert_array_equal(ENCODING.bins(fewer), expected, err_msg=kind)
        if more is None or not all_kept(kind, more, rows):
            continue
        found = refused(lambda table=more: ENCODING.bins(table))
        if found is None:
            # polars makes texts of what it does not know: pd.NA is "<NA>", and no number.
            assert alone is None or kind == "polars", kind
        else:
            np.testing.assert_array_equal(found[: len(rows)], expected, err_msg=kind)


def all_kept(kind, table, rows):
    columns = [kept(column_at(table, j), [row[j] for row in rows]) for j in range(len(rows[0]))]
    if not all(columns):
        # NumPy writes float32 0.1 as "0.1", another double; polars nulls what it cannot hold.
        assert kind in ("numpy", "polars"), kind
    return all(columns)


CLASSES = (0, 1, 0.1, "7", "x", BIG)
LABELS = [
    st.sampled_from([0, 1, 7, BIG, BIG + 1]),
    st.sampled_from([0.0, 1.0, 0.1, 7.0]),
    st.booleans(),
    st.sampled_from([TENTH, np.float32(7)]),
    st.sampled_from(["x", "7", "1", "0.1", "true"]),
]


@settings(deadline=None, max_examples=100)
@given(
    rows=tables(LABELS, NUMBERS[:5], gaps=False),
    odd=st.one_of(LABELS),
    number=st.one_of(NUMBERS[:5]),
)
def test_no_record_changes_the_targets_of_others(rows, odd, number):
    labels = encode_labels([row[0] for row in rows], CLASSES)
    targets = encode_target([row[1] for row in rows], -10, 2.0**60)
    for kind in CONTAINERS:
        for more in ([], [[odd, number]]):
            table = build(kind, rows + more)
            if table is not None and all_kept(kind, table, rows + more):
                found = encode_labels(column_at(table, 0), CLASSES)[: len(rows)]
                np.testing.assert_array_equal(found, labels, err_msg=kind)
                found = encode_target(column_at(table, 1), -10, 2.0**60)[: len(rows)]
                np.testing.assert_array_equal(found, targets, err_msg=kind)


IDS = [
    st.integers(-2, 9),
    st.sampled_from([BIG - 1, BIG, BIG + 1, BIG + 2, 2**63 + 1, 2**63 + 2]),
    st.sampled_from([2**64 + 1, 2**64 + 2]),
    st.sampled_from([0.0, 1.0, -0.0, 2.0**53 - 1]),
    st.booleans(),
    st.sampled_from([np.float32(1), np.float32(2**24 - 1)]),
    st.sampled_from(["1", "1.0", "01", "True", "ann", "Ann", "0", "1e3", str(BIG), str(BIG + 1)]),
    st.sampled_from([Decimal(1), Decimal("1.0"), Decimal(BIG + 1)]),
]


def partition(codes):
    """Each record's first companion: equal for two lists just when they are parted alike."""
    first = {}
    return [first.setdefault(code, i) for i, code in enumerate(codes.tolist())]


@settings(deadline=None, max_examples=100)
@given(rows=tables(IDS, gaps=False), odd=ODD | st.one_of(IDS))
def test_no_record_merges_or_splits_other_persons(rows, odd):
    ids = [row[0] for row in rows]
    expected = partition(person_keys(ids))
    alone = refused(lambda: person_keys([0, odd]))
    for kind in CONTAINERS:
        for more in ([], [[odd]]):
            table = build(kind, rows + more)
            if table is None:
                continue
            column = column_at(table, 0)
            found = refused(lambda column=column: person_keys(column))
            if not kept(column, ids, Fraction):
                # Rounded to floats: refused, unless pandas then took the floats for integers.
                assert found is None or (kind in CONVERTED and max(ids) > BIG), kind
            elif found is None:
                # Refused: for r, or because the container made a gap of it or large floats of all.
                held = held_values(column)
                large = [v for v in held if isinstance(v, float) and not abs(v) < BIG]
                assert large or None in held or (more and alone is None), kind
            else:
                assert partition(found[: len(ids)]) == expected, kind
