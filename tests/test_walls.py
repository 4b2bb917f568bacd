"""The two walls hold: contracts on imports, and a reading of the source for what they cannot see.

Every check has a control: source that breaks the wall and must be caught.
"""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "dpforest"
NOISE = ("dpforest.privacy.mechanisms.noise", "dpforest.privacy.mechanisms.noise_kernels")
FLOAT_NOISE = ("normal", "standard_normal", "laplace")


def exact_totals(tree: ast.AST) -> Iterator[str]:
    """Where code takes a total of a store, or reaches for a desk's store."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "_store":
            yield f"line {node.lineno}: ._store"
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".total"):
            yield f"line {node.lineno}: .total(...)"
        if isinstance(node, ast.Attribute) and ast.unparse(node).endswith("store.total"):
            yield f"line {node.lineno}: .total of a store"
        if isinstance(node, ast.Constant) and node.value == "_store":
            yield f"line {node.lineno}: the name '_store'"


def noise_imports(tree: ast.AST) -> Iterator[str]:
    """Where code imports the samplers of noise."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names] + [f"{node.module}"]
        else:
            continue
        yield from (f"line {node.lineno}: {name}" for name in names if name in NOISE)


def float_noise(tree: ast.AST) -> Iterator[str]:
    """Where code draws noise in floating point; our own integer samplers share a name with it."""
    for node in ast.walk(tree):
        ours = isinstance(node, ast.Attribute) and ast.unparse(node.value) == "noise_kernels"
        if isinstance(node, ast.Attribute) and node.attr in FLOAT_NOISE and not ours:
            yield f"line {node.lineno}: .{node.attr}"
        if isinstance(node, ast.ImportFrom) and "random" in (node.module or ""):
            drawn = [alias.name for alias in node.names if alias.name in FLOAT_NOISE]
            yield from (f"line {node.lineno}: {name}" for name in drawn)


def doors(tree: ast.AST) -> Iterator[str]:
    """Where code imports a room by its name, past the contracts."""
    for node in ast.walk(tree):
        named = str(node.value) if isinstance(node, ast.Constant) else ""
        if named.startswith(("dpforest.privacy", "dpforest.records", "dpforest.audit")):
            yield f"line {node.lineno}: {named}"


def offences(check, *exempt: str) -> list[str]:
    """What a check finds in every room but the exempt ones."""
    return [
        f"{path.relative_to(ROOT)} {found}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not path.relative_to(PACKAGE).as_posix().startswith(exempt or "?")
        for found in check(ast.parse(path.read_text(encoding="utf-8")))
    ]


def test_only_privacy_takes_exact_totals():
    # what is printed breaks the walls on purpose, away from the private path
    assert offences(exact_totals, "privacy", "literature/printed") == []


def test_only_privacy_imports_noise():
    # the auditor draws noise for mechanisms of its own; no forest may import it (a contract)
    assert offences(noise_imports, "privacy", "audit") == []


def test_rooms_are_asked_for_by_name_at_three_doors_only():
    assert offences(doors, "schema/doors.py") == []
    found = list(doors(ast.parse((PACKAGE / "schema" / "doors.py").read_text(encoding="utf-8"))))
    assert len(found) == 3


def test_noise_is_never_drawn_in_floating_point():
    # datasets draws synthetic people: no record goes in, so nothing needs hiding
    # and audit holds the control that does it wrong, to show that the low bits tell
    assert offences(float_noise, "datasets", "audit") == []


@pytest.mark.parametrize(
    ("check", "snippet"),
    [
        (exact_totals, "counts = desk._store.total(RecordCount())"),
        (exact_totals, "counts = store.total(statistic)"),
        (exact_totals, "ask = store.total\nask(statistic)"),
        (exact_totals, "getattr(desk, '_store')"),
        (noise_imports, "from dpforest.privacy.mechanisms import noise"),
        (noise_imports, "from dpforest.privacy.mechanisms.noise import discrete_laplace"),
        (noise_imports, "import dpforest.privacy.mechanisms.noise_kernels as kernels"),
        (float_noise, "released = counts + np.random.laplace(scale=1 / epsilon)"),
        (float_noise, "released = counts + rng.normal(0, sigma)"),
        (float_noise, "from numpy.random import standard_normal"),
    ],
)
def test_control_broken_walls_are_seen(check, snippet):
    assert list(check(ast.parse(snippet)))


def test_every_room_stands_in_the_contracts():
    """The walls are allow-lists: a new room is outside until it is put into a layer."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = contracts["tool"]["importlinter"]["contracts"]
    assert len(contracts) == 3
    assert not any("ignore_imports" in contract for contract in contracts)
    layers = {f"dpforest.{n}" for n in rooms()}
    (layered,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    assert {name for layer in layered for name in layer.split(" : ")} == layers
    for contract in contracts:
        if contract["type"] == "forbidden":
            closed = {"dpforest.privacy", "dpforest.records", "dpforest.audit"}
            sources = {".".join(name.split(".")[:2]) for name in contract["source_modules"]}
            assert layers - sources - closed <= {"dpforest.exceptions", "dpforest.arrays"}


def rooms():
    found = {path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")}
    return {name.removesuffix(".py") for name in found} - {"__init__"}


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of the package below a folder."""
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_import_contracts_hold():
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("trees/votes.py", "from dpforest.records import store"),
        ("forests/random.py", "from dpforest.records.observe import observe"),
        ("forests/random.py", "from dpforest.records.contingency import TableCounts"),
        ("forests/random.py", "from dpforest.records import counting_kernels"),
        ("forests/random.py", "from dpforest.records.local import LocalStore"),
        ("forests/random.py", "from dpforest.privacy.mechanisms import noise"),
        ("forests/random.py", "from dpforest.privacy.mechanisms.greedy_choices import choose"),
        ("forests/random.py", "from dpforest.privacy.mechanisms import split_kernels"),
        ("forests/random.py", "from dpforest.privacy.mechanisms.strategies import Direct"),
        ("forests/random.py", "from dpforest.literature.printed.tree_errors import wrong_trees"),
        ("forests/random.py", "from dpforest import audit"),
        ("literature/making.py", "from dpforest.records.statistics import RecordCount"),
        ("evaluation/scores.py", "from dpforest.records.outcomes import class_outcomes"),
        ("evaluation/scores.py", "from dpforest.privacy.mechanisms import noise"),
        ("search/trials.py", "from dpforest.records.parts import held_out"),
        ("search/plan.py", "from dpforest.privacy.mechanisms.additive import AdditiveNoise"),
        ("privacy/desk.py", "from dpforest.forests import random"),
        ("records/store.py", "from dpforest.privacy.accounts import ledger"),
        ("tables/encode.py", "from dpforest.records import store"),
        ("schema/declared.py", "from dpforest.privacy.inference import infer_schema"),
    ],
)
def test_control_a_forbidden_import_breaks_a_contract(tmp_path, file, line):
    ignore = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(PACKAGE, tmp_path / "src" / "dpforest", ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "src" / "dpforest" / file).open("a", encoding="utf-8") as source:
        source.write(f"\n{line}\n")
    result = lint_imports(tmp_path)
    assert result.returncode == 1
    assert "BROKEN" in result.stdout
