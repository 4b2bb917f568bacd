"""What all commands have in common, and what is new in some."""

import csv
import json
import runpy
import sys

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command

import dpforest
from dpforest import Budget, PrivateForestClassifier, Schema, load_model
from dpforest.cli import app, estimators, streaming, tables
from dpforest.cli.console import tell
from dpforest.forests.files import read_model
from dpforest.forests.saving import SavedEstimator
from tests.cli.conftest import patients, run, run_well

SECRET = "NOBODY-MUST-SEE-THIS"


def told(*arguments):
    return json.loads(run_well(*arguments, "--json").stdout)


def test_the_version_is_that_of_the_library():
    assert run_well("--version").stdout == f"dpforest {dpforest.__version__}\n"


def test_python_runs_the_package(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["dpforest", "--version"])
    with pytest.raises(SystemExit):
        runpy.run_module("dpforest", run_name="__main__")
    assert capsys.readouterr().out == f"dpforest {dpforest.__version__}\n"


def test_estimators_are_all_that_can_be_trained_and_saved():
    kinds = {
        n: getattr(dpforest, n) for n in dpforest.__all__ if n.startswith(("P", "R", "M", "G"))
    }
    saved = {
        name
        for name, kind in kinds.items()
        if isinstance(kind, type) and issubclass(kind, SavedEstimator)
        if kind.save is SavedEstimator.save
    }
    assert set(estimators.offered()) == saved


def fit_any(shop, tmp_path, name):
    """Train an estimator by its name, regressors on the age of the patients."""
    schema = shop / "schema.json"
    if name.endswith("Regressor"):
        entry = json.loads(schema.read_text(encoding="utf-8"))
        entry["features"] = [f for f in entry["features"] if f["name"] != "age"]
        entry["target"] = {"name": "age", "low": 0, "high": 120}
        schema = tmp_path / "numbers.json"
        schema.write_text(json.dumps(entry), encoding="utf-8")
    where = ("--schema", schema, "-o", tmp_path / "m.dpforest", "--estimator", name)
    run_well("fit", shop / "patients.csv", *where)
    return tmp_path / "m.dpforest"


@pytest.mark.parametrize("name", estimators.offered())
def test_every_estimator_that_is_offered_works(shop, tmp_path, name):
    model = fit_any(shop, tmp_path, name)
    run_well("predict", model, shop / "patients.csv", "-o", tmp_path / "p.csv")


# Predictions


@pytest.mark.parametrize("large", [streaming.LARGE, 0])
def test_intervals_are_written_beside_predictions(shop, tmp_path, monkeypatch, large):
    monkeypatch.setattr(streaming, "LARGE", large)
    model = fit_any(shop, tmp_path, "PrivateIntervalRegressor")
    run_well("predict", model, shop / "patients.csv", "-o", tmp_path / "p.csv")
    found, forest = pd.read_csv(tmp_path / "p.csv"), load_model(model)
    assert list(found) == ["prediction", "lower", "upper"]
    rows = patients(600)[["ward"]]
    np.testing.assert_allclose(found["prediction"], forest.predict(rows))
    np.testing.assert_allclose(found[["lower", "upper"]], forest.predict_interval(rows))


@pytest.mark.parametrize("output", ["p.csv", "p.parquet"])
def test_ids_are_carried_through_as_they_are(shop, tmp_path, output):
    run_well("predict", shop / "model.dpforest", shop / "patients.csv", "-o", tmp_path / output,
             "--id", "patient_id", "--id", "ward")  # fmt: skip
    found = pd.read_parquet(tmp_path / output) if output == "p.parquet" else pd.read_csv(
        tmp_path / output, dtype=str
    )  # fmt: skip
    assert list(found) == ["patient_id", "ward", "prediction"]
    expected = patients(600)
    assert found.patient_id.tolist() == expected.patient_id.tolist()
    forest = load_model(shop / "model.dpforest")
    assert found.prediction.tolist() == forest.predict(expected[["age", "ward"]]).tolist()


def test_ids_of_parquet_keep_their_type_and_gaps(shop, tmp_path):
    table = patients(4).assign(key=pd.array([1, None, 2**53 + 1, 4], dtype="Int64"))
    table.to_parquet(tmp_path / "t.parquet")
    run_well("predict", shop / "model.dpforest", tmp_path / "t.parquet", "--id", "key",
             "-o", tmp_path / "p.csv")  # fmt: skip
    with (tmp_path / "p.csv").open(encoding="utf-8", newline="") as file:
        assert [row["key"] for row in csv.DictReader(file)] == ["1", "", str(2**53 + 1), "4"]


def test_an_id_that_is_a_prediction_is_refused(shop, tmp_path):
    result = run("predict", shop / "model.dpforest", shop / "patients.csv", "--id", "prediction",
                 "-o", tmp_path / "p.csv")  # fmt: skip
    assert (result.exit_code, "column of predictions" in result.stderr) == (1, True)


# A table and a schema


def test_a_table_that_fits(shop):
    for table, more in [("patients.csv", []), ("patients_eu.csv", ["--encoding", "cp1252"])]:
        told_ = told("schema", "check", shop / table, "--schema", shop / "schema.json", *more)
        assert told_ == {"fits": True, "problems": []}


def test_a_table_that_does_not_fit_says_so_of_every_column_and_no_cell(shop, tmp_path):
    table = patients(40).drop(columns="ward")
    table.assign(age=SECRET, relapse=SECRET).to_csv(tmp_path / "t.csv", index=False)
    where = ("schema", "check", tmp_path / "t.csv", "--schema", shop / "schema.json")
    result = run(*where)
    assert result.exit_code == 1
    age, ward, target = result.stdout.splitlines()
    assert age.startswith("column 'age': the schema says numeric")
    assert "has no column 'ward'" in ward
    assert target.startswith("target 'relapse'")
    assert SECRET not in result.output
    assert "40" not in result.output
    found = run(*where, "--features-only", "--json")
    assert len(json.loads(found.stdout)["problems"]) == 2


def test_what_lies_outside_the_declared_values_is_not_told(shop, tmp_path):
    """A fit takes them, and a schema must not be widened after a look at the records."""
    patients(40).assign(age=500, ward="east").to_csv(tmp_path / "t.csv", index=False)
    run_well("schema", "check", tmp_path / "t.csv", "--schema", shop / "schema.json")


def test_what_check_takes_fit_takes(shop, tmp_path):
    """Neither refuses what the other takes: check says what fit would say."""
    good = patients(40)
    changes = [{}, {"age": "x"}, {"age": None}, {"ward": None}, {"relapse": None}, {"ward": 7}]
    for k, change in enumerate(changes):
        table = tmp_path / f"{k}.csv"
        good.assign(**change).to_csv(table, index=False)
        checked = run("schema", "check", table, "--schema", shop / "schema.json").exit_code
        where = ("--schema", shop / "schema.json", "-o", tmp_path / f"{k}.dpforest")
        fitted = run("fit", table, *where, "--estimator", "RandomDecisionForestClassifier")
        assert checked == fitted.exit_code


def test_declared_categories_are_not_asked(shop, tmp_path):
    paid = ("--target", "relapse", "--epsilon", 5, "--delta", 1e-5, "--ignore", "patient_id")
    declared = ("--types", "age=integer", "--categories", "ward=north,süd")
    run_well("schema", shop / "patients.csv", *paid, *declared, "--categories", "relapse=no,yes",
             "-o", tmp_path / "s.json")  # fmt: skip
    schema = Schema.load(tmp_path / "s.json")
    assert schema.classes == ("no", "yes")
    assert [entry.label for entry in schema.ledger.entries] == ["bounds of 'age'"]
    wrong = run("schema", shop / "patients.csv", *paid, "--categories", "ward",
                "-o", tmp_path / "other.json")  # fmt: skip
    assert "expected column=a,b,c" in wrong.stderr


# Explain


def test_explain_speaks_json(shop):
    model = load_model(shop / "model.dpforest")
    found = told("explain", shop / "model.dpforest")
    assert found["digest"] == read_model(shop / "model.dpforest").digest
    assert found["estimator"] == "RandomDecisionForestClassifier"
    assert found["guarantee"]["epsilon"] == model.ledger_.epsilon
    assert found["ledger"] == json.loads(json.dumps(model.ledger_.to_dict()))
    assert found["releasable"] is True


def test_explain_of_schemas_paid_free_and_leaking(shop, tmp_path):
    paid = tmp_path / "paid.json"
    run_well("schema", shop / "patients.csv", "--target", "relapse", "--epsilon", 8,
             "--delta", 1e-5, "--ignore", "patient_id", "-o", paid)  # fmt: skip
    assert run_well("explain", paid).stdout.startswith("(epsilon = 8, delta = 1e-05) for adding")
    assert told("explain", paid)["ledger"]["stages"][0]["kind"] == "schema"
    assert "nothing was spent" in run_well("explain", shop / "schema.json").stdout
    assert told("explain", shop / "schema.json") == {"kind": "schema", "ledger": None}
    starter = tmp_path / "starter.json"
    leaking = ("--target", "relapse", "--ignore", "patient_id", "-o", starter)
    run_well("schema", shop / "patients.csv", *leaking)
    assert "no guarantee" in run_well("explain", starter).stdout
    assert told("explain", starter)["guarantee"] is None


def test_explain_of_an_evaluation_and_of_nothing(shop, tmp_path):
    output = tmp_path / "e.json"
    run_well(
        "evaluate", shop / "model.dpforest", shop / "held_out.csv", "--epsilon", 1, "-o", output
    )
    assert "confusion matrix" in run_well("explain", output).stdout
    assert told("explain", output)["kind"] == "evaluation"
    for name, content in [("a", "no JSON"), ("b", "[]"), ("c", '{"a": 1}')]:
        (tmp_path / name).write_text(content)
        result = run("explain", tmp_path / name)
        assert result.exit_code == 1
        assert "not a model, a schema or an evaluation" in result.stderr


# Report


def test_a_report_of_a_file_with_its_evaluation_and_budget(shop, tmp_path):
    evaluation, page = tmp_path / "e.json", tmp_path / "r.html"
    measure = ("evaluate", shop / "model.dpforest", shop / "held_out.csv", "--epsilon", 1)
    run_well(*measure, "-o", evaluation)
    Budget.create(tmp_path / "b.db", epsilon=3, table="ward 7")
    more = ("--evaluation", evaluation, "--budget", tmp_path / "b.db")
    saved = told("report", shop / "model.dpforest", *more, "-o", page)
    html = page.read_text(encoding="utf-8")
    assert saved == {"saved": str(page), "bytes": page.stat().st_size}
    assert read_model(shop / "model.dpforest").digest in html
    assert "ward 7" in html
    assert "does not say which model" not in html
    evaluation.write_text("[]")
    refused = run("report", shop / "model.dpforest", *more, "-o", page, "--force")
    assert "is not what 'dpforest evaluate -o' wrote" in refused.stderr
    assert page.read_text(encoding="utf-8") == html


def test_an_evaluation_of_another_model_is_refused(shop, tmp_path):
    where = ("--schema", shop / "schema.json", "-o", tmp_path / "other.dpforest")
    run_well("fit", shop / "patients.csv", *where, "--estimator", "RandomDecisionForestClassifier")
    run_well("evaluate", tmp_path / "other.dpforest", shop / "held_out.csv", "--epsilon", 1,
             "-o", tmp_path / "e.json")  # fmt: skip
    refused = run("report", shop / "model.dpforest", "--evaluation", tmp_path / "e.json",
                  "-o", tmp_path / "r.html")  # fmt: skip
    assert refused.exit_code == 1
    assert "measured another model" in refused.stderr


def test_the_demonstration_ends_with_a_report(tmp_path):
    page = tmp_path / "demo.html"
    found = told("demo", "--rows", 300, "--report", page)
    assert "carries a privacy guarantee" in page.read_text(encoding="utf-8")
    assert found["report"] == str(page)
    assert found["models"][0]["model"] == "majority class"


# Nothing is overwritten


OUTPUTS = {
    "fit": ("fit", "patients.csv", "--schema", "schema.json", "-o"),
    "predict": ("predict", "model.dpforest", "patients.csv", "-o"),
    "report": ("report", "model.dpforest", "-o"),
    "schema": ("schema", "patients.csv", "--target", "relapse", "-o"),
    "evaluate": ("evaluate", "model.dpforest", "patients.csv", "--epsilon", "1", "-o"),
    "sign": ("sign", "model.dpforest", "--key", "key.pem", "-o"),
    "audit": ("audit", "half-noise", "--plot"),
    "demo": ("demo", "--report"),
}


@pytest.mark.parametrize("case", OUTPUTS)
def test_nothing_is_overwritten_and_nothing_read_before_that_is_settled(
    shop, tmp_path, monkeypatch, case
):
    monkeypatch.chdir(shop)
    monkeypatch.setattr(tables, "read_table", None)
    monkeypatch.setattr(PrivateForestClassifier, "fit", None)
    precious = tmp_path / "precious.csv"
    precious.write_text("precious")
    result = run(*OUTPUTS[case], precious)
    assert result.exit_code == 1
    assert "exists: give another name, or --force" in result.stderr
    assert precious.read_text() == "precious"
    nowhere = run(*OUTPUTS[case], tmp_path / "nowhere" / "p.csv")
    assert (nowhere.exit_code, "no folder" in nowhere.stderr) == (1, True)


# Machines


def test_a_disk_that_fails_does_not_hide_what_was_spent(shop, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "m.dpforest")

    monkeypatch.setattr("dpforest.cli.inputs.save_or_keep", full)
    where = ("--schema", shop / "schema.json", "-o", tmp_path / "m.dpforest", "--json")
    result = run("fit", shop / "patients.csv", *where)
    assert result.exit_code == 1
    assert "error: m.dpforest: no space left on device" in result.stderr
    spent = json.loads(result.stdout)
    assert (spent["saved"], spent["guarantee"]["epsilon"]) == (None, pytest.approx(1, abs=1e-3))


def test_infinity_is_a_text_for_machines(capsys):
    tell({"a": [float("inf"), 1.5], "b": (float("nan"),)})
    assert json.loads(capsys.readouterr().out) == {"a": ["inf", 1.5], "b": ["nan"]}


def test_every_command_takes_json_but_those_that_write_scripts_and_tables():
    def without(command, path):
        inner = getattr(command, "commands", {})
        if not inner and "--json" not in (name for each in command.params for name in each.opts):
            return [path]
        return [lost for name, each in inner.items() for lost in without(each, f"{path} {name}")]

    assert without(get_command(app), "dpforest") == ["dpforest reproduce", "dpforest completion"]


def test_every_result_can_be_had_as_json(shop, tmp_path):
    model = shop / "model.dpforest"
    budget = told("budget", "create", tmp_path / "b.db", "--epsilon", 1, "--table", "t")
    assert budget["remaining"] == {"gaussian": 1.0, "pure": 1.0}
    fitted = told("fit", shop / "patients.csv", "--schema", shop / "schema.json",
                  "--epsilon", "inf", "-o", tmp_path / "m.dpforest")  # fmt: skip
    assert (fitted["guarantee"], fitted["reasons"]) == (None, ["epsilon is infinite: not private"])
    assert fitted["digest"] == read_model(tmp_path / "m.dpforest").digest
    assert told("predict", model, shop / "patients.csv", "-o", tmp_path / "p.csv")["columns"] == [
        "prediction"
    ]
    starter = ("--target", "relapse", "--ignore", "patient_id", "-o", tmp_path / "s.json")
    assert told("schema", shop / "patients.csv", *starter) == {
        "saved": str(tmp_path / "s.json"),
        "private": True,
    }
    listed = told("literature")
    assert len(listed) > 20
    assert told("literature", "edprf")[0]["guarantee"] == "repaired"
    caught = run("audit", "half-noise", "--random-state", 0, "--json")
    assert caught.exit_code == 1
    assert json.loads(caught.stdout)[0]["leaks"] is True
