"""Encoding: the same bins from every kind of table, by the rule `value <= cuts[b] <=> bin <= b`."""

import math
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.exceptions import SchemaError
from dpforest.schema import CategoricalFeature, NumericFeature, Schema
from dpforest.schema.categories import CategoryIndex
from dpforest.tables.encode import Encoding, encode_labels, encode_target, public_cuts

NAN = math.nan


def one(feature, max_bins=255):
    return Encoding.from_schema(Schema((feature,)), max_bins)


def bins_of(feature, values, max_bins=255):
    table = np.array([[value] for value in values], dtype=object)
    return one(feature, max_bins).bins(table).ravel().tolist()


def test_even_cuts():
    assert public_cuts(NumericFeature("a", 0, 8), 4).tolist() == [2, 4, 6]
    assert bins_of(NumericFeature("a", 0, 8), [0, 2, 2.1, 4, 6, 6.1, 8], 4) == [0, 0, 1, 1, 2, 3, 3]


def test_integers_with_few_values_get_a_bin_each():
    feature = NumericFeature("a", -1, 3, integer=True)
    assert public_cuts(feature, 5).tolist() == [-0.5, 0.5, 1.5, 2.5]
    assert bins_of(feature, [-1, 0, 1, 2, 3], 5) == [0, 1, 2, 3, 4]
    assert one(feature, 5).n_bins.tolist() == [6]


def test_integers_with_many_values_are_cut_between_integers():
    cuts = public_cuts(NumericFeature("a", 0, 1000, integer=True), 16)
    assert cuts.size == 15
    np.testing.assert_array_equal(cuts % 1, 0.5)


def test_declared_cuts_are_taken_as_they_are():
    feature = NumericFeature("gain", 0, 99_999, cuts=(0, 5000))
    assert bins_of(feature, [0, 1, 5000, 5001], max_bins=2) == [0, 1, 1, 2]
    assert bins_of(NumericFeature("a", 0, 1, cuts=()), [0, 1, None]) == [0, 0, 1]


def test_bounds_closer_than_the_cuts_wanted():
    feature = NumericFeature("a", 1.0, math.nextafter(1.0, 2))
    assert bins_of(feature, [1.0, math.nextafter(1.0, 2)]) == [0, 1]


@pytest.mark.parametrize("cuts", [None, (-5.0,), (-5.0, -4.9, 3.0)])
def test_values_beyond_the_bounds_are_clipped_and_missing_ones_have_a_bin(cuts):
    feature = NumericFeature("a", -5, 5, cuts=cuts)
    last = int(one(feature).n_values[0]) - 1
    found = bins_of(feature, [-math.inf, -1e300, -5, 5, 1e300, math.inf, NAN, None])
    assert found == [0, 0, 0, last, last, last, last + 1, last + 1]


@pytest.mark.parametrize("max_bins", [1, 0, 256])
def test_max_bins_fits_a_byte(max_bins):
    with pytest.raises(ValueError, match="max_bins must be between 2 and 255"):
        one(NumericFeature("a", 0, 1), max_bins)


@settings(deadline=None, max_examples=200)
@given(
    points=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=300, unique=True),
    declared=st.booleans(),
    max_bins=st.integers(2, 255),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_bin_is_the_number_of_cuts_below(points, declared, max_bins, dtype):
    points = sorted(points)
    cuts = points[1:-1][:254] if declared else None
    feature = NumericFeature("a", points[0], points[-1], cuts=cuts)
    encoding = one(feature, max_bins)
    edges = encoding.cuts[0]
    near = [points, edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf), [NAN]]
    values = np.concatenate(near).astype(dtype)
    expected = np.searchsorted(edges, np.clip(values, feature.low, feature.high).astype(float))
    expected[np.isnan(values)] = encoding.n_values[0]
    np.testing.assert_array_equal(encoding.bins(values[:, np.newaxis]).ravel(), expected)


@pytest.mark.parametrize("n_cuts", [1, 30, 31, 32, 33, 63, 64, 254])
def test_all_cuts_are_counted_however_many(n_cuts):
    edges = np.arange(1, n_cuts + 1) ** 1.5  # not even, so they are searched
    values = np.append(edges + 0.1, [0.0, edges[-1] + 1])
    feature = NumericFeature("a", 0, edges[-1] + 2, cuts=tuple(edges))
    expected = [*range(1, n_cuts + 1), 0, n_cuts, n_cuts + 1]
    assert bins_of(feature, [*values, NAN]) == expected


SCHEMA = Schema(
    (
        NumericFeature("real", -10, 10),
        NumericFeature("count", 0, 20, integer=True),
        CategoricalFeature("text", ("x", "y", "z")),
        CategoricalFeature("truth", (False, True)),
        CategoricalFeature("code", ("1", "2", "30")),
    )
)
ROW = st.tuples(
    st.none() | st.floats(-12, 12),
    st.none() | st.integers(-2, 22),
    st.none() | st.sampled_from(["x", "y", "z", "other"]),
    st.none() | st.booleans(),
    st.none() | st.sampled_from([1, 2, 30, 4]),
)


def expected_bins(encoding, row):
    real, count, text, truth, code = row
    found = []
    for j, value in enumerate((real, count)):
        cuts, n_values = encoding.cuts[j], int(encoding.n_values[j])
        found.append(n_values if value is None else int(np.searchsorted(cuts, value)))
    for values, value in (("xyz", text), ((False, True), truth), ((1, 2, 30), code)):
        values = list(values)
        unseen = values.index(value) if value in values else len(values) + 1
        found.append(len(values) if value is None else unseen)
    return found


@settings(deadline=None, max_examples=60)
@given(rows=st.lists(ROW, min_size=1, max_size=12), order=st.permutations(range(5)))
def test_every_kind_of_table_gives_the_same_bins(rows, order):
    encoding = Encoding.from_schema(SCHEMA, max_bins=16)
    columns = {name: [row[j] for row in rows] for j, name in enumerate(SCHEMA.feature_names)}
    mixed = {SCHEMA.feature_names[j]: columns[SCHEMA.feature_names[j]] for j in order}
    types = {"real": pl.Float64, "count": pl.Int64, "text": pl.String, "truth": pl.Boolean}
    polars = pl.DataFrame(mixed, schema_overrides=types | {"code": pl.Int64})
    frame = pd.DataFrame(mixed)
    categorical = frame.astype({"text": "category", "truth": "category", "code": "category"})
    tables = {
        "polars": polars,
        "polars categorical": polars.with_columns(pl.col("text").cast(pl.Categorical)),
        "polars text": polars.with_columns(pl.col("code").cast(pl.String)),
        "pyarrow": polars.to_arrow(),
        "pandas": frame,
        "pandas nullable": frame.convert_dtypes(),
        "pandas categorical": categorical,
        "pandas objects": frame.astype(object),
        "objects": np.array(rows, dtype=object),
        "lists": [list(row) for row in rows],
    }
    expected = np.array([expected_bins(encoding, row) for row in rows])
    for kind, table in tables.items():
        bins = encoding.bins(table)
        np.testing.assert_array_equal(bins, expected, err_msg=kind)
        assert bins.dtype == np.uint8
        assert bins.flags.c_contiguous


def table_layouts(table):
    frozen = table.copy()
    frozen.flags.writeable = False
    wide = np.repeat(table, 2, axis=1)[:, ::2]
    return [table, np.asfortranarray(table), frozen, wide, table[::-1][::-1], table.tolist()]


def test_what_a_masked_array_masks_is_missing():
    encoding = Encoding.from_schema(Schema((NumericFeature("a", 0, 1), NumericFeature("b", 0, 1))))
    values, mask = np.array([[0.2, 0.9], [0.7, 0.1]]), np.array([[True, False], [False, True]])
    found = encoding.bins(np.ma.masked_array(values, mask))
    np.testing.assert_array_equal(found, encoding.bins(np.where(mask, np.nan, values)))
    with pytest.raises(SchemaError, match="missing labels"):
        encode_labels(np.ma.masked_array([0, 1], [False, True]), (0, 1))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "u2", "i4", "i8", "u8", "?"])
def test_number_arrays_of_every_type_and_layout(dtype):
    table = np.random.default_rng(0).integers(0, 2 if dtype == "?" else 100, (50, 3)).astype(dtype)
    schema = Schema(
        (
            NumericFeature("a", 0, 100),
            CategoricalFeature("b", tuple(range(50))),
            NumericFeature("c", 0, 100, cuts=(3, 50, 51)),
        )
    )
    encoding = Encoding.from_schema(schema, 10)
    expected = np.column_stack(
        [
            np.searchsorted(encoding.cuts[0], table[:, 0].astype(float)),
            np.where(table[:, 1] < 50, table[:, 1], 51),
            np.searchsorted([3, 50, 51], table[:, 2].astype(float)),
        ]
    )
    for layout in table_layouts(table):
        np.testing.assert_array_equal(encoding.bins(layout), expected)


@pytest.mark.parametrize("n_jobs", [1, 2, None])
def test_threads_do_not_matter(n_jobs):
    table = np.random.default_rng(0).random((50_001, 3), dtype=np.float32)
    encoding = Encoding.from_schema(Schema([NumericFeature(n, 0, 1) for n in "abc"]), 32)
    expected = np.searchsorted(encoding.cuts[0], table.astype(float))
    np.testing.assert_array_equal(encoding.bins(table, n_jobs=n_jobs), expected)


def test_255_categories_leave_one_bin_for_missing_and_unseen():
    encoding = one(CategoricalFeature("c", tuple(f"c{i}" for i in range(255))))
    assert encoding.n_bins.tolist() == [256]
    assert encoding.unseen.tolist() == [255]
    assert encoding.bins([["c254"], [None], ["new"]]).ravel().tolist() == [254, 255, 255]
    fewer = one(CategoricalFeature("c", tuple(f"c{i}" for i in range(254))))
    assert (fewer.n_bins.tolist(), fewer.unseen.tolist()) == ([256], [255])
    assert one(NumericFeature("a", 0, 1)).unseen.tolist() == [-1]


def test_float32_finds_its_categories():
    encoding = one(CategoricalFeature("c", (0.1, "0.2", 3)))
    table = np.array([[0.1], [0.2], [3], [0.3]], dtype=np.float32)
    assert encoding.bins(table).ravel().tolist() == [0, 1, 2, 4]


def test_texts_match_texts_exactly_and_all_else_by_number():
    index = CategoryIndex(("01", "1", "True", "x", 7, 2.5))
    found = {value: index.position(value) for value in ("1", "01", "x", "X", "7", "7.0", "2.50")}
    assert found == {"1": 1, "01": 0, "x": 3, "X": -1, "7": 4, "7.0": 4, "2.50": 5}
    assert index.position(1) == 1
    assert index.position(1.0) == 1
    assert index.position(np.float32(2.5)) == 5
    assert index.position(7.5) == -1
    assert CategoryIndex(("no", "TRUE")).position(True) == 1
    assert CategoryIndex((False, True)).position("true") == 1
    assert CategoryIndex(("1_0", " 2", "nan", "inf")).position(10) == -1


CODES = [1, 0, 2, 1]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["b", "a", "c", "b"], ("a", "b", "c")),
        (np.array(["b", "a", "c", "b"]), ("a", "b", "c")),
        (np.array(["b", "a", "c", "b"], dtype=object), ("a", "b", "c")),
        (pd.Series(["b", "a", "c", "b"], dtype="category"), ("a", "b", "c")),
        (pd.Series([2, 1, 3, 2], dtype="category"), (1, 2, 3)),
        (pd.Series([2, 1, 3, 2], dtype="Int64"), (1, 2, 3)),
        (pl.Series(["b", "a", "c", "b"], dtype=pl.Categorical), ("a", "b", "c")),
        (pl.Series(["b", "a", "c", "b"], dtype=pl.Enum(["c", "b", "a"])), ("a", "b", "c")),
        (pa.chunked_array([["b", "a"], ["c", "b"]]), ("a", "b", "c")),
        (pa.chunked_array([["b", "a"], ["c", "b"]]).dictionary_encode(), ("a", "b", "c")),
        ([2, 1, 3, 2], (1, 2, 3)),
        ([2.0, 1.0, 3.0, 2.0], (1, 2, 3)),
        ([2, 1, 3, 2], ("1", "2", "3")),
        (["2", "1", "3", "2"], (1, 2, 3)),
        (np.array([2, 1, 3, 2], dtype=np.uint8), (1.0, 2.0, 3.0)),
    ],
)
def test_labels_of_every_kind(labels, classes):
    codes = encode_labels(labels, classes)
    assert codes.tolist() == CODES
    assert codes.dtype == np.int32


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([True, False], (False, True)),
        (np.array([True, False]), (False, True)),
        ([1, 0], (False, True)),
        ([True, False], (0, 1)),
        ([True, False], ("False", "True")),
        (pl.Series([True, False]), ("false", "true")),
        (pd.Series([True, False], dtype="boolean"), (False, True)),
    ],
)
def test_boolean_labels(labels, classes):
    assert encode_labels(labels, classes).tolist() == [1, 0]


@pytest.mark.parametrize("missing", [None, NAN, pd.NA, pd.NaT, np.datetime64("NaT")])
def test_missing_labels_are_refused(missing):
    with pytest.raises(SchemaError, match="y contains missing labels"):
        encode_labels(np.array(["a", missing], dtype=object), ("a", "b"))


@pytest.mark.parametrize("label", ["Ms Secret", 77, 0.5, math.inf])
def test_unknown_labels_are_refused_and_not_quoted(label):
    with pytest.raises(SchemaError, match=r"declared classes \[0, 1\]") as caught:
        encode_labels([0, 1, label], (0, 1))
    assert str(label) not in str(caught.value)


def test_objects_as_labels_are_refused():
    with pytest.raises(TypeError, match="column y: argument must be a string or a number"):
        encode_labels(np.array([object(), "a"], dtype=object), ("a", "b"))


@pytest.mark.parametrize(
    "y", [[-5, 0.5, 5], np.array([-5, 0.5, 5], np.float32), ["-5", "0.5", "5"]]
)
def test_target_is_clipped(y):
    values = encode_target(y, -1, 1)
    assert values.tolist() == [-1, 0.5, 1]
    assert values.dtype == np.float64


def test_target_leaves_its_input_alone():
    y = np.array([-5.0, 5.0])
    encode_target(y, 0, 1)
    assert y.tolist() == [-5, 5]


def test_bad_targets_are_refused():
    with pytest.raises(SchemaError, match="y contains missing values"):
        encode_target([1.0, None], 0, 1)
    with pytest.raises(SchemaError, match="no numbers") as caught:
        encode_target(["Ms Secret"], 0, 1)
    assert "Secret" not in str(caught.value)


@pytest.mark.parametrize("kind", ["array", "pandas", "polars", "texts"])
def test_memory_stays_below_four_bytes_a_value(kind):
    n, d = 200_000, 10
    table = np.random.default_rng(0).random((n, d))
    names = [f"f{j}" for j in range(d)]
    features = [NumericFeature(name, 0, 1) for name in names]
    data = {"array": table, "pandas": pd.DataFrame(table, columns=names)}.get(kind)
    if kind == "polars":
        data = pl.DataFrame(table, schema=names)
    if kind == "texts":
        data = pd.DataFrame({name: np.where(table[:, 0] < 0.5, "a", "b") for name in names})
        features = [CategoricalFeature(name, ("a", "b")) for name in names]
    encoding = Encoding.from_schema(Schema(features), 32)
    encoding.bins(data[:100])
    tracemalloc.start()
    encoding.bins(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * n * d
