"""The command line on tables that need not fit into memory: the same as on those that do."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dpforest import load_model
from dpforest.cli import app, streaming
from dpforest.datasets import make_census


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


@pytest.mark.parametrize("persons", [[], ["--groups", "person", "--max-records-per-group", 2]])
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
    for name in ("ragged.csv", "other.csv"):
        result = run(
            "predict", folder / "model.dpforest", tmp_path / name, "-o", tmp_path / "a.csv"
        )
        assert result.exit_code == 1
        assert "SECRET" not in result.stderr
    result = run(*fit_arguments(folder, "census", "m.dpforest", "--target", "outcome"))
    assert result.exit_code == 1
    assert "no column 'outcome'" in result.stderr
