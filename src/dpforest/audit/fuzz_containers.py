"""Tables of every kind from the same plain values.

A container finds its types by itself, as it does for users: one odd record makes a column of
integers one of floats or objects. What it does to values before the library sees them is not the
library's: where a container would change a value, the table is a list. To a model, True, 1 and "1"
are the same; where types are asked of the values, they must stay what they are.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Column = list[Any]
Build = Callable[[dict[str, Column]], Any]


def containers() -> tuple[str, ...]:
    """The kinds of tables that can be made with what is installed."""
    return tuple(name for name, (needs, _, _) in _TABLES.items() if _there(needs))


def put_tables(
    tables: Sequence[dict[str, Column]], kind: str, *, strict: bool = False
) -> list[Any]:
    """Columns as tables of a kind; all as lists of rows where one would change a value.

    To be strict, a boolean must not become a number, nor a number a text.
    """
    _, dtype, build = _TABLES[kind]
    if dtype is not None:
        tables = [{n: [_scalar(v, dtype) for v in c] for n, c in t.items()} for t in tables]
    built = [_built(columns, build, strict) for columns in tables]
    return [_rows(columns) for columns in tables] if any(t is None for t in built) else built


def put_columns(columns: Sequence[Column], kind: str, *, strict: bool = False) -> list[Any]:
    """Targets or persons, as columns of a kind of table."""
    tables = put_tables([{"y": values} for values in columns], kind, strict=strict)
    return [_only_column(table) for table in tables]


def _only_column(table: Any) -> Any:
    if isinstance(table, list):
        return [row[0] for row in table]
    return table[:, 0] if isinstance(table, np.ndarray) else table["y"]


def _built(columns: dict[str, Column], build: Build, strict: bool) -> Any | None:
    """A table, or None where the container refuses a value or changes one."""
    try:
        table = build(columns)
    except Exception as error:
        # Whoever knows pyarrow and polars knows that they have errors of their own.
        theirs = type(error).__module__.split(".")[0] in ("pyarrow", "polars")
        if not theirs and not isinstance(error, TypeError | ValueError | OverflowError):
            raise
        return None
    pairs = zip(columns.values(), _columns_of(table), strict=True)
    return table if all(_faithful(values, stored, strict) for values, stored in pairs) else None


def _there(package: str) -> bool:
    return all(importlib.util.find_spec(name) is not None for name in package.split())


def _faithful(values: Column, stored: Sequence[Any], strict: bool) -> bool:
    pairs = list(zip(values, stored, strict=True))
    return all(_same(a, b) for a, b in pairs) and (
        not strict or all(_type(a) == _type(b) for a, b in pairs)
    )


def _type(value: Any) -> str:
    if _is_missing(value) or isinstance(value, str):
        return "missing" if _is_missing(value) else "text"
    return "boolean" if isinstance(value, bool | np.bool_) else "number"


def _same(value: Any, stored: Any) -> bool:
    """Whether a container kept a value: missing stays missing, and a number may be spelled."""
    if _is_missing(value) or _is_missing(stored):
        return _is_missing(value) and _is_missing(stored)
    if isinstance(value, str) or isinstance(stored, str):
        return str(value) == str(stored)
    # Python compares integers and floats exactly, NumPy rounds first.
    return bool(_plain(stored) == _plain(value))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ == "NAType":
        return True
    return isinstance(value, float | np.floating) and math.isnan(value)


def _columns_of(table: Any) -> list[list[Any]]:
    if isinstance(table, list):
        return [list(column) for column in zip(*table, strict=True)]
    if isinstance(table, np.ndarray):
        return [list(column) for column in table.T]
    names = getattr(table, "column_names", None) or list(table.columns)
    return [table[name].to_list() if hasattr(table[name], "to_list") else table[name].to_pylist()
            for name in names]  # fmt: skip


def _rows(columns: dict[str, Column]) -> list[list[Any]]:
    return [list(row) for row in zip(*columns.values(), strict=True)]


def _objects(columns: dict[str, Column]) -> Any:
    rows = _rows(columns)
    table = np.empty((len(rows), len(columns)), object)
    for i, row in enumerate(rows):
        table[i] = row
    return table


def _numpy(columns: dict[str, Column]) -> Any:
    """NumPy's own choice, where it is numbers; texts would swallow them."""
    with np.errstate(all="ignore"):
        table = np.array(_rows(columns))
    return table if table.dtype.kind in "iufb" else _objects(columns)


def _typed(columns: dict[str, Column]) -> Any:
    """An array of the type of all values, if they have one; else scalars of it among objects."""
    table = _objects(columns)
    types = {type(value) for value in table.flat}
    return table.astype(types.pop()) if len(types) == 1 else table


def _scalar(value: Any, dtype: type) -> Any:
    """The value as a scalar of a type, where it fits; float32 rounds all but large numbers."""
    if isinstance(value, str | bool | None) or not np.isfinite(float(value)):
        return value
    try:
        with np.errstate(all="ignore"):
            typed = dtype(value)
    except OverflowError:
        return value
    near = dtype is np.float32 and abs(float(value)) < 2.0**24
    return typed if near or typed.item() == value else value


def _pandas(columns: dict[str, Column], **options: Any) -> Any:
    import pandas as pd

    frame = pd.DataFrame(columns)
    return frame.convert_dtypes(**options) if options else frame


def _pandas_objects(columns: dict[str, Column]) -> Any:
    import pandas as pd

    return pd.DataFrame({name: pd.Series(c, dtype=object) for name, c in columns.items()})


def _pandas_categories(columns: dict[str, Column]) -> Any:
    frame = _pandas(columns)
    texts = [name for name, c in columns.items() if all(isinstance(v, str | None) for v in c)]
    return frame.astype(dict.fromkeys(texts, "category"))


def _polars(columns: dict[str, Column]) -> Any:
    import polars as pl

    return pl.DataFrame({name: pl.Series(name, c, strict=False) for name, c in columns.items()})


def _pyarrow(columns: dict[str, Column]) -> Any:
    import pyarrow as pa

    return pa.table({name: pa.array(c) for name, c in columns.items()})


_TABLES: dict[str, tuple[str, type | None, Build]] = {
    "list": ("", None, _rows),
    "list of float32": ("", np.float32, _rows),
    "numpy": ("", None, _numpy),
    "numpy object": ("", None, _objects),
    "numpy float32": ("", np.float32, _typed),
    "numpy float64": ("", np.float64, _typed),
    "numpy int64": ("", np.int64, _typed),
    "numpy uint8": ("", np.uint8, _typed),
    "pandas": ("pandas", None, _pandas),
    "pandas nullable": ("pandas", None, lambda c: _pandas(c, dtype_backend="numpy_nullable")),
    "pandas arrow": ("pandas pyarrow", None, lambda c: _pandas(c, dtype_backend="pyarrow")),
    "pandas object": ("pandas", None, _pandas_objects),
    "pandas category": ("pandas", None, _pandas_categories),
    "polars": ("polars", None, _polars),
    "pyarrow": ("pyarrow", None, _pyarrow),
}
"""What a kind needs, the type of its scalars where it is one, and how it is made."""
