"""The command line, end to end on small files."""

import csv
import json
import shutil
import sqlite3
import sys
from types import SimpleNamespace

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from rich.console import Console
from typer.testing import CliRunner

from dpforest import (
    Budget,
    NumericFeature,
    PrivacyLeakWarning,
    PrivateForestClassifier,
    PrivateForestRegressor,
    Protection,
    RandomDecisionForestClassifier,
    Schema,
    Target,
    evaluate,
    load_model,
    progress,
)
from dpforest.cli import app, tables
from dpforest.datasets import frames, make_census
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.schema.categories import is_missing

SECRET = "NOBODY-MUST-SEE-THIS"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def run_well(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A census as CSV, gzipped CSV and Parquet, its schema, and a model trained on it."""
    folder = tmp_path_factory.mktemp("cli")
    census = make_census(600, random_state=0)
    table = pd.DataFrame(census.X).assign(income=census.y, person=np.arange(600) // 3)
    table.to_csv(folder / "census.csv", index=False)
    table.to_csv(folder / "census.csv.gz", index=False)
    table.to_parquet(folder / "census.parquet")
    census.schema.save(folder / "schema.json")
    run_well(*fit_arguments(folder, "census.csv", "model.dpforest"))
    return folder


def fit_arguments(folder, table, model, *more):
    where = ["fit", folder / table, "--schema", folder / "schema.json", "-o", folder / model]
    return [*where, "--random-state", 0, "--force", *more]


def column(path, name):
    if path.suffix == ".parquet":
        return pd.read_parquet(path)[name].tolist()
    with path.open(newline="", encoding="utf-8") as file:
        return [row[name] for row in csv.DictReader(file)]


def without_frames(monkeypatch):
    """As after a plain install: neither pandas nor polars nor pyarrow."""
    monkeypatch.setattr(frames, "BACKENDS", ())


@pytest.mark.parametrize("with_frames", [True, False])
def test_demo_prints_accuracies_and_the_ledger(monkeypatch, with_frames):
    if not with_frames:
        without_frames(monkeypatch)
    printed = run_well("demo", "--rows", 500).stdout
    for part in ("majority class", "epsilon = 0.1", "no noise", "not private"):
        assert part in printed
    assert "(epsilon = 1, delta = 1e-06) for adding or removing one record" in printed
    assert "gradients and Hessians of the leaves: discrete Gaussian" in printed


@pytest.mark.parametrize("table", ["census.csv", "census.csv.gz", "census.parquet"])
@pytest.mark.parametrize("output", ["predictions.csv", "predictions.parquet"])
def test_fit_and_predict_are_the_librarys(folder, table, output):
    run_well(*fit_arguments(folder, table, "again.dpforest"))
    arguments = ["predict", folder / "again.dpforest", folder / table, "-o", folder / output]
    run_well(*arguments, "--force")
    census = make_census(600, random_state=0)
    forest = PrivateForestClassifier(schema=census.schema, random_state=0)
    expected = forest.fit(census.X, census.y).predict(census.X).tolist()
    assert column(folder / output, "prediction") == expected


@pytest.mark.parametrize("backend", ["polars", "pyarrow", None])
def test_other_readers_give_the_same_model(folder, monkeypatch, backend):
    monkeypatch.setattr(frames, "BACKENDS", () if backend is None else (backend,))
    run_well(*fit_arguments(folder, "census.csv", "other.dpforest"))
    first, other = load_model(folder / "model.dpforest"), load_model(folder / "other.dpforest")
    np.testing.assert_array_equal(first.forest_.values, other.forest_.values)
    output = folder / "other.csv"
    arguments = ["predict", folder / "other.dpforest", folder / "census.csv.gz", "-o", output]
    run_well(*arguments, "--force")
    assert set(column(output, "prediction")) <= {"<=50K", ">50K"}


def test_probabilities_have_a_column_for_each_class(folder):
    output = folder / "probabilities.csv"
    model = folder / "model.dpforest"
    run_well("predict", model, folder / "census.csv", "-o", output, "--probabilities")
    low, high = (np.array(column(output, name), float) for name in ("<=50K", ">50K"))
    np.testing.assert_allclose(low + high, 1)


def test_cells_of_csv_are_read_as_the_classes_of_the_schema(tmp_path):
    table = pd.DataFrame({"x0": np.arange(40) / 40, "y": np.arange(40) % 2})
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    features = (NumericFeature("x0", 0, 1),)
    Schema(features, Target("y", classes=(0, 1))).save(tmp_path / "numbers.json")
    Schema(features, Target("y", classes=("0", "1"))).save(tmp_path / "texts.json")
    for name, kind in (("numbers", "i"), ("texts", "U")):
        model = tmp_path / f"{name}.dpforest"
        run_well("fit", tmp_path / "t.csv", "--schema", tmp_path / f"{name}.json", "-o", model)
        assert load_model(model).classes_.dtype.kind == kind
        run_well("evaluate", model, tmp_path / "t.csv", "--epsilon", 1)
    refused = run(
        "fit", tmp_path / "t.parquet", "--schema", tmp_path / "texts.json", "-o", tmp_path / "m"
    )
    assert refused.exit_code == 1
    assert "in another type" in refused.stderr


def test_plan_says_what_to_expect_and_reads_no_record(tmp_path):
    features = (NumericFeature("x0", 0, 1), NumericFeature("x1", 0, 1))
    Schema(features, Target("y", classes=(0, 1))).save(tmp_path / "s.json")
    asked = ["plan", "--schema", tmp_path / "s.json", "--rows", 200, "--seeds", 1]
    forest = ["--estimator", "RandomDecisionForestClassifier"]
    printed = run_well(*asked, *forest, "--epsilon", 0.1, 0.5, 2).stdout
    assert [line.split("  ")[0] for line in printed.splitlines()[2:]] == [
        "knows no feature", "epsilon = 0.1", "epsilon = 0.5", "epsilon = 2", "not private"
    ]  # fmt: skip
    rows = json.loads(run_well(*asked, *forest, "--epsilon", 1, "--json").stdout)["rows"]
    assert 0 <= rows["epsilon = 1"]["all"]["low"] <= rows["epsilon = 1"]["all"]["high"] <= 1
    refused = run(*asked, *forest, "--delta", 0.1)
    assert "no --delta" in refused.stderr


def test_fit_and_explain_print_the_ledger(folder):
    printed = run_well("explain", folder / "model.dpforest").stdout
    assert printed.startswith("(epsilon = 1, delta = 1e-06) for adding or removing one record")
    assert "noise: reproducible, not for release" in printed
    assert "; not for release: the noise is reproducible" in printed.splitlines()[0]
    account, origin = printed.rstrip().rsplit("\n", 1)
    assert origin.startswith("written by dpforest ")
    fitted = run_well(*fit_arguments(folder, "census.csv", "again.dpforest")).stdout
    assert fitted.startswith(account)


def test_a_number_to_predict_gets_the_regressor(folder):
    entry = json.loads((folder / "schema.json").read_text(encoding="utf-8"))
    named = {feature["name"]: feature for feature in entry["features"]}
    hours = named.pop("hours_per_week")
    entry["features"] = list(named.values())
    entry["target"] = {key: hours[key] for key in ("name", "low", "high")}
    (folder / "hours.json").write_text(json.dumps(entry), encoding="utf-8")
    options = ("--schema", folder / "hours.json", "-o", folder / "hours.dpforest")
    run_well("fit", folder / "census.csv", *options)
    assert isinstance(load_model(folder / "hours.dpforest"), PrivateForestRegressor)


def test_delta_zero_is_pure_and_other_estimators_can_be_asked_for(folder):
    printed = run_well(*fit_arguments(folder, "census.csv", "pure.dpforest", "--delta", 0)).stdout
    assert printed.startswith("(epsilon = 1, delta = 0) for adding or removing one record")
    assert "discrete Laplace" in printed
    other = ("--estimator", "RandomDecisionForestClassifier")
    printed = run_well(*fit_arguments(folder, "census.csv", "random.dpforest", *other)).stdout
    assert "class counts of the leaves" in printed


def test_groups_protect_persons(folder):
    options = ("--groups", "person", "--max-records-per-group", 2, "--epsilon", 0.5)
    printed = run_well(*fit_arguments(folder, "census.csv", "persons.dpforest", *options)).stdout
    assert "one person (at most 2 records each)" in printed
    assert "epsilon = 0.5" in printed


def test_columns_outside_the_schema_are_ignored_aloud(folder):
    result = run_well(*fit_arguments(folder, "census.csv", "again.dpforest"))
    assert "not in the schema and ignored: 'person'" in result.stderr


@pytest.mark.parametrize("with_frames", [True, False])
def test_a_starter_schema_leaks_loudly_and_is_refused(folder, monkeypatch, with_frames):
    if not with_frames:
        without_frames(monkeypatch)
    starter = folder / "starter.json"
    arguments = ("--target", "income", "-o", starter, "--ignore", "person")
    result = run_well("schema", folder / "census.csv", "--force", *arguments)
    assert "WARNING: the schema was read from the data" in result.stderr
    assert "PRIVATE" in result.stdout
    refused = run("fit", folder / "census.csv", "--schema", starter, "-o", folder / "leak.dpforest")
    assert refused.exit_code == 1
    assert "no guarantee" in refused.stderr
    assert not (folder / "leak.dpforest").exists()
    entry = json.loads(starter.read_text(encoding="utf-8"))
    assert entry["features"][0]["name"] == "age"
    assert entry["features"][0]["kind"] == "numeric"
    assert entry["target"] == {"name": "income", "classes": ["<=50K", ">50K"]}
    with pytest.warns(PrivacyLeakWarning):
        assert Schema.load(starter).ledger.guarantee is None
    del entry["read_from_data"]
    starter.write_text(json.dumps(entry), encoding="utf-8")
    edited = folder / f"edited-{with_frames}.dpforest"
    run_well("fit", folder / "census.csv", "--schema", starter, "-o", edited)


def test_a_paid_schema_can_be_trained_with(folder):
    paid = folder / "paid.json"
    options = ("--target", "income", "--ignore", "person", "--epsilon", 50, "--delta", 1e-5)
    printed = run_well("schema", folder / "census.csv", *options, "-o", paid).stdout
    assert "(epsilon = 50, delta = 1e-05)" in printed
    model = folder / "paid.dpforest"
    fitted = run_well("fit", folder / "census.csv", "--schema", paid, "-o", model).stdout
    explained = run_well("explain", model).stdout
    assert explained.startswith("(epsilon = 51, delta = 1.1e-05)")
    assert "odometer: stages add up\n├─ schema: (epsilon = 50, delta = 1e-05)" in explained
    assert fitted.startswith(explained.rstrip().rsplit("\n", 1)[0])


# Files


def test_schema_does_not_overwrite_and_says_so_before_it_reads(folder, monkeypatch, tmp_path):
    paid = tmp_path / "paid.json"
    paid.write_text("precious")
    monkeypatch.setattr("dpforest.cli.tables.read_table", None)
    refused = run("schema", folder / "census.csv", *PAID, "-o", paid)
    assert refused.exit_code == 1
    assert "--force" in refused.stderr
    assert paid.read_text() == "precious"


def test_fit_does_not_overwrite_and_says_so_before_it_reads(folder, monkeypatch, tmp_path):
    model = tmp_path / "model.dpforest"
    model.write_text("precious")
    monkeypatch.setattr("dpforest.cli.tables.read_table", None)
    where = ("--schema", folder / "schema.json", "-o", model)
    refused = run("fit", folder / "census.csv", *where)
    assert refused.exit_code == 1
    assert f"{model} exists" in refused.stderr
    assert "--force" in refused.stderr
    assert model.read_text() == "precious"
    monkeypatch.undo()
    run_well("fit", folder / "census.csv", *where, "--force", "--table-name", "census 2026")
    assert "table 'census 2026'" in run_well("explain", model).stdout


def test_a_model_whose_name_was_taken_meanwhile_is_kept(folder, monkeypatch, tmp_path):
    model = tmp_path / "model.dpforest"
    fit = PrivateForestClassifier.fit

    def slow_fit(forest, *arguments, **options):
        model.write_text("of another fit")
        return fit(forest, *arguments, **options)

    monkeypatch.setattr(PrivateForestClassifier, "fit", slow_fit)
    where = ("--schema", folder / "schema.json", "-o", model)
    result = run("fit", folder / "census.csv", *where)
    assert result.exit_code == 1
    assert model.read_text() == "of another fit"
    (kept,) = (path for path in tmp_path.iterdir() if path != model)
    assert f"kept as {kept}" in result.stderr
    assert load_model(kept).ledger_.releasable


def key_pair(folder, kind=None):
    """The PEM files of a new key, as openssl writes them."""
    private = kind or ed25519.Ed25519PrivateKey.generate()
    secret, public = folder / "key.pem", folder / "public.pem"
    unlocked = serialization.NoEncryption()
    encoding = serialization.Encoding.PEM
    secret.write_bytes(private.private_bytes(encoding, serialization.PrivateFormat.PKCS8, unlocked))
    public.write_bytes(
        private.public_key().public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return secret, public


@pytest.fixture
def signed(folder, tmp_path):
    model = shutil.copy(folder / "model.dpforest", tmp_path / "model.dpforest")
    secret, public = key_pair(tmp_path)
    printed = run_well("sign", model, "--key", secret).stdout
    assert "not for release" in printed
    return model, secret, public


def test_a_signature_fits_its_file_and_no_other(signed, folder, tmp_path):
    model, _, public = signed
    printed = run_well("verify", model, "--key", public).stdout
    assert "the signature fits" in printed
    assert "not for release" in printed
    content = model.read_bytes()
    for position in (0, len(content) // 2, len(content) - 1):
        model.write_bytes(
            content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :]
        )
        tampered = run("verify", model, "--key", public)
        assert tampered.exit_code == 1
        assert "no signature of" in tampered.stderr
    model.write_bytes(content)
    (tmp_path / "other").mkdir()
    _, other = key_pair(tmp_path / "other")
    assert run("verify", model, "--key", other).exit_code == 1
    assert run("verify", model, "--key", public, "--signature", other).exit_code == 1
    run_well("verify", model, "--key", public, "--signature", f"{model}.sig")


def test_keys_of_other_kinds_are_refused(signed, tmp_path):
    model, secret, public = signed
    (tmp_path / "rsa").mkdir()
    keys = key_pair(tmp_path / "rsa", rsa.generate_private_key(65537, 2048))
    odd = tmp_path / "odd.pem"
    odd.write_text("no key")
    for key in (keys[0], public, odd):
        result = run("sign", model, "--key", key, "-o", tmp_path / "new.sig")
        assert result.exit_code == 1
        assert "Ed25519 private key" in result.stderr
        assert "openssl genpkey -algorithm ed25519" in result.stderr
    for key in (keys[1], secret, odd):
        result = run("verify", model, "--key", key)
        assert result.exit_code == 1
        assert "Ed25519 public key" in result.stderr
    assert not (tmp_path / "new.sig").exists()
    again = run("sign", model, "--key", secret)
    assert again.exit_code == 1
    assert "exists" in again.stderr
    assert "no such file" in run("sign", tmp_path / "nowhere", "--key", secret).stderr.lower()


def test_signing_without_the_extra_says_what_to_install(signed, monkeypatch):
    model, secret, public = signed
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    for command, key in (("sign", secret), ("verify", public)):
        again = ["--force"] if command == "sign" else []
        result = run(command, model, "--key", key, *again)
        assert result.exit_code == 1
        assert "pip install 'dpforest[sign]'" in result.stderr


PAID = ("--target", "income", "--epsilon", 50, "--delta", 1e-5, "--random-state", 0)


def paid_schema(folder, table, *more):
    run_well("schema", folder / table, *PAID, *more, "--force", "-o", folder / "paid.json")
    return Schema.load(folder / "paid.json")


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow", None])
def test_csv_is_read_as_text(folder, monkeypatch, backend):
    monkeypatch.setattr(frames, "BACKENDS", () if backend is None else (backend,))
    path = folder / "cells.csv"
    path.write_text("a,b,c\n1,,true\n007,1.50,x\n", encoding="utf-8")
    table = tables.read_table(path, ["a"])
    cells = {name: np.asarray(table.column(name), dtype=object).tolist() for name in table.names}
    assert (cells["a"], cells["c"]) == (["1", "007"], ["true", "x"])
    assert cells["b"][1] == "1.50"
    assert is_missing(cells["b"][0])


@pytest.mark.parametrize(
    "odd", [{"age": None}, {"age": "unknown"}, {"age": "40.5"}, {"income": None}, {"region": "7"}]
)
@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_one_odd_row_changes_no_type_of_a_paid_schema(folder, monkeypatch, odd, backend):
    monkeypatch.setattr(frames, "BACKENDS", (backend,))
    table = pd.read_csv(folder / "census.csv", dtype=str, keep_default_na=False)
    larger = pd.concat([table, table.iloc[:1].assign(**odd)], ignore_index=True)
    larger.to_csv(folder / "odd.csv", index=False)
    schemas = [
        paid_schema(folder, name, "--ignore", "person") for name in ("census.csv", "odd.csv")
    ]
    kinds = [
        [(f.name, getattr(f, "integer", None), getattr(f, "categories", ())) for f in s.features]
        for s in schemas
    ]
    assert kinds[0] == kinds[1]
    assert schemas[0].target == schemas[1].target
    ledgers = [schema.ledger.stages for schema in schemas]
    assert ledgers[0] == ledgers[1]
    integers = {f.name for f in schemas[0].features if getattr(f, "integer", False)}
    assert integers == {"age", "children", "hours_per_week", "capital_gain"}


def test_declared_types_are_not_asked(folder):
    types = ("--types", "age=integer,region=category", "--types", "income=category")
    schema = paid_schema(folder, "census.csv", "--ignore", "person", *types)
    labels = [entry.label for entry in schema.ledger.entries]
    assert labels[:2] == ["categories of 'income'", "bounds of 'age'"]
    assert "column 'education'" in labels
    assert "categories of 'region'" in labels


@pytest.mark.parametrize("declared", [True, False])
def test_types_of_parquet_are_public_only_when_declared(folder, declared):
    more = ("--types", "frame") if declared else ()
    schema = paid_schema(folder, "census.parquet", "--ignore", "person", *more)
    asked = [entry.label.startswith("column") for entry in schema.ledger.entries]
    assert asked == [not declared] * len(asked)
    # The frame has floats, of which the values are whole.
    assert schema.features[0].integer == (not declared)


def test_a_paid_schema_may_protect_persons(folder):
    persons = ("--groups", "person", "--max-records-per-group", 2)
    schema = paid_schema(folder, "census.csv", *persons)
    assert "person" not in schema.feature_names
    assert "one person (at most 2 records each)" in schema.ledger.explain()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--types", "frame"), "CSV and has no types"),
        (("--types", "age"), "expected column=type"),
        (("--types", "=integer"), "expected column=type"),
        (("--types", "age=int"), "'integer'"),
        (("--types", "wage=integer"), "'wage'"),
        (("--groups", "person"), "go together"),
        (("--groups", "nobody", "--max-records-per-group", 2), "no column 'nobody'"),
        (("--delta", 0), "delta must be above 0"),
    ],
)
def test_a_paid_schema_refuses_in_one_line_before_it_spends(folder, monkeypatch, more, message):
    monkeypatch.setattr(Ledger, "debit", lambda self, entry: pytest.fail("spent"))
    result = run("schema", folder / "census.csv", *PAID, *more, "-o", folder / "refused.json")
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    assert message in result.stderr
    assert not (folder / "refused.json").exists()


def test_a_paid_schema_without_a_frame_library_says_what_to_install(folder, monkeypatch):
    without_frames(monkeypatch)
    result = run("schema", folder / "census.csv", *PAID, "-o", folder / "refused.json")
    assert result.exit_code == 1
    assert "pip install" in result.stderr


def broken_table(folder, name, change):
    table = pd.read_csv(folder / "census.csv", dtype=object, keep_default_na=False)
    change(table)
    table.to_csv(folder / name, index=False)


def set_cell(name):
    def change(table):
        table.loc[7, name] = SECRET

    return change


ERRORS = {
    "no table": (["nowhere.csv"], "no such file"),
    "neither CSV nor Parquet": (["schema.json"], "ends in .csv"),
    "no schema": (["census.csv", "--schema", "nowhere.json"], "writes a starter"),
    "schema not JSON": (["census.csv", "--schema", "census.csv"], "not a JSON file"),
    "no such target": (["census.csv", "--target", "wage"], "no column 'wage'"),
    "target is a feature": (["census.csv", "--target", "age"], "also a feature"),
    "no such groups": (
        ["census.csv", "--groups", "id", "--max-records-per-group", 2],
        "no column 'id'",
    ),
    "groups without a bound": (["census.csv", "--groups", "person"], "--max-records-per-group"),
    "negative epsilon": (["census.csv", "--epsilon", -1], "epsilon must be positive"),
    "unknown estimator": (["census.csv", "--estimator", "Oak"], "RandomDecisionForestClassifier"),
    "no estimator by itself": (["census.csv", "--estimator", "BoostedForest"], "is not known"),
    "keeps the records": (["census.csv", "--estimator", "MatrixForestPredictor"], "is not known"),
    "a base of some": (["census.csv", "--estimator", "VotingForest"], "is not known"),
    "delta of one": (["census.csv", "--delta", 1], "delta must be"),
    "no delta to set": (
        ["census.csv", "--delta", 1e-6, "--estimator", "RandomDecisionForestClassifier"],
        "has no --delta",
    ),
    "no folder": (["census.csv", "-o", "nowhere/model"], "no folder"),
    "output is a folder": (["census.csv", "-o", "."], "is a folder"),
    "text among numbers": (["text.csv"], "'age'"),
    "unknown class": (["class.csv"], "y"),
    "ragged rows": (["ragged.csv"], "as many cells"),
    "a longer first row": (["longer.csv"], "as many cells"),
    "not UTF-8": (["latin.csv"], "UTF-8"),
    "no header": (["headless.csv"], "first line must name the columns"),
    "empty file": (["empty.csv"], "no column"),
    "damaged Parquet": (["damaged.parquet"], "cannot be read as Parquet"),
}


@pytest.fixture(scope="module")
def broken(folder):
    broken_table(folder, "text.csv", set_cell("age"))
    broken_table(folder, "class.csv", set_cell("income"))
    whole = (folder / "census.csv").read_text(encoding="utf-8")
    (folder / "ragged.csv").write_text(whole + f"{SECRET}," * 30 + "\n", encoding="utf-8")
    (folder / "latin.csv").write_bytes(whole.replace("north", "nörd").encode("latin-1"))
    header, rows = whole.split("\n", 1)
    longer = rows.replace("\n", f",{SECRET}\n", 1)
    (folder / "longer.csv").write_text(f"{header}\n{longer}", encoding="utf-8")
    (folder / "headless.csv").write_text(SECRET + rows, encoding="utf-8")
    (folder / "empty.csv").write_text("", encoding="utf-8")
    (folder / "damaged.parquet").write_bytes((folder / "census.parquet").read_bytes()[:500])
    return folder


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow", None])
@pytest.mark.parametrize("case", ERRORS)
def test_fit_refuses_in_one_line_before_it_spends(broken, monkeypatch, case, backend):
    arguments, message = ERRORS[case]
    monkeypatch.chdir(broken)
    monkeypatch.setattr(frames, "BACKENDS", () if backend is None else (backend,))
    defaults = ["--schema", "schema.json", "-o", "refused.dpforest"]
    result = run("fit", arguments[0], *defaults, *arguments[1:])
    assert result.exit_code == 1, result.stdout
    *remarks, error = result.stderr.splitlines()
    assert error.startswith("error: ")
    assert message in error
    assert all(remark.startswith("not in the schema") for remark in remarks)
    assert SECRET not in result.output
    assert result.stdout == ""
    assert not (broken / "refused.dpforest").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "nowhere", "census.csv", "-o", "p.csv"], "no such file"),
        (["predict", "census.csv", "census.csv", "-o", "p.csv"], "not a model"),
        (["predict", "model.dpforest", "empty.csv", "-o", "p.csv"], "no column 'age'"),
        (["predict", "model.dpforest", "census.csv", "-o", "p.txt"], "ends in .csv"),
        (["explain", "nowhere"], "no such file"),
        (["schema", "census.csv", "--target", "wage", "-o", "s.json"], "no column 'wage'"),
        (["reproduce", "nothing"], "nothing"),
        (["literature", "edrpf"], "did you mean edprf"),
    ],
)
def test_other_commands_refuse_in_one_line(broken, monkeypatch, arguments, message):
    monkeypatch.chdir(broken)
    result = run(*arguments)
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    assert message in result.stderr


def test_parquet_without_a_library_says_what_to_install(folder, monkeypatch):
    monkeypatch.setattr("dpforest.cli.tables.find_spec", lambda name: None)
    result = run(*fit_arguments(folder, "census.parquet", "refused.dpforest"))
    assert result.exit_code == 1
    assert "pip install 'dpforest[parquet]'" in result.stderr


def test_unknown_options_are_usage_errors():
    assert run("fit", "--nonsense").exit_code == 2


def test_progress_is_shown_only_to_a_person(folder, monkeypatch):
    assert "training" not in run_well(*fit_arguments(folder, "census.csv", "p.dpforest")).stderr
    monkeypatch.setattr(progress, "_terminal", lambda: Console(stderr=True, force_terminal=True))
    monkeypatch.setattr(progress, "Timer", lambda _, then: SimpleNamespace(start=then, cancel=int))
    assert "training" in run_well(*fit_arguments(folder, "census.csv", "p.dpforest")).stderr


def test_gzipped_predictions_can_be_read_again(folder):
    output = folder / "predictions.csv.gz"
    run_well("predict", folder / "model.dpforest", folder / "census.csv", "-o", output)
    table = nw.from_native(frames.read_csv(output, ["prediction"], []), eager_only=True)
    assert table.shape == (600, 1)


def test_audit_of_a_model_an_estimator_and_a_control(folder, tmp_path):
    found = run_well(
        "audit", "RandomDecisionForestClassifier", "--trials", 400, "--random-state", 0
    )
    assert "RandomDecisionForestClassifier: no leak found" in found.stdout
    caught = run("audit", "half-noise", "--random-state", 0, "--plot", tmp_path / "scores.png")
    assert caught.exit_code == 1
    assert "half-noise: LEAKS" in caught.stdout
    assert (tmp_path / "scores.png").exists()


def test_audit_of_a_saved_model(tmp_path):
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    schema = Schema((NumericFeature("x", 0, 1),), Target(classes=(0, 1)))
    forest = RandomDecisionForestClassifier(schema=schema, n_estimators=1, max_depth=1)
    forest.fit(X, y).save(tmp_path / "small.dpforest")
    found = run_well("audit", tmp_path / "small.dpforest", "--trials", 400, "--random-state", 0)
    assert "epsilon = 1, delta = 0" in found.stdout


def test_audit_of_nothing_known_is_refused():
    result = run("audit", "no-such-thing")
    assert result.exit_code == 1
    assert "half-noise" in result.stderr


def test_literature_lists_and_describes():
    listed = run_well("literature").stdout
    assert "edprf              repaired  eDPRF (Wang 2024)" in listed
    described = run_well("literature", "edprf").stdout
    assert "guarantee: repaired" in described
    assert "001 Table 2" in described


def test_evaluate_prints_figures_and_ledger_and_writes_json(folder):
    output = folder / "evaluation.json"
    arguments = ["evaluate", folder / "model.dpforest", folder / "census.csv", "--epsilon", 0.5]
    seeded = [*arguments, "--target", "income", "--random-state", 0]
    printed = run_well(*seeded, "-o", output, "--force").stdout
    assert "area under the ROC curve" in printed
    assert "confusion matrix: discrete Laplace, scale = 6.667, epsilon = 0.15" in printed
    written = json.loads(output.read_text(encoding="utf-8"))
    census = make_census(600, random_state=0)
    found = evaluate(
        load_model(folder / "model.dpforest"), census.X, census.y, epsilon=0.5, random_state=0
    )
    assert written["confusion"] == found.to_dict()["confusion"]
    again = run_well(*seeded, "--json").stdout
    assert json.loads(again)["auc"] == written["auc"]
    refused = run(*arguments, "-o", output)
    assert refused.exit_code == 1
    assert "exists" in refused.stderr


def test_evaluate_protects_persons(folder):
    persons = ["--groups", "person", "--max-records-per-group", 2]
    where = ["evaluate", folder / "model.dpforest", folder / "census.parquet", "--epsilon", 0.5]
    printed = run_well(*where, *persons).stdout
    assert "adding or removing one person (at most 2 records each)" in printed


def test_a_budget_pays_for_schemas_and_fits(folder, tmp_path):
    file, schema, model = tmp_path / "b.db", tmp_path / "s.json", tmp_path / "m.dpforest"
    made = run_well("budget", "create", file, "--epsilon", 2, "--delta", 1e-5, "--table", "census")
    assert "(epsilon = 2, delta = 1e-05) of 'census'" in made.stdout
    ask = ["schema", folder / "census.csv", "--target", "income", "--epsilon", 1, "--delta", 1e-6]
    run_well(*ask, "--ignore", "person", "-o", schema, "--budget", file)
    train = ["fit", folder / "census.csv", "--schema", schema, "--epsilon", 0.2, "--budget", file]
    run_well(*train, "-o", model)
    told = json.loads(run_well("budget", "history", file, "--json").stdout)
    assert [(use["what"], use["state"]) for use in told] == [
        ("schema", "released"),
        ("PrivateForestClassifier", "released"),
    ]
    shown = json.loads(run_well("budget", "show", file, "--json").stdout)
    assert (shown["table"], shown["epsilon"], shown["uses"]) == ("census", 2.0, 2)
    assert shown["forecast"]["uses"] == Budget.open(file).forecast(epsilon=0.5)
    assert "forecast: " in run_well("budget", "show", file, "--epsilon", 0.1).stdout
    assert run_well("budget", "history", file).stdout.count("released") == 2
    assert run_well("budget", "check", file).stdout.startswith("all is well")


def test_a_budget_refuses_before_the_table_is_opened(folder, tmp_path, monkeypatch):
    file = tmp_path / "b.db"
    run_well("budget", "create", file, "--epsilon", 0.1, "--delta", 1e-6, "--table", "census")

    def opened(*_):
        pytest.fail("the table was opened")

    monkeypatch.setattr(tables, "read_table", opened)
    for more, message in [
        (["--budget", file], "has no room"),
        (["--budget", tmp_path / "none.db"], "no such file"),
    ]:
        refused = run(*fit_arguments(folder, "census.csv", "refused.dpforest", *more))
        assert refused.exit_code == 1
        assert message in refused.stderr
    leaking = run("schema", folder / "census.csv", "--target", "income", "-o", tmp_path / "s",
                  "--budget", file)  # fmt: skip
    assert "--budget goes with --epsilon" in leaking.stderr
    again = run("budget", "create", file, "--epsilon", 1, "--table", "census")
    assert (again.exit_code, "exists" in again.stderr) == (1, True)


def test_a_budget_that_does_not_add_up_is_told(tmp_path):
    file = tmp_path / "b.db"
    persons = ["--neighbors", "replace_one", "--max-records-per-group", 3]
    run_well("budget", "create", file, "--epsilon", 1, "--table", "t", *persons)
    assert Budget.open(file).protects == Protection("replace_one", "group", 3)
    connection = sqlite3.connect(file)
    connection.execute("UPDATE budget SET plain_epsilon = '1/2'")
    connection.commit()
    connection.close()
    found = run("budget", "check", file, "--json")
    assert found.exit_code == 1
    assert json.loads(found.stdout)["problems"] == ["what is spent is not the sum of the uses"]
