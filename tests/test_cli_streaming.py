"""The command line on tables that need not fit into memory: the same as on those that do."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dpforest import load_model
from dpforest.cli import app, streaming
from dpforest.datasets import make_census

OF_PERSONS = ["--groups", "person", "--max-records-per-group", 2]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def run_well(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A census as CSV, as Parquet and as a folder of Parquet files, and its schema."""
    folder = tmp_path_factory.mktemp("streams")
    census = make_census(600, random_state=0)
    table = pd.DataFrame(census.X).assign(income=census.y, person=np.arange(600) // 3)
    table.to_csv(folder / "census.csv", index=False)
    table.to_csv(folder / "census.csv.gz", index=False)
    table.to_parquet(folder / "census.parquet")
    (folder / "census").mkdir()
    for i in range(3):
        table[i * 200 : (i + 1) * 200].to_parquet(folder / "census" / f"part-{i}.parquet")
    census.schema.save(folder / "schema.json")
    run_well(*fit_arguments(folder, "census.csv", "model.dpforest"))
    return folder


def fit_arguments(folder, table, model, *more):
    where = ["fit", folder / table, "--schema", folder / "schema.json", "-o", folder / model]
    return [*where, "--random-state", 0, "--force", *more]


@pytest.fixture
def all_large(monkeypatch):
    monkeypatch.setattr(streaming, "LARGE", 0)
    monkeypatch.setattr(streaming, "CSV_ROWS", 130)


@pytest.mark.parametrize("persons", [[], OF_PERSONS])
@pytest.mark.parametrize("table", ["census", "census.parquet"])
def test_a_model_is_that_of_the_file_in_memory(folder, table, persons, all_large):
    run_well(*fit_arguments(folder, "census.csv", "memory.dpforest", *persons))
    told = run_well(*fit_arguments(folder, table, "streamed.dpforest", *persons))
    one, other = (load_model(folder / f"{name}.dpforest") for name in ("memory", "streamed"))
    np.testing.assert_array_equal(one.forest_.values, other.forest_.values)
    assert ("'person'" in told.stderr) == (not persons)


@pytest.mark.parametrize("options", [[], ["--probabilities"]])
@pytest.mark.parametrize("output", ["answers.csv", "answers.csv.gz", "answers.parquet"])
@pytest.mark.parametrize("table", ["census.csv", "census.csv.gz", "census.parquet", "census"])
def test_predictions_are_those_of_the_file_in_memory(folder, table, output, options, all_large):
    model = load_model(folder / "model.dpforest")
    run_well(
        "predict",
        folder / "model.dpforest",
        folder / table,
        "-o",
        folder / output,
        "--force",
        *options,
    )
    read = pd.read_parquet if output.endswith("parquet") else pd.read_csv
    found = read(folder / output)
    X = pd.read_parquet(folder / "census.parquet")[list(model.schema_.feature_names)]
    if options:
        assert found.columns.tolist() == model.classes_.tolist()
        np.testing.assert_allclose(found.to_numpy(), model.predict_proba(X), rtol=1e-15)
    else:
        assert found["prediction"].tolist() == model.predict(X).tolist()


def test_bad_tables_are_refused_without_showing_cells(folder, tmp_path, all_large):
    (tmp_path / "ragged.csv").write_text("age,education\n17,SECRET\n18\n")
    (tmp_path / "other.csv").write_text("SECRET\n17\n")
    (tmp_path / "long.csv").write_text('age,education\n17,"SECRET\n18,"\n')
    for name in ("ragged.csv", "other.csv", "long.csv"):
        result = run(
            "predict", folder / "model.dpforest", tmp_path / name, "-o", tmp_path / "a.csv"
        )
        assert result.exit_code == 1
        assert "SECRET" not in result.stderr
    result = run(*fit_arguments(folder, "census", "m.dpforest", "--target", "outcome"))
    assert result.exit_code == 1
    assert "no column 'outcome'" in result.stderr


PAID = ["--epsilon", 20, "--delta", 1e-6, "--types", "frame"]


@pytest.mark.parametrize(
    "options", [["--ignore", "person"], ["--ignore", "person", *PAID], [*PAID, *OF_PERSONS]]
)
def test_a_schema_is_that_of_the_file_in_memory(folder, tmp_path, options, monkeypatch):
    def written(table):
        where = ["--target", "income", "-o", tmp_path / "s.json", "--force", "--random-state", 0]
        run_well("schema", folder / table, *where, "--ignore", "hours_per_week", *options)
        found = json.loads((tmp_path / "s.json").read_text())
        return {key: value for key, value in found.items() if key != "ledger"}

    expected = written("census.parquet")
    assert written("census") == expected
    monkeypatch.setattr(streaming, "LARGE", 0)
    assert written("census.parquet") == expected
    names = {feature["name"] for feature in expected["features"]}
    assert len(names) == 9
    assert not names & {"person", "hours_per_week", "income"}


def test_tables_that_do_not_fit_say_so_of_every_column(folder, tmp_path, all_large):
    checked = ["--schema", folder / "schema.json"]
    run_well("schema", "check", folder / "census", *checked)
    table = pd.read_parquet(folder / "census.parquet")
    table["age"] = table["age"].astype(str)
    table.loc[500, "age"] = "SECRET"
    table.loc[550, "income"] = None
    (tmp_path / "bad").mkdir()
    for i, some in enumerate((table[:300], table[300:])):
        some.drop(columns="hours_per_week").to_parquet(tmp_path / "bad" / f"{i}.parquet")
    result = run("schema", "check", tmp_path / "bad", *checked)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    bad = ["age", "hours_per_week", "income"]
    assert [name for line in lines for name in bad if repr(name) in line] == bad
    assert len(lines) == 3
    assert "SECRET" not in result.stdout
    for file in (tmp_path / "bad").iterdir():
        file.unlink()
    table[:0].to_parquet(tmp_path / "bad" / "0.parquet")
    predicted = ("predict", folder / "model.dpforest", tmp_path / "bad", "-o", tmp_path / "a.csv")
    for command in (("schema", "check", tmp_path / "bad", *checked), predicted):
        result = run(*command)
        assert (result.exit_code, "empty" in result.stderr) == (1, True)
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize("persons", [[], OF_PERSONS])
def test_an_evaluation_is_that_of_the_file_in_memory(folder, persons, monkeypatch):
    def measured(table):
        asked = ["--epsilon", 1, "--random-state", 0, *persons]
        return run_well("evaluate", folder / "model.dpforest", folder / table, *asked).stdout

    expected = measured("census.csv")
    assert measured("census") == expected
    monkeypatch.setattr(streaming, "LARGE", 0)
    assert measured("census.parquet") == expected
