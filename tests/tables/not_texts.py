"""Columns of texts that hold bytes which are none: Arrow and polars do not look."""

import pandas as pd
import polars as pl
import pyarrow as pa

SECRET = "s3cret"
BYTES = SECRET.encode() + b"-\xff"


def arrow(values):
    """An array of texts with, at the end, what is no text."""
    raw = pa.array([*(value.encode() for value in values), BYTES], pa.binary())
    return pa.StringArray.from_buffers(len(raw), *raw.buffers()[1:])


def arrow_large(values):
    """The same with large offsets."""
    raw = pa.array([*(value.encode() for value in values), BYTES], pa.large_binary())
    return pa.LargeStringArray.from_buffers(len(raw), *raw.buffers()[1:])


def pandas(array):
    """A series of pandas that keeps the array as it is."""
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))


CONTAINERS = {
    "pyarrow": lambda values: pa.chunked_array([arrow(values)]),
    "pyarrow, large": lambda values: pa.chunked_array([arrow_large(values)]),
    "pyarrow, numbered": lambda values: pa.chunked_array([arrow(values).dictionary_encode()]),
    "pandas, Arrow": lambda values: pandas(arrow(values)),
    "pandas, Arrow, numbered": lambda values: pandas(arrow(values).dictionary_encode()),
    "pandas, string": lambda values: pandas(arrow(values)).astype("string[pyarrow]"),
    "polars": lambda values: pl.from_arrow(arrow(values)),
    "polars, categories": lambda values: pl.from_arrow(arrow(values).dictionary_encode()),
}


def frame_of(columns):
    """A table of the kind that its columns are of."""
    first = next(iter(columns.values()))
    kinds = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}
    return kinds.get(type(first), pa.table)(columns)
