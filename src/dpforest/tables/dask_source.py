"""Data frames of Dask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from dask.dataframe.utils import make_meta

from dpforest.exceptions import SchemaError
from dpforest.schema.column_types import ColumnType
from dpforest.tables.container_types import series_type
from dpforest.tables.sources import Kinds, Making, Source


class DaskSource(Source):
    """A data frame of Dask, computed where its cluster is.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
    """

    kind: ClassVar[str] = "dask"

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.names = tuple(frame.columns)

    @property
    def types(self) -> dict[str, ColumnType]:
        """The types of the columns, as the frame declares them."""
        found = {name: series_type(pd.Series(dtype=kind)) for name, kind in self._dtypes()}
        return {name: kind for name, kind in found.items() if kind is not None}

    def _dtypes(self) -> list[tuple[str, Any]]:
        return list(self._frame.dtypes.items())

    def partitions(self, columns: Sequence[str]) -> list[Any]:
        """Some columns as delayed frames of pandas, one a partition, in order."""
        # Which partitions a frame has may depend on the columns that are asked for.
        return list(self._frame[list(columns)].to_delayed())

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Some columns as frames of pandas: one partition at a time comes to this process."""
        for part in self.partitions(columns):
            try:
                batch = part.compute()
            except Exception as error:
                # What Dask says may quote a value.
                raise SchemaError(
                    f"a partition cannot be computed ({type(error).__name__}): try X.head(), and "
                    "see that all partitions have the same columns"
                ) from None
            yield batch

    def map(self, function: Making, columns: Sequence[str], like: Kinds) -> Any:
        """A frame of Dask with the new columns, and the index and divisions of this one."""
        chosen = self._frame[list(columns)]
        meta = pd.DataFrame({name: np.empty(0, kind) for name, kind in like.items()})
        meta.index = make_meta(chosen.index)
        return chosen.map_partitions(_made, function, meta, meta=meta)


def _made(part: Any, function: Making, empty: Any) -> Any:
    if not len(part):
        return empty.set_index(part.index)
    return pd.DataFrame(dict(function(part)), index=part.index)


def source_of(frame: Any) -> Source:
    """The source that a frame of Dask is."""
    return DaskSource(frame)
