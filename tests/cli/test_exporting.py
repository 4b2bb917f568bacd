"""dpforest export writes what other programs read."""

import json

import onnxruntime
import pytest
from typer.testing import CliRunner

from dpforest import GreedyForestClassifier, datasets
from dpforest.cli import app

CENSUS = datasets.make_census(300, random_state=0)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.dpforest"
    forest = GreedyForestClassifier(schema=CENSUS.schema, random_state=0)
    forest.fit(CENSUS.X, CENSUS.y).save(path)
    return path


def test_both_formats_are_written(model, tmp_path):
    for form in ("json", "onnx"):
        result = run("export", model, "--format", form, "--output", tmp_path / form)
        assert result.exit_code == 0, result.output
    for form in ("json", "onnx"):
        told = run("export", model, "--format", form, "-o", tmp_path / form, "--force", "--json")
        assert json.loads(told.stdout) == {"saved": str(tmp_path / form), "format": form}
    assert json.loads((tmp_path / "json").read_text())["estimator"] == "GreedyForestClassifier"
    session = onnxruntime.InferenceSession(tmp_path / "onnx", providers=["CPUExecutionProvider"])
    assert [put.name for put in session.get_inputs()] == list(CENSUS.schema.feature_names)


def test_a_file_is_not_overwritten(model):
    result = run("export", model, "--format", "json", "--output", model)
    assert result.exit_code == 1
    assert "exists" in result.output
