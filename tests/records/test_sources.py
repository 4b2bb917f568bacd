"""Sources: the same model as in memory, bit for bit; bad ones are refused; nothing private stays.

Blocks are made small here, so that small tables have several.
"""

import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

from dpforest import (
    CategoricalFeature,
    GreedyForestClassifier,
    MatrixForestClassifier,
    MatrixForestPredictor,
    MedianForestClassifier,
    MedianForestRegressor,
    NumericFeature,
    ParquetTable,
    PrivacyLeakWarning,
    PrivateForestClassifier,
    PrivateForestRegressor,
    RandomDecisionForestClassifier,
    Schema,
    SchemaError,
    SourceChangedError,
    Target,
    evaluate,
)
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.records import private_file
from dpforest.tables import streams
from dpforest.tables.encode import Encoding
from dpforest.tables.sources import as_source
from tests.tables import not_texts

N, BLOCK = 1_100, 300
FEATURES = (
    NumericFeature("age", 0, 120, integer=True),
    NumericFeature("income", -10, 10),
    CategoricalFeature("town", ("a", "b", "c")),
)
CLASSES = Schema(FEATURES, Target("ill", classes=("no", "yes", "may be")))
NUMBERS = Schema(FEATURES, Target("cost", low=0, high=5))
FORESTS = {
    "flagship": PrivateForestClassifier(n_estimators=12),
    "flagship, pure": PrivateForestClassifier(n_estimators=12, delta=0.0),
    "flagship, numbers": PrivateForestRegressor(n_estimators=12),
    "random, disjoint": RandomDecisionForestClassifier(n_estimators=5, sampling="disjoint"),
    "random, shared": RandomDecisionForestClassifier(n_estimators=5, sampling="shared"),
    "greedy": GreedyForestClassifier(n_estimators=3),
    "greedy, samples": GreedyForestClassifier(n_estimators=3, sampling="without_replacement"),
    "median": MedianForestClassifier(n_estimators=3),
    "median, numbers": MedianForestRegressor(n_estimators=3),
    "matrix": MatrixForestClassifier(n_estimators=3),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(streams.blocks_of, "__defaults__", (BLOCK,))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    age, income = rng.integers(0, 100, N), rng.normal(0, 3, N)
    income[rng.random(N) < 0.1] = np.nan
    cost = np.where(np.isnan(income), 1.0, income) + age / 50 + rng.normal(0, 0.3, N)
    town = rng.choice(["a", "b", "c", "elsewhere", None], N)
    return pd.DataFrame(
        {
            "age": age,
            "income": income,
            "town": town.astype(object),
            "ill": np.array(["no", "yes", "may be"])[(cost > 1).astype(int) + (cost > 3)],
            "cost": cost,
            "person": [f"p{i}" for i in rng.integers(0, N // 3, N)],
            "not read": [[1]] * N,
        }
    )


def arrow(table):
    return pa.Table.from_pandas(table, preserve_index=False)


def in_files(table, folder, cuts):
    folder.mkdir()
    borders = [0, *cuts, len(table)]
    for i, (start, stop) in enumerate(pairwise(borders)):
        part = arrow(table).slice(start, stop - start)
        pq.write_table(part, folder / f"part-{i}.parquet", row_group_size=170)
    return folder


@pytest.fixture
def folder(table, tmp_path):
    """Files of different sizes, one of them without a record."""
    return in_files(table, tmp_path / "table", (400, 400, 401))


def forest_of(name, **options):
    schema = NUMBERS if "numbers" in name else CLASSES
    return clone(FORESTS[name]).set_params(schema=schema, random_state=3, **options)


def target_of(forest):
    return forest.schema.target.name


def fitted(forest, source, persons, **others):
    groups = {"groups": "person"} if persons else {}
    return forest.fit(source, target_of(forest), **groups, **others)


def in_memory(forest, table, persons, **others):
    groups = {"groups": table["person"]} if persons else {}
    X = table[list(CLASSES.feature_names)]
    return forest.fit(X, table[target_of(forest)], **groups, **others)


def weighted(table):
    """Every record twice, with different weights: a choice among equals that weights must make."""
    rng = np.random.default_rng(1)
    twice = pd.concat([table, table], ignore_index=True)
    return twice.assign(weight=rng.integers(0, 9, len(twice)) / 2)


WEIGHTED = {"max_sample_weight": 3.0, "max_records_per_group": 2}


def assert_same(one, other):
    assert one.ledger_.explain() == other.ledger_.explain()
    facts, others = (model._facts() | {"ledger": None, "params": None} for model in (one, other))
    assert facts == others
    arrays, others = one._arrays(), other._arrays()
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], strict=True)


# The same model


@pytest.mark.parametrize("persons", [False, True], ids=["records", "persons"])
@pytest.mark.parametrize("name", FORESTS)
def test_every_family_is_the_same_as_in_memory(name, persons, table, folder):
    bound = {"max_records_per_group": 2} if persons else {}
    expected = in_memory(forest_of(name, **bound), table, persons)
    assert_same(fitted(forest_of(name, **bound), ParquetTable(folder), persons), expected)


@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
@pytest.mark.parametrize(
    "kind",
    ["one file", "hive", "dataset", "filter", "lazy frame", "lazy query", "chunks of memory"],
)
def test_every_kind_of_source_is_the_same_as_in_memory(kind, neighbors, table, tmp_path):
    source, rows = source_of_kind(kind, table, tmp_path)
    options = {"max_records_per_group": 2, "neighbors": neighbors}
    for name in ("flagship", "greedy, samples"):
        expected = in_memory(forest_of(name, **options), rows, persons=True)
        assert_same(fitted(forest_of(name, **options), source, persons=True), expected)


def source_of_kind(kind, table, tmp_path):
    """A source, and its rows in their order."""
    folder = tmp_path / "table"
    if kind == "one file":
        pq.write_table(arrow(table), tmp_path / "one.parquet")
        return ParquetTable(tmp_path / "one.parquet"), table
    if kind == "hive":
        sorted_rows = table.sort_values("town", kind="stable", na_position="last")
        # What a folder's name says is read as a text; a gap has a name of its own.
        rows = sorted_rows[sorted_rows["town"].notna()]
        ds.write_dataset(
            arrow(rows), folder, format="parquet", partitioning=["town"],
            partitioning_flavor="hive",
        )  # fmt: skip
        return ParquetTable(folder), rows
    if kind == "dataset":
        return ds.dataset(in_files(table, folder, (512,))), table
    if kind == "filter":
        whole = ds.dataset(in_files(table, folder, (512,)))
        return whole.filter(ds.field("age") < 80), table[table["age"] < 80]
    if kind == "lazy frame":
        return pl.scan_parquet(in_files(table, folder, (7, 900)) / "*.parquet"), table
    if kind == "lazy query":
        frame = pl.from_pandas(table.drop(columns="not read")).lazy()
        return frame.filter(pl.col("age") < 80), table[table["age"] < 80]
    return ds.dataset([arrow(table).slice(0, 700), arrow(table).slice(700)]), table


@pytest.mark.parametrize("other", [(), ("A",)], ids=["numbers", "a text more"])
def test_no_folder_changes_how_the_name_of_another_is_read(tmp_path, other):
    """Arrow would find one type for all: `01` and `1` are one value, or two if there is an `A`."""
    for name in ("01", "1", *other):
        (tmp_path / f"id={name}").mkdir()
        pq.write_table(pa.table({"x": [0.5]}), tmp_path / f"id={name}" / "part.parquet")
    source = ParquetTable(tmp_path)
    assert source.types["id"] == "category"
    read = [value for batch in source.batches(["id", "x"]) for value in batch["id"].to_pylist()]
    assert read == ["01", "1", *other]
    year = Schema((NumericFeature("id", 0, 9),))
    one, two = (
        Encoding.from_schema(year).bins(batch) for batch in islice(source.batches(["id"]), 2)
    )
    assert (one == two).all()


@pytest.mark.parametrize("persons", [False, True], ids=["records", "persons"])
def test_the_flagship_does_not_depend_on_the_order_of_records(table, tmp_path, persons):
    bound = {"max_records_per_group": 2} if persons else {}
    expected = in_memory(forest_of("flagship", **bound), table, persons)
    shuffled = table.sample(frac=1.0, random_state=1)
    source = ParquetTable(in_files(shuffled, tmp_path / "table", (100, 101, 600)))
    assert_same(fitted(forest_of("flagship", **bound), source, persons), expected)


@pytest.mark.parametrize("persons", [False, True], ids=["records", "persons"])
@pytest.mark.parametrize("name", ["flagship", "flagship, numbers"])
def test_weights_are_those_of_memory_in_any_order(name, persons, table, tmp_path):
    rows = weighted(table)
    options = WEIGHTED | ({} if persons else {"max_records_per_group": None})
    forest = forest_of(name, **options)
    expected = in_memory(forest, rows, persons, sample_weight=rows["weight"])
    shuffled = rows.sample(frac=1.0, random_state=1)
    source = ParquetTable(in_files(shuffled, tmp_path / "table", (100, 101, 600)))
    found = fitted(forest_of(name, **options), source, persons, sample_weight="weight")
    assert_same(found, expected)
    assert found.total_weight_ == expected.total_weight_ != found.n_records_


def test_a_model_is_continued_on_a_source(table, folder):
    options = {"warm_start": True}
    one, other = (forest_of("flagship", **options) for _ in range(2))
    for _ in range(2):
        in_memory(one, table, persons=False)
        fitted(other, ParquetTable(folder), persons=False)
    assert one.forest_.trees.n_trees == 24 + one.n_features_in_  # a linear start, once
    assert_same(other, one)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_threads_do_not_change_a_model(n_jobs, table, folder):
    expected = in_memory(forest_of("flagship"), table, persons=False)
    assert_same(fitted(forest_of("flagship", n_jobs=n_jobs), ParquetTable(folder), False), expected)


def test_other_columns_are_neither_read_nor_in_the_way(folder):
    """The last column is a list, which no estimator can read."""
    forest = fitted(forest_of("flagship"), ParquetTable(folder), persons=False)
    assert forest.feature_names_in_.tolist() == list(CLASSES.feature_names)
    assert forest.n_features_in_ == 3


# Predictions


def test_predictions_of_sources_are_those_of_their_rows(table, folder):
    forest = in_memory(forest_of("flagship"), table, persons=False)
    X = table[list(CLASSES.feature_names)]
    labels, chances = forest.predict(X), forest.predict_proba(X)
    lazy = pl.scan_parquet(folder / "*.parquet")
    assert isinstance(forest.predict(lazy), pl.LazyFrame)
    assert forest.predict(lazy).collect()["prediction"].to_list() == labels.tolist()
    found = forest.predict_proba(lazy).collect()
    assert found.columns == ["no", "yes", "may be"]
    np.testing.assert_array_equal(found.to_numpy(), chances)
    for source in (ParquetTable(folder), ds.dataset(folder)):
        reader = forest.predict(source)
        assert isinstance(reader, pa.RecordBatchReader)
        assert reader.read_all()["prediction"].to_pylist() == labels.tolist()
        columns = forest.predict_proba(source).read_all().columns
        np.testing.assert_array_equal(np.column_stack(columns), chances)


def test_log_probabilities_of_sources_are_those_of_their_rows(table, folder):
    forest = in_memory(forest_of("random, shared"), table, persons=False)
    found = forest.predict_log_proba(pl.scan_parquet(folder / "*.parquet")).collect()
    expected = forest.predict_log_proba(table[list(CLASSES.feature_names)])
    np.testing.assert_array_equal(found.to_numpy(), expected)


def test_a_predictor_that_pays_by_the_batch_is_asked_no_source(table, folder):
    predictor = MatrixForestPredictor(schema=CLASSES, max_depth=1)
    predictor.fit(table[list(CLASSES.feature_names)], table["ill"])
    with pytest.raises(TypeError, match="collect it first"):
        predictor.predict_log_proba(pl.scan_parquet(folder / "*.parquet"))
    assert predictor.ledger_.epsilon == 0


@pytest.mark.parametrize("name", FORESTS)
def test_every_family_predicts_sources(name, table, folder):
    forest = in_memory(forest_of(name), table, persons=False)
    found = forest.predict(pl.scan_parquet(folder / "*.parquet")).collect()["prediction"]
    expected = forest.predict(table[list(CLASSES.feature_names)])
    assert found.to_list() == expected.tolist()


# Bad sources: nothing is spent, or the ledger says what was


def refused(forest, source, error, match, y="ill", **options):
    with pytest.raises(error, match=match) as caught:
        forest.fit(source, y, **options)
    assert not hasattr(forest, "ledger_")
    return str(caught.value)


def test_columns_that_are_not_there_are_refused(folder):
    source = ParquetTable(folder)
    refused(forest_of("flagship"), source, SchemaError, "no column 'ills'", y="ills")
    refused(forest_of("flagship"), source, SchemaError, "y must be the name", y=[0, 1])
    wide = Schema((*FEATURES, NumericFeature("height", 0, 3)), CLASSES.target)
    forest = forest_of("flagship").set_params(schema=wide)
    refused(forest, source, SchemaError, "no column 'height'")
    forest = forest_of("flagship", max_records_per_group=1)
    refused(forest, source, SchemaError, "no column 'persons'", groups="persons")
    refused(forest, source, SchemaError, "columns of their own", groups="ill")
    refused(forest, source, SchemaError, "columns of their own", groups="age")
    forest = forest_of("flagship", max_sample_weight=1.0)
    refused(forest, source, SchemaError, "no column 'weight'", sample_weight="weight")
    refused(forest, source, SchemaError, "columns of their own", sample_weight="age")
    refused(forest, source, SchemaError, "sample_weight must be the name", sample_weight=[1.0])


@pytest.mark.parametrize("change", ["type", "missing"])
@pytest.mark.parametrize("lazy", [False, True])
def test_files_that_disagree_are_refused(change, lazy, table, folder):
    other = table[:50].copy()
    other = other.drop(columns="age") if change == "missing" else other.astype({"age": str})
    pq.write_table(arrow(other), folder / "part-9.parquet")
    source = pl.scan_parquet(folder / "*.parquet") if lazy else ParquetTable(folder)
    said = refused(forest_of("flagship"), source, SchemaError, None if lazy else "'age'")
    assert "same" in said


def test_gaps_and_unknown_classes_of_the_target_are_refused(table, tmp_path):
    for number, (label, match) in enumerate([(None, "missing labels"), ("perhaps", "not among")]):
        bad = table.copy()
        bad.loc[1_050, "ill"] = label
        source = ParquetTable(in_files(bad, tmp_path / str(number), (500,)))
        said = refused(forest_of("flagship"), source, SchemaError, match)
        assert "perhaps" not in said


def test_gaps_of_persons_are_refused(table, tmp_path):
    bad = table.copy()
    bad.loc[1_050, "person"] = None
    source = ParquetTable(in_files(bad, tmp_path / "table", (500,)))
    forest = forest_of("flagship", max_records_per_group=1)
    refused(forest, source, SchemaError, "missing entries", groups="person")


@pytest.mark.parametrize("weight", [None, np.nan, -0.5, np.inf, "heavy"])
def test_what_is_no_weight_is_refused(weight, table, tmp_path):
    bad = table.assign(weight=1.0 if weight != "heavy" else "1")
    bad.loc[1_050, "weight"] = weight
    source = ParquetTable(in_files(bad, tmp_path / "table", (500,)))
    forest = forest_of("flagship", max_sample_weight=1.0)
    said = refused(forest, source, SchemaError, "sample_weight", sample_weight="weight")
    assert "0.5" not in said
    assert "heavy" not in said


def test_values_that_are_no_numbers_are_refused_without_being_shown(table, tmp_path):
    bad = table.assign(age=table["age"].astype(str))
    bad.loc[1_050, "age"] = "seventeen"
    source = ParquetTable(in_files(bad, tmp_path / "table", (500,)))
    said = refused(forest_of("flagship"), source, SchemaError, "'age'")
    assert "seventeen" not in said


ROLES = {
    "a category": ("town", {}, {}),
    "a number": ("age", {}, {}),
    "the target": ("ill", {}, {}),
    "a person": ("person", {"groups": "person"}, {"max_records_per_group": 1}),
    "a weight": ("weight", {"sample_weight": "weight"}, {"max_sample_weight": 1.0}),
}


def with_bytes(table, name):
    """The table in Arrow, and in the last record of a column of texts bytes that are none."""
    whole = arrow(table.assign(weight=1.0))
    texts = not_texts.arrow(whole[name].cast(pa.string()).fill_null("a").to_pylist()[:-1])
    return whole.set_column(whole.schema.names.index(name), name, texts)


@pytest.mark.parametrize("numbered", [False, True])
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("family", ["flagship", "random, disjoint", "median", "greedy"])
def test_what_is_no_text_is_refused_before_anything_is_spent(
    family, role, numbered, table, tmp_path
):
    name, given, options = ROLES[role]
    if family != "flagship" and "max_sample_weight" in options:
        pytest.skip("only the flagship has weights")
    bad = with_bytes(table, name)
    if numbered:
        place = bad.schema.names.index(name)
        bad = bad.set_column(place, name, bad[name].dictionary_encode())
    pq.write_table(bad, tmp_path / "bad.parquet", row_group_size=170)
    for source in (ParquetTable(tmp_path / "bad.parquet"), ds.dataset(tmp_path / "bad.parquet")):
        said = refused(forest_of(family, **options), source, SchemaError, "read", **given)
        assert not_texts.SECRET not in said


@pytest.mark.parametrize("what", ["town", "ill", "person"])
def test_a_paid_schema_of_what_is_no_text_is_refused(what, table, tmp_path, monkeypatch):
    pq.write_table(with_bytes(table, what).drop(["not read"]), tmp_path / "bad.parquet")
    monkeypatch.setattr(Ledger, "debit", lambda self, entry: pytest.fail("spent"))
    for source in (ParquetTable(tmp_path / "bad.parquet"), ds.dataset(tmp_path / "bad.parquet")):
        with pytest.raises(SchemaError, match="cannot be read") as caught:
            Schema.infer(
                source,
                target="ill",
                epsilon=1.0,
                delta=1e-4,
                groups="person",
                max_records_per_group=2,
            )
        assert not_texts.SECRET not in str(caught.value)


def test_an_evaluation_of_what_is_no_text_is_refused(table, folder, tmp_path, monkeypatch):
    forest = forest_of("random, disjoint").fit(ParquetTable(folder), "ill")
    pq.write_table(with_bytes(table, "town"), tmp_path / "bad.parquet")
    monkeypatch.setattr(Ledger, "debit", lambda self, entry: pytest.fail("spent"))
    with pytest.raises(SchemaError, match="'town': a value cannot be read") as caught:
        evaluate(forest, ParquetTable(tmp_path / "bad.parquet"), "ill", epsilon=1.0)
    assert not_texts.SECRET not in str(caught.value)


def in_csv(table, path, odd):
    """Many records, so that what Arrow takes for the types of cells is not that of the odd one."""
    many = pd.concat([table[["age", "income", "town", "ill"]]] * 100).astype({"age": object})
    many.iloc[-1, 0] = odd
    many.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("declared", [False, True])
def test_a_cell_of_csv_that_is_none_of_its_type_is_refused(declared, table, tmp_path, monkeypatch):
    types = {"age": pa.int64(), "income": pa.float64(), "town": pa.string(), "ill": pa.string()}
    path = in_csv(table, tmp_path / "table.csv", "seventeen")
    source = ds.dataset(path, format="csv", schema=pa.schema(types) if declared else None)
    said = refused(forest_of("flagship"), source, SchemaError, "cannot be read")
    assert "seventeen" not in said
    monkeypatch.setattr(Ledger, "debit", lambda self, entry: pytest.fail("spent"))
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.infer(source, target="ill", epsilon=1.0, delta=1e-4)


def test_files_that_carry_their_types_are_known_to_have_them(table, tmp_path):
    whole = arrow(table.drop(columns="not read"))
    for form in ("parquet", "ipc", "csv"):
        ds.write_dataset(whole, tmp_path / form, format=form)
        source = as_source(ds.dataset(tmp_path / form, format=form))
        assert source.uniform == (form != "csv")
    assert not as_source(ds.dataset(whole)).uniform


def test_texts_that_spell_numbers_are_numbers(table, folder, tmp_path):
    texts = table.assign(age=table["age"].astype(str))
    source = ParquetTable(in_files(texts, tmp_path / "texts", (500,)))
    expected = fitted(forest_of("flagship"), ParquetTable(folder), persons=False)
    assert_same(fitted(forest_of("flagship"), source, persons=False), expected)


def test_categories_of_pandas_are_texts(table, folder, tmp_path):
    """Written as dictionaries, of which every file has its own."""
    numbered = table.astype({"town": "category", "ill": "category"})
    (tmp_path / "numbered").mkdir()
    for i, part in enumerate((numbered[:300], numbered[300:])):
        cleaned = part.assign(town=part["town"].cat.remove_unused_categories())
        pq.write_table(arrow(cleaned), tmp_path / "numbered" / f"{i}.parquet")
    expected = fitted(forest_of("flagship"), ParquetTable(folder), persons=False)
    found = fitted(forest_of("flagship"), ParquetTable(tmp_path / "numbered"), persons=False)
    assert_same(found, expected)


def test_a_source_without_records_is_refused(table, tmp_path):
    source = ParquetTable(in_files(table[:0], tmp_path / "table", ()))
    refused(forest_of("flagship"), source, SchemaError, "empty")


def test_what_is_no_parquet_is_refused(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        ParquetTable(tmp_path / "nowhere")
    (tmp_path / "a.parquet").write_bytes(b"anna,17,ill")
    with pytest.raises(SchemaError, match="cannot be read as Parquet") as caught:
        ParquetTable(tmp_path / "a.parquet")
    assert "anna" not in str(caught.value)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SchemaError, match="has no Parquet files"):
        ParquetTable(tmp_path / "empty")
    (folder / "readme.txt").write_text("anna,17,ill")
    refused(forest_of("flagship"), ParquetTable(folder), SchemaError, "readme.txt cannot be read")


def test_a_source_that_is_cut_short_is_refused(table):
    """Whole blocks less: what is left of them is as it was."""
    readings = []

    def some(batch):
        readings.append(len(batch))
        return batch if len(readings) < 2 else batch[: 2 * BLOCK]

    fails_in_the_middle(lazily(table, some))


@pytest.mark.parametrize("change", ["removed", "another value", "a row more", "rows swapped"])
def test_files_that_change_during_a_fit_are_refused(change, table, folder, monkeypatch):
    """After the first look at the bins, which is spent and stays in the ledger."""
    first, other = folder / "part-0.parquet", table[:400].copy()
    if change == "another value":
        other.loc[7, "income"] = 0.123
    elif change == "a row more":
        other = table[:401]
    elif change == "rows swapped":
        other = other[::-1]

    def disturb(looks):
        if looks == 2:
            first.unlink()
            if change != "removed":
                pq.write_table(arrow(other), first)

    forest = disturbed_fit(ParquetTable(folder), monkeypatch, disturb)
    assert [entry.label for entry in forest.ledger_.entries][1:] != []
    assert 0 < forest.ledger_.epsilon < 1
    assert forest.ledger_.failures() is not None
    assert not hasattr(forest, "forest_")


def disturbed_fit(source, monkeypatch, disturb):
    """A fit that fails because of what is done to the source before a look at the records."""
    from dpforest.privacy.desk import Desk

    total, looks = Desk.total, []

    def watched(self, statistic):
        looks.append(statistic)
        disturb(len(looks))
        return total(self, statistic)

    monkeypatch.setattr(Desk, "total", watched)
    forest = forest_of("flagship")
    with (
        pytest.warns(RuntimeWarning, match="fit failed after it had spent"),
        pytest.raises(SourceChangedError, match="changed"),
    ):
        forest.fit(source, "ill")
    return forest


def lazily(table, change):
    """A lazy frame whose rows are changed whenever it is collected."""
    frame = pl.from_pandas(table.drop(columns="not read"))
    pushed = dict.fromkeys(("predicate_pushdown", "projection_pushdown", "slice_pushdown"), False)
    return frame.lazy().map_batches(change, schema=frame.schema, **pushed)


def fails_in_the_middle(lazy, **weights):
    forest = forest_of("flagship", max_sample_weight=4.0)
    with (
        pytest.warns(RuntimeWarning, match="fit failed after it had spent"),
        pytest.raises(SourceChangedError, match="leave random and current values out"),
    ):
        forest.fit(lazy, "ill", **weights)
    assert 0 < forest.ledger_.epsilon < 1


def test_a_lazy_frame_with_a_random_filter_is_refused(table):
    rng = np.random.default_rng(0)

    def some(batch):
        return batch.filter(pl.Series(rng.random(len(batch)) < 0.9))

    fails_in_the_middle(lazily(table, some))


@pytest.mark.parametrize("column", ["age", "income", "ill", "weight"])
def test_a_lazy_frame_with_other_values_in_each_reading_is_refused(table, column):
    """As many records, the same values of all columns but one, of which one pair is swapped."""
    readings = []

    def swapped(batch):
        readings.append(batch)
        values = batch[column].to_list()
        if len(readings) == 2:
            other = next(i for i, value in enumerate(values) if value != values[0])
            values[0], values[other] = values[other], values[0]
        return batch.with_columns(pl.Series(column, values, batch[column].dtype))

    rows = table.assign(weight=np.arange(N) % 5)
    fails_in_the_middle(lazily(rows, swapped), sample_weight="weight")


def test_a_failed_fit_is_in_the_ledger_of_the_next(table, folder, monkeypatch):
    gone = shutil.copytree(folder, folder.with_name("gone"))
    with monkeypatch.context() as patch:

        def disturb(looks):
            if looks == 2:
                shutil.rmtree(gone)

        forest = disturbed_fit(ParquetTable(gone), patch, disturb)
    spent = forest.ledger_.epsilon
    fitted(forest, ParquetTable(folder), persons=False)
    assert forest.ledger_.epsilon == pytest.approx(1 + spent)


# Private data on the disk


def open_files():
    """The files of this process that have no name, and the rights of each."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            target, mode = os.readlink(entry), entry.stat().st_mode
        except OSError:
            continue
        if "(deleted)" in target:
            found.append((target, mode & 0o777))
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux")
def test_the_file_has_no_name_is_for_its_owner_and_goes_with_the_fit(
    table, folder, tmp_path, monkeypatch
):
    from dpforest.privacy.desk import Desk

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("DPFOREST_TMPDIR", str(scratch))
    total, seen = Desk.total, []

    def watched(self, statistic):
        seen.extend(open_files())
        assert list(scratch.iterdir()) == []
        return total(self, statistic)

    with monkeypatch.context() as patch:
        patch.setattr(Desk, "total", watched)
        fitted(forest_of("flagship"), ParquetTable(folder), persons=False)
    ours = [(name, mode) for name, mode in seen if name.startswith(str(scratch))]
    assert ours
    assert {mode for _, mode in ours} == {0o600}
    assert [name for name, _ in open_files() if name.startswith(str(scratch))] == []


def test_a_folder_that_is_not_there_is_named(folder, monkeypatch):
    monkeypatch.setenv("DPFOREST_TMPDIR", "/no/such/folder")
    with pytest.raises(OSError, match=r"/no/such/folder.*DPFOREST_TMPDIR"):
        forest_of("flagship").fit(ParquetTable(folder), "ill")


def test_an_encrypted_file_gives_the_same_model(table, folder, monkeypatch):
    expected = fitted(forest_of("flagship"), ParquetTable(folder), persons=False)
    monkeypatch.setenv("DPFOREST_TMP_ENCRYPT", "1")
    assert_same(fitted(forest_of("flagship"), ParquetTable(folder), persons=False), expected)


@pytest.mark.parametrize("encrypted", [False, True])
def test_what_is_written_can_be_read_and_encrypted_bytes_tell_nothing(encrypted, monkeypatch):
    monkeypatch.setenv("DPFOREST_TMP_ENCRYPT", str(int(encrypted)))
    file = private_file.PrivateFile()
    plain = np.tile(np.arange(10, dtype=np.uint8), (500, 1))
    places = [file.reserve(plain.nbytes) for _ in range(2)]
    raw = []
    for place in (*places, places[0]):  # the first is written over
        file.write(np.asfortranarray(plain), place)
        raw.append(os.pread(file._file.fileno(), plain.nbytes, place))
        found = np.empty_like(plain, order="F")
        file.read(found, place)
        np.testing.assert_array_equal(found, plain)
    clear = plain.T.tobytes()
    assert [one == clear for one in raw] == [not encrypted] * 3
    assert len(set(raw)) == (3 if encrypted else 1)  # no counter comes twice
    file.close()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
def test_nothing_is_left_after_a_kill(folder, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    code = textwrap.dedent(
        f"""
        import os, signal
        from dpforest import ParquetTable, PrivateForestClassifier, Schema
        from dpforest.privacy.desk import Desk
        total, looks = Desk.total, []

        def watched(self, statistic):
            looks.append(statistic)
            if len(looks) == 3:
                assert os.fstat(self._store._file._file.fileno()).st_size > 0
                print("killed", flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
            return total(self, statistic)

        Desk.total = watched
        schema = Schema.from_dict({CLASSES.to_dict()!r})
        PrivateForestClassifier(schema=schema).fit(ParquetTable({str(folder)!r}), "ill")
        """
    )
    environment = os.environ | {"DPFOREST_TMPDIR": str(scratch), "TMPDIR": str(scratch)}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout) == (-signal.SIGKILL, "killed\n"), result.stderr
    assert list(scratch.iterdir()) == []


# Which tables are sources


def test_tables_in_memory_are_no_sources(table):
    for one in (table, arrow(table), pl.DataFrame({"a": [1]}), np.zeros((2, 2)), [[1.0]], None):
        assert as_source(one) is None


def test_no_engine_is_imported_to_recognise_a_source():
    code = (
        "import sys; from dpforest.tables.sources import as_source; as_source([[1.0]]);"
        "print(sorted({'polars', 'pyarrow', 'dask', 'pyspark'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"


def test_predictions_can_be_sent_to_where_batches_are(table, folder):
    from dpforest.forests.lazy import Predicting

    forest = fitted(forest_of("flagship"), ParquetTable(folder), persons=False)
    sent = pickle.loads(pickle.dumps(Predicting(forest, "predict")))
    X = table[list(CLASSES.feature_names)]
    assert sent(X)["prediction"].tolist() == forest.predict(X).tolist()


# Schemas and evaluations


def test_a_schema_read_off_a_source_is_that_of_its_rows(table, folder):
    columns = [*CLASSES.feature_names, "ill", "cost"]
    lazy = pl.scan_parquet(folder / "*.parquet").select(columns)
    for y, task in (("ill", "auto"), ("cost", "auto"), ("age", "auto"), ("age", "regression")):
        with pytest.warns(PrivacyLeakWarning):
            expected = Schema.from_frame(pl.from_pandas(table[columns]), y, task=task)
        for source in (lazy, ParquetTable(folder).only(columns)):
            with pytest.warns(PrivacyLeakWarning):
                assert Schema.from_frame(source, y, task=task) == expected


@pytest.mark.parametrize("persons", [False, True])
def test_a_paid_schema_of_a_source_is_that_of_its_rows(persons, table, folder):
    columns = [*CLASSES.feature_names, "ill", "cost"]
    options = {"epsilon": 20.0, "delta": 1e-6, "random_state": 2}
    groups = {"groups": table["person"], "max_records_per_group": 2} if persons else {}
    frame = pl.from_pandas(table[columns])
    expected = Schema.infer(frame, target="ill", **options, **groups)
    groups |= {"groups": "person"} if persons else {}
    kept = [*columns, "person"] if persons else columns
    lazy = pl.scan_parquet(folder / "*.parquet").select(kept)
    found = Schema.infer(lazy, target="ill", **options, **groups)
    assert found == expected
    assert found.ledger.explain() == expected.ledger.explain()
    types = Schema.infer(lazy, target="ill", types="frame", **options, **groups)
    assert types == Schema.infer(
        frame, target="ill", types="frame", **options,
        **({**groups, "groups": table["person"]} if persons else {}),
    )  # fmt: skip


@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize("name", ["flagship", "flagship, numbers"])
def test_an_evaluation_of_a_source_is_that_of_its_rows(name, persons, table, folder):
    forest = in_memory(forest_of(name), table, persons=False)
    X, y = table[list(CLASSES.feature_names)], target_of(forest)
    groups = {"max_records_per_group": 2} if persons else {}
    options = {"epsilon": 1.0, "random_state": 4, **groups}
    person = {"groups": table["person"]} if persons else {}
    expected = evaluate(forest, X, table[y], **options, **person)
    person = {"groups": "person"} if persons else {}
    found = evaluate(forest, ParquetTable(folder), y, **options, **person)
    assert str(found) == str(expected)
