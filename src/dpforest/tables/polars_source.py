"""Lazy frames of polars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from dpforest.exceptions import SchemaError, SourceChangedError
from dpforest.schema.column_types import ColumnType
from dpforest.tables.container_types import series_type
from dpforest.tables.sources import Kinds, Making, Source

BATCH_ROWS = 1 << 16


class PolarsSource(Source):
    """A lazy frame of polars, collected batch by batch, every time it is read."""

    def __init__(self, frame: pl.LazyFrame) -> None:
        self._frame = frame
        self._schema = frame.collect_schema()
        self.names = tuple(self._schema.names())

    @property
    def types(self) -> dict[str, ColumnType]:
        """The types of the columns, as the frame declares them."""
        found = {name: series_type(pl.Series(dtype=kind)) for name, kind in self._schema.items()}
        return {name: kind for name, kind in found.items() if kind is not None}

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Some columns as data frames of polars."""
        try:
            chosen = self._frame.select(columns)
            yield from chosen.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True)
        except FileNotFoundError:
            raise SourceChangedError(
                "a file of the source is gone: it was there when the source was opened"
            ) from None
        except pl.exceptions.PolarsError as error:
            # What polars says may quote a value.
            raise SchemaError(
                f"the lazy frame cannot be collected ({type(error).__name__}): see that all of its "
                "files have the same columns and types"
            ) from None

    def map(self, function: Making, columns: Sequence[str], like: Kinds) -> pl.LazyFrame:
        """A lazy frame of the new columns."""
        empty = pl.DataFrame({name: np.empty(0, kind) for name, kind in like.items()})

        def made(batch: pl.DataFrame) -> pl.DataFrame:
            return pl.DataFrame(dict(function(batch))) if len(batch) else empty

        return self._frame.select(columns).map_batches(made, schema=empty.schema, streamable=True)


def source_of(frame: pl.LazyFrame) -> Source:
    """The source that a lazy frame is."""
    return PolarsSource(frame)
