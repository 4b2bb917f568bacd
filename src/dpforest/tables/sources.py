"""Tables that are not in memory: their columns by name, and their records batch by batch.

A source is recognised by the module of its type, so that no engine is imported that the user has
not imported. Each engine has a file here, which reads it; one that keeps the records where they
are has a store of its own in the records room.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.schema.column_types import ColumnType

Outputs = Mapping[str, NDArray[Any]]
"""Columns that were computed for a batch, by name."""
Making = Callable[[Any], Outputs]
"""What makes new columns of the frame of a batch."""
Kinds = Mapping[str, np.dtype[Any]]
"""The names and types of new columns."""

EMPTY = "the source is empty (0 sample(s)): at least one record is needed"
_ENGINES = {
    ("pyarrow", "Dataset"): "arrow_source",
    ("polars", "LazyFrame"): "polars_source",
    ("dask", "DataFrame"): "dask_source",
    ("pyspark", "DataFrame"): "spark_source",
}


class Source(ABC):
    """A table that is not in memory.

    Attributes
    ----------
    kind : str
        Which store keeps its records: "stream" for one on this machine.
    uniform : bool
        Whether every part is known to have the columns and types that it declares. Where it is
        not, a fit reads all columns before it spends anything.
    names : tuple of str
        The names of its columns, which are public.
    """

    kind: ClassVar[str] = "stream"
    uniform: bool = False
    names: tuple[str, ...]

    @property
    @abstractmethod
    def types(self) -> dict[str, ColumnType]:
        """The types it declares of its columns; those it leaves open are not in it."""

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Some columns as frames in memory, one by one: every time the same records in order.

        Some may be empty. SchemaError where parts of the source disagree about the columns.
        """

    @abstractmethod
    def map(self, function: Making, columns: Sequence[str], like: Kinds) -> Any:
        """What a function makes of every batch of some columns, as lazily as the source is.

        Parameters
        ----------
        function : Making
        columns : sequence of str
        like : Kinds
        """

    def require(self, columns: Sequence[str]) -> None:
        """SchemaError when a column is not there."""
        missing = [name for name in columns if name not in self.names]
        if missing:
            listed = ", ".join(map(repr, missing[:8]))
            raise SchemaError(
                f"the source has no column {listed}: name columns that it has, and declare in the "
                "schema only those"
            )

    def only(self, columns: Sequence[str]) -> Self:
        """The same source as if it had no other columns; SchemaError when one is not there."""
        self.require(columns)
        some = copy(self)
        some.names = tuple(columns)
        return some


def as_source(table: Any) -> Source | None:
    """The source that a table is; None for tables in memory.

    Examples
    --------
    >>> as_source([[1.0]]) is None
    True
    """
    if isinstance(table, Source):
        return table
    for kind in type(table).__mro__:
        package = kind.__module__.partition(".")[0]
        if (package, kind.__name__) in _ENGINES:
            engine = import_module(f".{_ENGINES[package, kind.__name__]}", __package__)
            source: Source = engine.source_of(table)
            return source
    return None
