"""The whole way on small tables: data to numbers, cells, an interrupted run, the table in print."""

import csv
import dataclasses
import math

import numpy as np
import pytest

from dpforest import datasets, reproduce
from dpforest.reproduce import cells, data, runner, writing
from dpforest.reproduce.cache import CellCache
from dpforest.reproduce.cells import Cell, cells_of, measure, run_cell
from dpforest.reproduce.definitions import Fit, PaperTable, Published, Row
from dpforest.reproduce.summary import summarise
from dpforest.schema import CategoricalFeature, NumericFeature, Schema, Target

FOREST = "dpforest:RandomDecisionForestClassifier"
VOTES = {"MV": {"voting": "majority"}, "TA": {"voting": "averaging"}}


def make_table(metric="error", **changes):
    row = Row(
        label="census",
        dataset="census",
        positive=None,
        grid={"max_depth": (1, 3), "n_estimators": (1, 3)},
        published={"MV": Published(20.0, {"max_depth": 3})},
        slow=False,
        unavailable="",
    )
    gone = dataclasses.replace(row, label="gone", unavailable="no data")
    fits = (Fit("dp", FOREST, {"epsilon": "1000/n_train"}, VOTES),)
    table = PaperTable(1, "Table 1", "A note.", metric, 0.1, 3, 1.0, fits, (row, gone))
    return dataclasses.replace(table, **changes)


@pytest.fixture
def census(monkeypatch):
    """A generated table stands in for the papers' data."""
    monkeypatch.setattr(datasets, "load", lambda name: datasets.make_census(600, random_state=0))
    data.load.cache_clear()
    data.split.cache_clear()
    yield
    data.load.cache_clear()
    data.split.cache_clear()


def values_of(table, figures):
    """Values for every cell of the first row: ``figures(settings, seed)`` for both columns."""
    return {
        cell.key: dict.fromkeys(VOTES, figures(settings, cell.seed))
        for settings, cell in cells_of(table, table.rows[0])
    }


def by_hand(settings, seed):
    return {1: 30.0, 3: 21.0}[settings["max_depth"]] + settings["n_estimators"] / 10 + seed - 1


@pytest.mark.parametrize(
    ("metric", "value", "depth", "trees", "reproduced"),
    [("error", 21.1, 3, 1, False), ("accuracy", 30.3, 1, 3, True), ("mse", 21.1, 3, 1, False)],
)
def test_summary_of_a_case_made_by_hand(metric, value, depth, trees, reproduced):
    table = make_table(metric)
    result = summarise(table, values_of(table, by_hand))
    entry = result.entries[0]
    assert entry.found.value == pytest.approx(value)
    assert entry.found.settings == {"max_depth": depth, "n_estimators": trees}
    assert entry.found.standard_error == pytest.approx(1 / math.sqrt(3))
    assert entry.difference == pytest.approx(value - 20.0)
    assert entry.reproduced is reproduced
    assert result.reproduced is reproduced
    assert [e.found is None for e in result.entries] == [False, False, True, True]


def test_within_the_tolerance_counts_as_reproduced():
    table = make_table(tolerance=1.2)
    assert summarise(table, values_of(table, by_hand)).reproduced


def test_table_in_markdown_and_csv(tmp_path):
    table = make_table()
    result = summarise(table, values_of(table, by_hand))
    markdown, comma_separated = writing.write(result, tmp_path, "small")
    text = markdown.read_text()
    assert "| census | MV | 21.10 ± 0.58 | 3, 1 | 20.00 | 3, ? | +1.10 | NO |" in text
    assert "| gone | TA | no data |" in text
    assert "0 of 1 figures are within 1 of the published value or better." in text
    rows = list(csv.DictReader(comma_separated.read_text().splitlines()))
    assert [row["value"] for row in rows] == ["21.1", "21.1", "", ""]
    assert rows[0]["published_settings"] == "max_depth 3"


@pytest.mark.parametrize(
    ("tolerance", "deviations", "said"),
    [
        (0.0, (0.0, 0.0), "0 of 2 figures are as published or better."),
        (0.0, (2.0, 2.0), "2 of 2 figures are within 2 of the published value or better."),
        (
            1.0,
            (0.5, 2.0),
            "1 of 2 figures are each within its own tolerance (1 to 2) of the published value or "
            "better.",
        ),
    ],
)
def test_the_verdict_says_what_was_tested(tolerance, deviations, said):
    row = make_table().rows[0]
    named = zip(VOTES, deviations, strict=True)
    published = {vote: Published(20.0, {}, deviation) for vote, deviation in named}
    table = make_table(tolerance=tolerance, rows=(dataclasses.replace(row, published=published),))
    assert writing.verdict(summarise(table, values_of(table, by_hand))) == said


def test_numbers_keep_bins_of_the_schema():
    schema = Schema(
        (
            NumericFeature("age", 0, 9),
            CategoricalFeature("vote", ("y", "n")),
            CategoricalFeature("hue", ("red", "green", "blue")),
        ),
        Target(classes=("a", "b", "c")),
    )
    X = np.array([[1, "n", "blue"], [2, None, "red"], [3, "y", "pink"]], dtype=object)
    records = data.to_numbers(X, ["c", "a", "b"], schema)
    expected = [[1, 1, 2], [2, np.nan, 0], [3, 0, np.nan]]
    np.testing.assert_array_equal(records.X, np.array(expected, np.float32))
    assert records.y.tolist() == [2, 0, 1]
    assert records.schema.classes == (0, 1, 2)
    against_rest = data.to_numbers(X, ["c", "a", "b"], schema, positive="b")
    assert against_rest.y.tolist() == [0, 0, 1]
    assert against_rest.schema.classes == (0, 1)


@pytest.mark.usefixtures("census")
def test_ten_splits_test_every_record_once():
    whole = np.nan_to_num(data.load("census", None).X)
    parts = [data.split("census", None, 0.1, seed) for seed in range(10)]
    assert all((len(p.train.y), len(p.test.y)) == (540, 60) for p in parts)
    tested = np.nan_to_num(np.concatenate([part.test.X for part in parts]))
    assert sorted(map(tuple, tested)) == sorted(map(tuple, whole))
    both = np.nan_to_num(np.concatenate([parts[3].train.X, parts[3].test.X]))
    assert sorted(map(tuple, both)) == sorted(map(tuple, whole))
    again = data.split("census", None, 0.1, 10)
    assert not np.array_equal(again.test.X, parts[0].test.X, equal_nan=True)


@pytest.mark.usefixtures("census")
def test_a_cell_gives_the_figures_of_its_votes():
    settings, cell = cells_of(make_table(), make_table().rows[0])[-1]
    values = run_cell(cell)
    assert settings == {"max_depth": 3, "n_estimators": 3}
    assert set(values) == {"MV", "TA"}
    assert values == run_cell(cell)
    assert all(0 < value < 60 for value in values.values())
    parts = data.split("census", None, 0.1, cell.seed)
    parameters = cells._parameters(cell, parts, {"schema": None})
    assert parameters["epsilon"] == 1000 / 540
    assert "random_state" not in parameters


def test_keys_tell_cells_apart():
    found = cells_of(make_table(), make_table().rows[0])
    assert len({cell.key for _, cell in found}) == len(found) == 3 * 4
    assert not cells_of(make_table(), make_table().rows[1])


@pytest.mark.parametrize("stop_after", [0, 1, 5, 11])
@pytest.mark.usefixtures("census")
def test_an_interrupted_run_continues_where_it_stopped(monkeypatch, tmp_path, stop_after):
    ran: list[Cell] = []

    def count_and_stop(cell):
        if len(ran) == stop_after:
            raise KeyboardInterrupt
        ran.append(cell)
        return {"MV": float(cell.seed), "TA": 0.0}

    monkeypatch.setattr(runner, "run_cell", count_and_stop)
    path = tmp_path / "cells.jsonl"
    with pytest.raises(KeyboardInterrupt):
        reproduce.run_table(make_table(), CellCache(path), n_jobs=1)
    assert len(CellCache(path)) == stop_after
    monkeypatch.setattr(runner, "run_cell", lambda cell: ran.append(cell) or {"MV": 1.0, "TA": 0.0})
    result = reproduce.run_table(make_table(), CellCache(path), n_jobs=1)
    assert len(ran) == len({cell.key for cell in ran}) == 12
    assert result.entries[0].found is not None


def test_run_prints_and_writes(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(runner, "run_cell", lambda cell: dict.fromkeys(cell.columns, 3.0))
    (result,) = reproduce.run("004", table=1, quick=True, out=tmp_path, n_jobs=1)
    assert {e.row for e in result.entries if e.found is None} == {"covtype", "quantum"}
    assert "Bojarski" in capsys.readouterr().out
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"bojarski-table-1-quick.md", "bojarski-table-1-quick.csv", "cells"}
    with pytest.raises(ValueError, match="no table 7 here: choose one of 1"):
        reproduce.run("004", table=7, out=tmp_path)


def test_measures():
    truth, predicted = np.array([1.0, 0.0, 0.0, 1.0]), np.array([1.0, 1.0, 0.0, 1.0])
    assert measure("error", truth, predicted) == 25.0
    assert measure("accuracy", truth, predicted) == 75.0
    assert measure("mse", truth, predicted) == 250.0
