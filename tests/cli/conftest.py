"""A table of patients, its schema, a model trained on it; and how commands are run."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dpforest import CategoricalFeature, NumericFeature, Schema, Target
from dpforest.cli import app

SCHEMA = Schema(
    (NumericFeature("age", 0, 120, integer=True), CategoricalFeature("ward", ("north", "süd"))),
    Target("relapse", classes=("no", "yes")),
)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def run_well(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


def patients(n, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 90, n)
    ward = rng.choice(["north", "süd"], n)
    relapse = np.where(rng.random(n) < np.where(age > 55, 0.8, 0.2), "yes", "no")
    person = [f"P{k // 2:05d}" for k in range(n)]
    return pd.DataFrame({"patient_id": person, "age": age, "ward": ward, "relapse": relapse})


def write_patients(folder, n=600):
    """The files that the pages about the command line speak of."""
    patients(n).to_csv(folder / "patients.csv", index=False)
    patients(n).to_csv(folder / "patients_eu.csv", index=False, sep=";", encoding="cp1252")
    patients(n, seed=1).to_csv(folder / "held_out.csv", index=False)
    SCHEMA.save(folder / "schema.json")
    return folder


@pytest.fixture(scope="session")
def shop(tmp_path_factory):
    """A folder with the files, and a small model."""
    folder = write_patients(tmp_path_factory.mktemp("shop"))
    where = ("--schema", folder / "schema.json", "-o", folder / "model.dpforest")
    run_well(
        "fit", folder / "patients.csv", *where, "--estimator", "RandomDecisionForestClassifier"
    )
    return folder
