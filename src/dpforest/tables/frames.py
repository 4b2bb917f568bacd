"""Read tables of pandas, polars, pyarrow, NumPy and nested lists, a column at a time.

Nothing here copies a whole table. Messages name columns and what was expected of them, never a
value or a number of records.
"""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from scipy.sparse import issparse

from dpforest.exceptions import SchemaError
from dpforest.schema import Schema
from dpforest.tables.columns import (
    NUMBER_KINDS,
    Array,
    Column,
    as_array,
    as_column,
    is_number_type,
)
from dpforest.tables.sources import as_source

__all__ = ["Column", "Frame", "as_column"]

SMALL_TABLE = 1 << 17  # values; a copy of a megabyte at most


class Frame:
    """A table of any kind, read a column at a time.

    Parameters
    ----------
    data : DataFrame of pandas or polars, Table of pyarrow, 2-D array or list of rows
        The table; it is kept, not copied.

    Examples
    --------
    >>> import numpy as np
    >>> frame = Frame(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> frame.n_columns, frame.names, frame.column(1).tolist()
    (2, None, [2.0, 4.0])
    """

    def __init__(self, data: Any) -> None:
        self._array: Array | None = None
        self._table: nw.DataFrame[Any] | None = None
        if nw.dependencies.is_into_dataframe(data):
            self._table = _as_table(data)
            shape = self._table.shape
        else:
            self._array = _as_table_array(data)
            shape = self._array.shape
        self.n_rows: int = shape[0]
        self._order: tuple[int, ...] = tuple(range(shape[1]))
        self.names: tuple[str, ...] | None = self._read_names()
        if not self._order:
            # The shape is worded as scikit-learn words it, less the private number of records.
            raise SchemaError("X has 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
        if not self.n_rows:
            raise SchemaError("X is empty (0 sample(s)): at least one record is needed")

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self._order)

    @property
    def number_table(self) -> tuple[Array, tuple[int, ...]] | None:
        """The table as one array of numbers, if it is one, and where its columns are in it."""
        array = self._array
        # Reading a frame column by column has a price a column that a small table need not pay.
        if self._table is not None and self.n_rows * self._table.shape[1] <= SMALL_TABLE:
            array = _small_number_table(self._table)
        if array is None or array.dtype.kind not in NUMBER_KINDS:
            return None
        return array, self._order

    def labels(self) -> tuple[str, ...]:
        """Return what to call the columns: their names, or x0, x1, ... when they have none."""
        return self.names or tuple(f"x{j}" for j in range(self.n_columns))

    def series(self, key: int | str) -> Column:
        """One column by position or name."""
        position = key if isinstance(key, int) else self.labels().index(key)
        label = repr(self.labels()[position])
        physical = self._order[position]
        if self._array is not None:
            return Column(self._array[:, physical], label)
        assert self._table is not None
        return Column(self._table[:, physical], label)

    def column(self, key: int | str) -> Array:
        """Return the values of one column, by position or name, as a 1-D array."""
        return self.series(key).to_numpy()

    def select(self, schema: Schema) -> "Frame":
        """Return the schema's columns in its order: by name, or by position if there are none.

        Examples
        --------
        >>> from dpforest.schema import NumericFeature
        >>> schema = Schema((NumericFeature("a", 0, 1), NumericFeature("b", 0, 1)))
        >>> Frame([[0.1, 0.2]]).select(schema).names
        ('a', 'b')
        """
        names = schema.feature_names
        if self.names is None:
            if self.n_columns != schema.n_features:
                raise SchemaError(
                    f"X has {self.n_columns} features, but the schema declares "
                    f"{schema.n_features}: {_listed(names)}"
                )
            order = self._order
        else:
            _check_names(self.names, names)
            where = dict(zip(self.names, self._order, strict=True))
            order = tuple(where[name] for name in names)
        return self._view(order, names)

    def split(self, target: str) -> tuple["Frame", Column]:
        """Return the other columns, and the named one."""
        if self.names is None or target not in self.names:
            raise SchemaError(f"target: X has no column {target!r}; name one of its columns")
        if self.n_columns == 1:
            raise SchemaError(f"target: {target!r} is the only column of X; no feature is left")
        at = self.names.index(target)
        others = self._view(
            self._order[:at] + self._order[at + 1 :], self.names[:at] + self.names[at + 1 :]
        )
        return others, self.series(at)

    def _view(self, order: tuple[int, ...], names: tuple[str, ...]) -> "Frame":
        view = object.__new__(Frame)
        view.__dict__.update(self.__dict__, _order=order, names=names)
        return view

    def _read_names(self) -> tuple[str, ...] | None:
        if self._table is None:
            return None
        names = list(self._table.columns)
        texts = [isinstance(name, str) for name in names]
        if not any(texts):
            return None
        if not all(texts):
            raise TypeError(
                "Feature names are only supported if all input features have string names: "
                "rename the columns with X.columns = X.columns.astype(str)"
            )
        return tuple(names)


def _as_table(data: Any) -> nw.DataFrame[Any]:
    try:
        table: nw.DataFrame[Any] = nw.from_native(data, eager_only=True)
    except DuplicateError as error:
        raise SchemaError(f"X has columns of the same name; rename them. {error}") from None
    return table


def _small_number_table(table: nw.DataFrame[Any]) -> Array | None:
    """Return all columns as one array, if that leaves every number the double it means."""
    types = set(table.schema.values())
    if any(isinstance(dtype, nw.Boolean) or not is_number_type(dtype) for dtype in types):
        return None
    array = table.to_numpy()
    # Another common type than double could round: int64 to float32, say.
    return array if array.dtype == np.float64 or len(types) == 1 else None


def _as_table_array(data: Any) -> Array:
    if issparse(data):
        raise TypeError(
            "Sparse data was passed, but dense data is required: use X.toarray(), or a data frame"
        )
    if nw.dependencies.is_into_series(data):
        raise ValueError(_one_dimensional(1))
    if as_source(data) is not None:
        raise TypeError(
            "X is a lazy frame or another table that is not in memory, and one in memory is needed "
            "here: collect it first, with X.collect(), X.compute() or X.to_table()"
        )
    if data is None or isinstance(data, str | bytes | dict):
        raise TypeError(
            f"X must be a data frame, a 2-D array or a list of rows, not {type(data).__name__}"
        )
    array = as_array(data, "X")
    if array.ndim != 2:
        raise ValueError(_one_dimensional(array.ndim))
    return array


def _one_dimensional(n_dimensions: int) -> str:
    return (
        f"Expected 2D array, got {n_dimensions}D array instead. Reshape your data: "
        "X.reshape(-1, 1) if it is a single feature, X.reshape(1, -1) if it is a single record"
    )


def _check_names(found: tuple[str, ...], expected: tuple[str, ...]) -> None:
    missing = [name for name in expected if name not in found]
    extra = [name for name in found if name not in expected]
    if missing or extra:
        parts = [f"missing: {_listed(missing)}"] if missing else []
        parts += [f"not in the schema: {_listed(extra)}"] if extra else []
        raise SchemaError(
            "X has not the columns of the schema (" + "; ".join(parts) + "); "
            "select the declared columns, or declare the others"
        )


def _listed(names: list[str] | tuple[str, ...], most: int = 8) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
