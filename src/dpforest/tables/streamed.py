"""One column of a source, read part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.tables.columns import Column
from dpforest.tables.sources import EMPTY, Source
from dpforest.tables.streams import blocks_of

Rows = Callable[[int, int], NDArray[np.int64]]
"""``rows(first, n)``: which of the n rows from the first on are kept, counted from it."""


class StreamedColumn:
    """A column of a source: whoever adds something up over it adds up its parts.

    Parameters
    ----------
    source : Source
    name : str
    rows : callable, optional
        Which rows are kept, where a person's records are bounded.
    """

    def __init__(self, source: Source, name: str, rows: Rows | None = None) -> None:
        self._source, self._name, self._rows = source, name, rows

    def parts(self) -> Iterator[Column]:
        """The values, so many at a time."""
        first = 0
        for block in blocks_of(self._source, [self._name]):
            column = Column(block[self._name], repr(self._name))
            if self._rows is None:
                yield column
            else:
                kept = self._rows(first, len(block))
                yield Column(column.to_numpy()[kept], column.label)
            first += len(block)

    def require_readable(self) -> None:
        """SchemaError when there is no value, or when one cannot be read."""
        part = None
        for part in self.parts():
            part.require_readable()
            if self._source.uniform and part.is_plain_number:
                return
        if part is None:
            raise SchemaError(EMPTY)

    def kept(self, rows: Rows) -> StreamedColumn:
        """The same column with some of its rows."""
        return StreamedColumn(self._source, self._name, rows)
