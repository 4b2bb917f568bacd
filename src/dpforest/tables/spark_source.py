"""Data frames of Spark."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql import types as kinds
from pyspark.sql.pandas.types import from_arrow_schema

from dpforest.exceptions import SchemaError
from dpforest.schema.column_types import ColumnType
from dpforest.tables.sources import Kinds, Making, Source

_TYPES: dict[type, ColumnType] = {
    kinds.BooleanType: "boolean",
    kinds.StringType: "category",
    kinds.IntegralType: "integer",
    kinds.NumericType: "number",
}


class SparkSource(Source):
    """A data frame of Spark, read where its executors are.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    """

    kind: ClassVar[str] = "spark"

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.names = tuple(frame.columns)

    @property
    def types(self) -> dict[str, ColumnType]:
        """The types of the columns, as the frame declares them."""
        return {
            field.name: next(_TYPES[kind] for kind in _TYPES if isinstance(field.dataType, kind))
            for field in self.frame.schema
            if isinstance(field.dataType, tuple(_TYPES))
        }

    def select(self, columns: Sequence[str]) -> Any:
        """Some columns, as a frame of Spark; a dot in a name is part of it."""
        return self.frame.select(*(quoted(name) for name in columns))

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Some columns as tables of pyarrow: one partition at a time comes to this process."""
        packed = self.select(columns).mapInArrow(_pack, "batch binary")
        try:
            for row in packed.toLocalIterator():
                yield pa.ipc.open_stream(row[0]).read_all()
        except Exception as error:
            # What Spark says may quote a value.
            raise SchemaError(
                f"the frame cannot be computed ({type(error).__name__}): try X.show(), and see "
                "that all of its files have the same columns"
            ) from None

    def map(self, function: Making, columns: Sequence[str], like: Kinds) -> Any:
        """The frame with the new columns beside its own: rows of Spark can meet by nothing else."""
        there = [name for name in like if name in self.names]
        if there:
            raise SchemaError(
                f"the frame has a column {there[0]!r} already: rename or drop it, as that is the "
                "name of a new one"
            )
        new = pa.schema([(name, pa.from_numpy_dtype(kind)) for name, kind in like.items()])
        schema = kinds.StructType([*self.frame.schema.fields, *from_arrow_schema(new).fields])
        return self.frame.mapInArrow(partial(_made, function, list(columns), new), schema)


def quoted(name: str) -> str:
    """A name as Spark reads it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def _pack(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield pa.RecordBatch.from_pydict({"batch": [sink.getvalue()]})


def _made(
    function: Making, columns: list[str], new: pa.Schema, batches: Iterator[Any]
) -> Iterator[Any]:
    for batch in batches:
        if batch.num_rows:
            made = function(pa.Table.from_batches([batch]).select(columns))
            arrays = [pa.array(made[field.name], field.type) for field in new]
            schema = pa.schema([*batch.schema, *new])
            yield pa.RecordBatch.from_arrays([*batch.columns, *arrays], schema=schema)


def source_of(frame: Any) -> Source:
    """The source that a frame of Spark is."""
    return SparkSource(frame)
