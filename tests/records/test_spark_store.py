"""Spark: the same models as in memory, after killed workers too; bad frames are refused."""

import os
import pickle
import signal
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from dpforest import SchemaError, SourceChangedError
from tests.records.looks import at_look
from tests.records.test_sources import (
    CLASSES,
    WEIGHTED,
    arrow,
    assert_same,
    fitted,
    forest_of,
    in_files,
    in_memory,
    refused,
    table,
    weighted,
)
from tests.test_docs import run_blocks

pytest.importorskip("pyspark", reason="needs Spark: pip install dpforest[spark]")
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning")
__all__ = ["table"]
ROUNDS = {"trees_per_round": 2, "n_hint": 20_000}  # six of them, after two looks at bins


@pytest.fixture(scope="module")
def spark(this_machine):
    """A session on two cores of this machine, which runs failed tasks again, as clusters do."""
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.master("local[2,4]").appName("dpforest tests")
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.log.level": "OFF",
            "spark.sql.shuffle.partitions": "3",
            # Small frames: compiling plans and Java's own code for speed costs more than it saves.
            "spark.sql.codegen.wholeStage": "false",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        yield session
        session.stop()


def frame_of(spark, table, folder, cuts=(700,)):
    """A frame that reads one partition from every file, in the order of the files."""
    files = in_files(table.drop(columns="not read"), folder, cuts)
    frames = [spark.read.parquet(str(file)) for file in sorted(files.iterdir())]
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionAll(frame)
    return whole


@pytest.fixture(scope="module")
def frame(spark, table, tmp_path_factory):
    return frame_of(spark, table, tmp_path_factory.mktemp("spark") / "table")


@pytest.mark.parametrize("name", ["random, disjoint", "greedy, samples", "median", "matrix"])
def test_families_are_the_same_as_in_memory(name, table, frame):
    expected = in_memory(forest_of(name), table, persons=False)
    assert_same(fitted(forest_of(name), frame, persons=False), expected)


@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
def test_persons_of_any_partitioning_are_the_same(neighbors, spark, table, tmp_path, monkeypatch):
    """Both kinds of neighbours; scores are kept in between, answers are added up in two steps."""
    monkeypatch.setattr("dpforest.records.spark_store.ROUNDS_KEPT", 2)
    monkeypatch.setattr("dpforest.records.spark_store.LINEAGE", 3)
    monkeypatch.setattr("dpforest.records.spark_store.FAN_IN", 2)
    options = ROUNDS | {"max_records_per_group": 2, "neighbors": neighbors}
    shuffled = table.sample(frac=1.0, random_state=1)
    cuts = (400, 400, 401) if neighbors == "add_remove" else ()
    name = "flagship" if neighbors == "add_remove" else "flagship, pure"
    expected = in_memory(forest_of(name, **options), table, persons=True)
    source = frame_of(spark, shuffled, tmp_path / "table", cuts)
    assert_same(fitted(forest_of(name, **options), source, persons=True), expected)


def python_workers(spark):
    """The processes that run Python for the executors, by their parents."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes().decode()
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):
            continue
        if "pyspark.daemon" in command:
            found.append((int(entry.name), parent))
    java = spark.sparkContext._gateway.proc.pid
    daemons = {pid for pid, parent in found if parent == java}
    return [pid for pid, parent in found if parent in daemons]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux")
def test_killed_python_workers_do_not_change_a_model(spark, table, frame, monkeypatch):
    expected = in_memory(forest_of("flagship", **ROUNDS), table, persons=False)
    killed = []

    def kill():
        for pid in python_workers(spark):
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    at_look(monkeypatch, 6, kill)
    found = fitted(forest_of("flagship", **ROUNDS), frame, persons=False)
    assert killed
    assert_same(found, expected)


def forget(spark):
    """Lose all that Spark keeps of records, as when executors are lost."""
    context = spark.sparkContext
    for kept in context._jsc.getPersistentRDDs().values():
        kept.unpersist(True)


def test_lost_blocks_do_not_change_a_model(spark, table, tmp_path, monkeypatch):
    """Of persons whose records have weights, in another order than in memory."""
    monkeypatch.setattr("dpforest.records.spark_store.ROUNDS_KEPT", 2)
    options, rows = ROUNDS | WEIGHTED, weighted(table)
    forest = forest_of("flagship", **options)
    expected = in_memory(forest, rows, persons=True, sample_weight=rows["weight"])
    frame = frame_of(spark, rows.sample(frac=1.0, random_state=1), tmp_path / "table")
    at_look(monkeypatch, 7, lambda: forget(spark))
    forest = forest_of("flagship", **options)
    assert_same(fitted(forest, frame, persons=True, sample_weight="weight"), expected)


def test_answers_do_not_grow_with_the_table_and_nothing_is_kept(
    spark, table, tmp_path, monkeypatch
):
    """Nothing of the size of the data comes to the driver, and Spark forgets it with the fit."""
    from dpforest.records import spark_frames

    sizes, collected = [], spark_frames.collected

    def measured(answers):
        found = collected(answers)
        sizes[-1].append(len(pickle.dumps(found)))
        return found

    for module in ("spark_store", "spark_persons"):
        monkeypatch.setattr(f"dpforest.records.{module}.collected", measured)
    forest = forest_of("flagship", max_records_per_group=2, **ROUNDS)
    for times in (1, 8):
        sizes.append([])
        rows = pd.concat([table] * times)
        fitted(forest, frame_of(spark, rows, tmp_path / str(times), (times * 500,)), persons=True)
    assert max(sizes[1]) <= max(sizes[0]) + 100
    assert not spark.sparkContext._jsc.getPersistentRDDs()


# Frames that change


def failed_fit(forest, frame):
    with (
        pytest.warns(RuntimeWarning, match="fit failed after it had spent"),
        pytest.raises(SourceChangedError, match="changed"),
    ):
        forest.fit(frame, "ill")
    assert 0 < forest.ledger_.epsilon < 1
    assert not hasattr(forest, "forest_")


def test_a_frame_with_random_values_is_refused(frame):
    def some(batches):
        rng = np.random.default_rng()
        for batch in batches:
            yield batch.filter(rng.random(len(batch)) < 0.9)

    failed_fit(forest_of("flagship"), frame.mapInArrow(some, frame.schema))


def test_other_records_after_a_loss_are_refused(spark, table, tmp_path, monkeypatch):
    frame = frame_of(spark, table, tmp_path / "table")

    def disturb():
        other = table.drop(columns="not read")[700:].assign(age=17)
        pq.write_table(arrow(other), tmp_path / "table" / "part-1.parquet")
        forget(spark)

    at_look(monkeypatch, 5, disturb)
    with (
        pytest.warns(RuntimeWarning, match="fit failed after it had spent"),
        pytest.raises((SourceChangedError, RuntimeError)),  # Spark may see that the file is new
    ):
        forest_of("flagship", **ROUNDS).fit(frame, "ill")


def test_persons_that_change_are_refused(frame):
    def other_persons(batches):
        for batch in batches:
            ids = pa_strings(np.random.default_rng().integers(0, 9, len(batch)))
            yield batch.set_column(batch.schema.get_field_index("person"), "person", ids)

    forest = forest_of("flagship", max_records_per_group=1)
    changing = frame.mapInArrow(other_persons, frame.schema)
    refused(forest, changing, SourceChangedError, "changed", groups="person")


def pa_strings(numbers):
    import pyarrow as pa

    return pa.array(list(map(str, numbers)))


# Bad frames: nothing is spent


def test_columns_that_are_not_there_are_refused(frame):
    refused(forest_of("flagship"), frame, SchemaError, "no column 'ills'", y="ills")
    refused(forest_of("flagship"), frame.drop("income"), SchemaError, "no column 'income'")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"ill": None}, "missing labels"),
        ({"ill": "perhaps"}, "not among"),
        ({"person": None}, "missing entries"),
    ],
)
def test_gaps_and_unknown_classes_are_refused(change, match, spark, table, tmp_path):
    bad = table.copy()
    for name, value in change.items():
        bad.loc[1_050, name] = value
    forest = forest_of("flagship", max_records_per_group=1)
    source = frame_of(spark, bad, tmp_path / "table")
    said = refused(forest, source, SchemaError, match, groups="person")
    assert "perhaps" not in said


def test_a_frame_without_records_is_refused(frame):
    refused(forest_of("flagship"), frame.limit(0), SchemaError, "empty")


def test_what_a_failing_frame_says_is_withheld(frame):
    def fail(batches):
        raise ValueError("anna is seventeen")

    failing = frame.mapInArrow(fail, frame.schema)
    said = refused(forest_of("flagship"), failing, RuntimeError, "Spark could not finish")
    assert "anna" not in said


# Predictions, the page


def test_the_page_runs(spark):
    run_blocks("docs/spark.md", {"spark": spark})


def test_predictions_are_lazy_and_stand_beside_their_rows(frame, table):
    forest = in_memory(forest_of("flagship"), table, persons=False)
    X = table[list(CLASSES.feature_names)]
    labels = forest.predict(frame)
    assert type(labels) is type(frame)
    assert labels.columns == [*frame.columns, "prediction"]
    assert [row["prediction"] for row in labels.collect()] == forest.predict(X).tolist()
    chances = forest.predict_proba(frame).select("no", "yes", "may be").collect()
    np.testing.assert_array_equal(np.array(chances), forest.predict_proba(X))
    with pytest.raises(SchemaError, match="'prediction' already"):
        forest.predict(labels)


def test_batches_have_the_rows_in_order(frame, table):
    from dpforest.tables.spark_source import SparkSource

    source = SparkSource(frame)
    assert source.types["age"] == "integer"
    assert (source.types["income"], source.types["town"]) == ("number", "category")
    found = [value for batch in source.batches(["cost"]) for value in batch["cost"].to_pylist()]
    assert found == table["cost"].tolist()
