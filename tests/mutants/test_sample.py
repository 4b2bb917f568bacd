"""The planted bugs: every one applies, and a sample of them is caught; `make mutants` runs all."""

import ast
from functools import cache

import pytest

from tests.mutants import run
from tests.mutants.planted import ROOT, all_mutants

MUTANTS = all_mutants()


@cache
def source_of(path):
    """The text of a file, and what Python makes of it."""
    text = path.read_text(encoding="utf-8")
    return text, ast.dump(ast.parse(text))


@cache
def names_of(path):
    """The functions of a test file, and the methods of its classes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_every_mutant_applies_and_names_its_tests(mutant):
    source, meaning = source_of(ROOT / mutant.path)
    assert ast.dump(ast.parse(mutant.applied_to(source))) != meaning
    assert mutant.breaks
    assert "\n" not in mutant.breaks
    assert mutant.tests
    for test in mutant.tests:
        file, *nodes = test.split("::")
        assert (ROOT / file).is_file()
        assert {node.split("[")[0] for node in nodes} <= names_of(ROOT / file)


def test_no_mutant_is_planted_twice():
    assert len({(m.file, m.text, m.replacement) for m in MUTANTS}) == len(MUTANTS)


def test_a_sample_of_mutants_is_killed():
    assert run.main(["--sample", "10", "--seed", "16", "--jobs", "1"]) == 0
