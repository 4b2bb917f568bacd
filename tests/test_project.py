"""What stands in more than one file of the project says the same everywhere."""

import re
import tomllib
from importlib.metadata import version

import pytest

import dpforest
from benchmarks.pages import ROOT


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


PROJECT = tomllib.loads(text("pyproject.toml"))


def test_the_version_stands_in_one_place():
    assert "version" in PROJECT["project"]["dynamic"]
    home = PROJECT["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{dpforest.__version__}"' in text(home)
    assert version("dpforest") == dpforest.__version__


def test_every_supported_python_is_tested_on_every_system():
    low, high = re.findall(r"3\.(\d+)", PROJECT["project"]["requires-python"])
    supported = [f"3.{minor}" for minor in range(int(low), int(high))]
    workflow = text(".github/workflows/test.yml")
    assert re.findall(r'"(3\.\d+)"', re.search(r"python: \[.*\]", workflow)[0]) == supported
    assert "os: [ubuntu-latest, macos-latest, windows-latest]" in workflow
    assert f'python: "{supported[0]}", dependencies: lowest-direct' in workflow


@pytest.mark.parametrize("tool", ["ruff check", "ruff format", "mypy", "lint-imports"])
def test_what_make_lint_runs_runs_before_a_commit(tool):
    assert f"$(BIN)/{tool}" in text("Makefile")
    assert f"entry: .venv/bin/{tool}" in text(".pre-commit-config.yaml")


def test_everything_that_is_installed_has_a_lower_bound():
    groups = [
        PROJECT["project"]["dependencies"],
        *PROJECT["project"]["optional-dependencies"].values(),
        *PROJECT["dependency-groups"].values(),
    ]
    assert [each for group in groups for each in group if ">=" not in each] == []
