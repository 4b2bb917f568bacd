"""The proof that a refactoring changed no model: what it notices, and what it lets pass."""

import copy
import io

import numpy as np
import pytest
from rich.console import Console

from benchmarks.same_models.differences import find_differences, is_fatal, show
from benchmarks.same_models.digests import of_array

BEFORE = {
    "predictions": {"predict": "int64[3] aa", "predict_proba": "float64[3, 2] bb"},
    "arrays": {"leaf_counts": "float64[4, 2] cc"},
    "facts": {"params.epsilon": "1.0", "params.variant": "null"},
    "housekeeping": {"version": "1"},
    "guarantee": {"epsilon": "1.0", "delta": "0.0"},
    "ledger": "epsilon = 1\ncounts: Laplace [shared]",
    "warnings": {},
}


def changed(part: str, key: str, value: str) -> dict:
    after = copy.deepcopy(BEFORE)
    after[part][key] = value
    return after


def outcome(before: dict, after: dict) -> tuple[int, str]:
    console = Console(width=200, file=io.StringIO())
    code = show({"about": {}, "cases": before}, {"about": {}, "cases": after}, console)
    return code, console.file.getvalue()


def test_equal_records_are_identical() -> None:
    assert find_differences({"a": BEFORE}, {"a": copy.deepcopy(BEFORE)}) == {}
    assert outcome({"a": BEFORE}, {"a": copy.deepcopy(BEFORE)})[0] == 0


@pytest.mark.parametrize(
    ("part", "key", "fatal"),
    [
        ("predictions", "predict", True),
        ("arrays", "leaf_counts", True),
        ("guarantee", "epsilon", True),
        ("facts", "params.epsilon", False),
        ("housekeeping", "version", False),
    ],
)
def test_a_change_is_named_and_only_some_are_allowed(part: str, key: str, fatal: bool) -> None:
    before, after = {"a": BEFORE, "b": BEFORE}, {"a": BEFORE, "b": changed(part, key, "other")}
    assert find_differences(before, after) == {(f"{part}.{key}",): ["b"]}
    code, text = outcome(before, after)
    assert code == int(fatal)
    assert "1 of 2 cases are identical" in text
    assert f"{part}.{key}" in text


def test_cases_with_the_same_differences_are_one_group() -> None:
    gone = {**BEFORE, "facts": {"params.epsilon": "1.0"}}
    names = ["a", "b", "c"]
    groups = find_differences(dict.fromkeys(names, BEFORE), dict.fromkeys(names, gone))
    assert groups == {("facts.params.variant (gone)",): names}


def test_of_a_ledger_the_first_differing_line_is_shown() -> None:
    after = {**BEFORE, "ledger": "epsilon = 1\ncounts: Gaussian [shared]"}
    code, text = outcome({"a": BEFORE}, {"a": after})
    assert code == 0
    assert "before: counts: Laplace [shared]" in text
    assert "after:  counts: Gaussian [shared]" in text


@pytest.mark.parametrize("after", [{}, {"a": {"error": "TypeError: no such option"}}])
def test_a_case_that_is_gone_or_fails_is_not_allowed(after: dict) -> None:
    (parts,) = find_differences({"a": BEFORE}, after)
    assert is_fatal(parts)
    assert outcome({"a": BEFORE}, after)[0] == 1


def test_digests_tell_values_types_and_shapes_apart() -> None:
    array = np.array([[1.0, 2.0], [3.0, 4.0]])
    others = [array.T, array.ravel(), array.astype(np.float32), np.nextafter(array, 9)]
    assert len({of_array(a) for a in [array, *others]}) == 5
    assert of_array(np.asfortranarray(array)) == of_array(array)
