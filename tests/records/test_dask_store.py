"""Dask: the same models as in memory, on workers that are lost too; bad frames are refused."""

import os
import pickle
import signal
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from dpforest import SchemaError, SourceChangedError, evaluate
from tests.records.looks import at_look
from tests.records.test_sources import (
    CLASSES,
    FORESTS,
    WEIGHTED,
    N,
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

dask = pytest.importorskip("dask", reason="needs Dask: pip install dpforest[dask]")
dd = pytest.importorskip("dask.dataframe", reason="needs Dask's data frames")
distributed = pytest.importorskip("distributed", reason="needs dask's distributed scheduler")
dask_tasks = pytest.importorskip("dpforest.records.dask_tasks")
__all__ = ["table"]
ROUNDS = {"trees_per_round": 2, "n_hint": 20_000}  # six of them, after two looks at bins


@pytest.fixture(scope="module")
def client(this_machine):
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


def frame_of(table, cuts=(300, 300, 301, 900)):
    """A frame with partitions of different sizes, one of them without a record."""
    known = table.drop(columns="not read")
    borders = [0, *cuts, len(known)]
    parts = [known[start:stop] for start, stop in pairwise(borders)]
    return dd.from_map(lambda part: part, parts, meta=known[:0])


def kill_workers(client, n):
    pids = list(client.run(os.getpid).values())
    for pid in pids[:n]:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("name", FORESTS)
def test_every_family_is_the_same_as_in_memory(name, table, client):
    expected = in_memory(forest_of(name), table, persons=False)
    assert_same(fitted(forest_of(name), frame_of(table), persons=False), expected)


@pytest.mark.parametrize(
    ("cuts", "neighbors"),
    [((), "add_remove"), (range(120, N, 120), "replace_one")],
    ids=["one", "many"],
)
def test_any_partitioning_is_the_same(cuts, neighbors, table, client, monkeypatch):
    """Persons, both kinds of neighbours and noise; answers of many are added up in two steps."""
    monkeypatch.setattr("dpforest.records.dask_store.FAN_IN", 3)
    for name in ("flagship, pure", "greedy, samples"):
        options = {"max_records_per_group": 2, "neighbors": neighbors}
        options |= ROUNDS if "flagship" in name else {}
        expected = in_memory(forest_of(name, **options), table, persons=True)
        assert_same(fitted(forest_of(name, **options), frame_of(table, cuts), True), expected)


def test_the_flagship_does_not_depend_on_the_order_of_records(table, client):
    options = {"max_records_per_group": 2}
    expected = in_memory(forest_of("flagship", **options), table, persons=True)
    shuffled = frame_of(table.sample(frac=1.0, random_state=1))
    assert_same(fitted(forest_of("flagship", **options), shuffled, persons=True), expected)


def test_weights_are_those_of_memory(table, client):
    rows = weighted(table)
    forest = forest_of("flagship", **WEIGHTED)
    expected = in_memory(forest, rows, persons=True, sample_weight=rows["weight"])
    shuffled = frame_of(rows.sample(frac=1.0, random_state=1))
    forest = forest_of("flagship", **WEIGHTED)
    assert_same(fitted(forest, shuffled, persons=True, sample_weight="weight"), expected)


def test_other_schedulers_will_do(table):
    expected = in_memory(forest_of("flagship"), table, persons=False)
    for scheduler in ("threads", "synchronous"):
        with dask.config.set(scheduler=scheduler):
            found = fitted(forest_of("flagship"), frame_of(table), persons=False)
        assert_same(found, expected)


@pytest.mark.parametrize("n_killed", [1, 2])
def test_killed_workers_do_not_change_a_model(n_killed, table, client, monkeypatch):
    options = {"max_records_per_group": 2, **ROUNDS}
    expected = in_memory(forest_of("flagship", **options), table, persons=True)
    killed = []

    def kill():
        kill_workers(client, n_killed)
        killed.append(n_killed)

    at_look(monkeypatch, 6, kill)
    found = fitted(forest_of("flagship", **options), frame_of(table), persons=True)
    assert killed
    assert_same(found, expected)


def test_shards_that_lose_their_scores_catch_up(table, client, monkeypatch):
    """As when they are spilled or sent to another worker, which leaves scores behind."""
    options = ROUNDS
    expected = in_memory(forest_of("flagship", **options), table, persons=False)
    store = pytest.importorskip("dpforest.records.dask_store")
    asked = store.DaskStore._ask
    states = []

    def ask(self, numbers, state, statistic):
        numbers = list(numbers)
        states.append((len(numbers), state.scoring and state.scoring.skipped))
        if states[-1][1] == 2:
            sent = [pickle.dumps(one.compute()) for one in self._shards.values()]
            kept = dask.persist(*(dask.delayed(pickle.loads)(one) for one in sent))
            self._shards = dict(zip(self._shards, kept, strict=True))
        return asked(self, numbers, state, statistic)

    monkeypatch.setattr(store.DaskStore, "_ask", ask)
    assert_same(fitted(forest_of("flagship", **options), frame_of(table), False), expected)
    sent = [skipped for n, skipped in states if n == 4 and skipped is not None]
    assert {1, 2, 3, 4} <= set(sent)  # the new trees only
    assert sent.count(0) >= 3  # and once more all of them


def test_answers_do_not_grow_with_the_table(table, client, monkeypatch):
    """Nothing of the size of the data comes to the driver."""
    sizes, results = [], dask_tasks.results

    def measured(tasks):
        found = results(tasks)
        sizes[-1].append(len(pickle.dumps(found)))
        return found

    for module in ("dask_store", "dask_persons"):
        monkeypatch.setattr(f"dpforest.records.{module}.results", measured)
    forest = forest_of("flagship", max_records_per_group=2, n_hint=N)
    for times in (1, 8):
        sizes.append([])
        fitted(forest, frame_of(pd.concat([table] * times), (times * 500,)), persons=True)
    assert max(sizes[1]) <= max(sizes[0]) + 100


# Frames that change


def random_part(i):
    rng = np.random.default_rng()
    return pd.DataFrame({"age": rng.integers(0, 90, 50), "ill": rng.choice(["no", "yes"], 50)})


def failed_fit(forest, frame, **options):
    with (
        pytest.warns(RuntimeWarning, match="fit failed after it had spent"),
        pytest.raises(SourceChangedError, match="changed"),
    ):
        forest.fit(frame, "ill", **options)
    assert 0 < forest.ledger_.epsilon < 1
    assert not hasattr(forest, "forest_")


def test_a_frame_with_random_values_is_refused(table, client):
    frame = dd.from_map(random_part, range(3), meta=random_part(0)[:0])
    failed_fit(forest_of("flagship").set_params(schema=CLASSES.select(["age"])), frame)


def test_other_records_after_a_loss_are_refused(table, client, monkeypatch, tmp_path):
    folder = in_files(table.drop(columns="not read"), tmp_path / "table", (400, 700))
    frame = dd.from_map(pd.read_parquet, sorted(map(str, folder.iterdir())))

    def disturb():
        other = table.drop(columns="not read")[400:700].assign(age=17)
        pq.write_table(arrow(other), folder / "part-1.parquet")
        kill_workers(client, 2)

    at_look(monkeypatch, 5, disturb)
    failed_fit(forest_of("flagship", **ROUNDS), frame)


def test_persons_that_change_are_refused(table, client):
    def other_persons(part):
        return part.assign(person=np.random.default_rng().integers(0, 9, len(part)))

    known = table.drop(columns="not read")
    frame = frame_of(table).map_partitions(other_persons, meta=other_persons(known[:0]))
    forest = forest_of("flagship", max_records_per_group=1)
    refused(forest, frame, SourceChangedError, "changed", groups="person")


# Bad frames: nothing is spent


def test_columns_that_are_not_there_are_refused(table, client):
    refused(forest_of("flagship"), frame_of(table), SchemaError, "no column 'ills'", y="ills")
    frame = frame_of(table).drop(columns="income")
    refused(forest_of("flagship"), frame, SchemaError, "no column 'income'")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"ill": None}, "missing labels"),
        ({"ill": "perhaps"}, "not among"),
        ({"person": None}, "missing entries"),
    ],
)
def test_gaps_and_unknown_classes_are_refused(change, match, table, client):
    bad = table.copy()
    for name, value in change.items():
        bad.loc[1_050, name] = value
    forest = forest_of("flagship", max_records_per_group=1)
    said = refused(forest, frame_of(bad), SchemaError, match, groups="person")
    assert "perhaps" not in said


@pytest.mark.parametrize("change", ["type", "missing"])
def test_partitions_that_disagree_are_refused(change, table, client):
    known = table.drop(columns="not read")
    other = known[500:].copy()
    other = other.drop(columns="age") if change == "missing" else other.astype({"age": str})
    frame = dd.from_map(lambda part: part, [known[:500], other], meta=known[:0])
    error = SchemaError if change == "type" else RuntimeError
    said = refused(forest_of("flagship"), frame, error, None)
    assert "age" in said or "KeyError" in said


def test_a_frame_without_records_is_refused(table, client):
    refused(forest_of("flagship"), frame_of(table[:0], ()), SchemaError, "empty")


def test_what_a_failing_frame_says_is_withheld(table, client):
    def fail(part):
        raise ValueError("anna is seventeen")

    frame = frame_of(table).map_partitions(fail, meta=table.drop(columns="not read")[:0])
    said = refused(forest_of("flagship"), frame, RuntimeError, "Dask could not finish")
    assert "anna" not in said


# Predictions, evaluations, the page


def test_the_page_runs(client):
    run_blocks("docs/dask.md", {})


def test_predictions_are_lazy_and_keep_the_index(table, client):
    rows = table.drop(columns="not read").set_index(np.arange(N) * 3)
    forest = in_memory(forest_of("flagship"), table, persons=False)
    X = rows[list(CLASSES.feature_names)]
    frame = dd.from_pandas(rows, npartitions=3)
    labels, chances = forest.predict(frame), forest.predict_proba(frame)
    assert isinstance(labels, dd.DataFrame)
    assert labels.divisions == frame.divisions
    assert labels.compute()["prediction"].tolist() == forest.predict(X).tolist()
    found = chances.compute()
    assert found.index.equals(rows.index)
    np.testing.assert_array_equal(found.to_numpy(), forest.predict_proba(X))
    joined = frame.assign(chance=chances["yes"]).compute()
    np.testing.assert_array_equal(joined["chance"], forest.predict_proba(X)[:, 1])


def test_an_evaluation_is_that_of_the_rows(table, client):
    forest = in_memory(forest_of("flagship"), table, persons=False)
    options = {"epsilon": 1.0, "random_state": 4}
    expected = evaluate(forest, table[list(CLASSES.feature_names)], table["ill"], **options)
    assert str(evaluate(forest, frame_of(table), "ill", **options)) == str(expected)
