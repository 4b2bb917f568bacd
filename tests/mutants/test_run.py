"""The runner on a house of two files: it is not fooled by bugs that survive or cannot run."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from tests.mutants import run
from tests.mutants.planted import Mutant

FILES = {
    "src/dpforest/__init__.py": "",
    "src/dpforest/sums.py": "def half(x):\n    return x / 2\n",
    "src/dpforest/kernels.py": """
from numba import njit

@njit(cache=True)
def twice(x):
    return 2 * x
""",
    "tests/test_sums.py": """
from dpforest.sums import half

def test_half():
    assert half(3) == 1.5

def test_half_of_nothing():
    assert half(0) == 0
""",
    "tests/test_kernels.py": """
from dpforest.kernels import twice

def test_twice():
    assert twice(3) == 6
""",
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("house") / "sound"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    assert run.why_unsound(root, [compiled("3 * x"), planted("x / 2", "x // 2")]) == ""
    assert list((root / "src").rglob("*.nbi"))  # what follows must not run this
    return root


def planted(text, replacement, select="", name="sums"):
    tests = (f"tests/test_{name}.py",)
    return Mutant("house", f"{name}.py", text, replacement, "a test", tests, select)


def compiled(replacement):
    return planted("2 * x", replacement, name="kernels")


@pytest.mark.parametrize(
    ("mutant", "said"),
    [
        (compiled("3 * x"), run.KILLED),
        (compiled("2 * nothing(x)"), "cannot run: TypingError"),
        (planted("x / 2", "x // 2"), run.KILLED),
        (planted("x / 2", "x * 0.5"), "survived"),
        (planted("x / 2", "x // 2", select="of_nothing"), "survived"),
        (planted("x / 2", "x // 2", select="of_something"), "pytest ended with 5"),
        (planted("x / 2", "y / 2"), "cannot run: NameError"),
        (planted("def half", "def third"), "cannot run: ImportError"),
        (planted("x / 3", "x"), "the text occurs 0 times in sums.py, expected once"),
        (planted("x", "y"), "the text occurs 2 times in sums.py, expected once"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_verdicts(sound, mutant, said):
    assert run.verdict(mutant, sound) == said
    assert (sound / mutant.path).read_text(encoding="utf-8") == FILES[str(mutant.path)]


def test_a_mutant_that_never_ends_is_no_success(sound, monkeypatch):
    monkeypatch.setattr(run.run_tests, "__defaults__", ("", 1.0))
    endless = planted("return x / 2", "return half(x) if print() else [0 for _ in iter(int, 1)]")
    assert run.verdict(endless, sound) == "out of time after 1.0 seconds"


def test_tests_that_fail_without_a_mutant_prove_nothing(sound):
    missing = planted("x / 2", "x // 2", name="nothing")
    assert "test_nothing" in run.why_unsound(sound, [missing])


@pytest.mark.parametrize(
    ("found", "last"),
    [
        ((run.KILLED, run.KILLED), "2 killed, 0 survived"),
        ((run.KILLED, "survived"), "1 killed, 1 survived"),
        (("out of time", "survived"), "0 killed, 1 survived, 1 could not be judged"),
    ],
)
def test_the_last_line_counts(found, last):
    written = io.StringIO()
    both = [compiled("3 * x"), planted("x / 2", "x // 2")]
    assert run.show(both, found, Console(file=written)) == (set(found) == {run.KILLED})
    assert written.getvalue().splitlines()[-1] == last
