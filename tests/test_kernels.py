"""Compiled functions stand on their own file: numba's cache sees no edit anywhere else.

A cached kernel is compiled anew when its own file changes. A helper or a constant of another file
is built into it, so that an edit there would keep running as the old code.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "dpforest"


def compiled_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Module-level functions of a file that imports numba: all of them may be compiled."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    if any("numba" in ast.unparse(node) for node in imports):
        yield from (node for node in tree.body if isinstance(node, ast.FunctionDef))


def foreign_names(tree: ast.Module) -> set[str]:
    """What the file takes from elsewhere in the package."""
    return {
        (alias.asname or alias.name).split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if "dpforest" in ast.unparse(node) or (isinstance(node, ast.ImportFrom) and node.level)
    }


def borrowed(source: str) -> list[str]:
    """Where a compiled function reads a name of another file; its signature may, for types."""
    tree = ast.parse(source)
    foreign = foreign_names(tree)
    return [
        f"{function.name}: {node.id}"
        for function in compiled_functions(tree)
        for statement in function.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and node.id in foreign
    ]


def compiled_files() -> list[Path]:
    """All that so much as name numba."""
    files = sorted(PACKAGE.rglob("*.py"))
    return [path for path in files if "numba" in path.read_text(encoding="utf-8")]


def test_there_is_something_to_read():
    names = {path.name for path in compiled_files()}
    assert {"routing_kernels.py", "gradient_kernels.py", "noise_kernels.py"} <= names


@pytest.mark.parametrize("path", compiled_files(), ids=lambda path: path.stem)
def test_compiled_functions_borrow_nothing_from_another_file(path):
    assert borrowed(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("line", "use"),
    [
        ("from dpforest.tables.routing_kernels import _child", "_child(x)"),
        ("from dpforest.tables.routing_kernels import BLOCK as WIDTH", "x + WIDTH"),
        ("from dpforest.tables import routing_kernels", "routing_kernels.BLOCK"),
        ("from .routing_kernels import _child", "_child(x)"),
        ("import dpforest", "dpforest.tables.routing_kernels.BLOCK"),
    ],
)
def test_control_borrowing_is_caught(line, use):
    source = f"from numba import njit\n{line}\n@njit(cache=True)\ndef count(x):\n    return {use}\n"
    assert len(borrowed(source)) == 1
