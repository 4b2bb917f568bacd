"""What the type of a container declares: for those who say that it is a public fact.

A database or a Parquet file has the types that somebody gave it, whatever its records are. A list
and a column of objects have none, and a CSV reader makes types up from the cells: such types are
private (`Schema.infer` says what to do).
"""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from dpforest.schema.column_types import ColumnType

_OF_LETTER: dict[str, ColumnType] = {
    "i": "integer",
    "u": "integer",
    "f": "number",
    "b": "boolean",
    "U": "category",
}


def table_types(table: Any, names: tuple[str, ...]) -> dict[str, ColumnType]:
    """Return the types that a table declares of its columns; those it leaves open are not in it.

    Examples
    --------
    >>> table_types(np.zeros((2, 2)), ("x0", "x1"))
    {'x0': 'number', 'x1': 'number'}
    >>> table_types([[0.0, 0.0]], ("x0", "x1"))
    {}
    """
    if nw.dependencies.is_into_dataframe(table):
        frame = nw.from_native(table, eager_only=True)
        columns = [frame[:, j].to_native() for j in range(frame.shape[1])]
        found = zip(names, map(series_type, columns), strict=True)
        return {name: declared for name, declared in found if declared is not None}
    declared = series_type(table)
    return {} if declared is None else dict.fromkeys(names, declared)


def series_type(values: Any) -> ColumnType | None:
    """Return the type that an array or a series declares; None when it leaves it open."""
    if isinstance(values, np.ndarray):
        return _OF_LETTER.get(values.dtype.kind)
    if not nw.dependencies.is_into_series(values):
        return None
    # narwhals looks at the values of pandas' object columns to find texts in them.
    if nw.dependencies.is_pandas_like_series(values) and values.dtype == "object":
        return None
    dtype = nw.from_native(values, series_only=True).dtype
    if isinstance(dtype, nw.Boolean):
        return "boolean"
    if dtype.is_numeric():
        return "integer" if dtype.is_integer() else "number"
    return "category" if isinstance(dtype, nw.String | nw.Categorical | nw.Enum) else None
