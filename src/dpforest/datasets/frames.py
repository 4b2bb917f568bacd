"""Tables in whichever data frame library is installed: pandas, else polars, else pyarrow."""

import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")


def installed_backend() -> Backend | None:
    """Return the first installed data frame library, in the order pandas, polars, pyarrow."""
    return next((backend for backend in BACKENDS if find_spec(backend) is not None), None)


def from_columns(columns: Mapping[str, np.ndarray[Any, Any]]) -> Any:
    """Build a native frame of the installed library; without one, an object array."""
    backend = installed_backend()
    if backend is None:
        return np.column_stack([column.astype(object) for column in columns.values()])
    return nw.from_dict(dict(columns), backend=backend).to_native()


def read_csv(
    path: Path | BytesIO,
    text_columns: Sequence[str],
    number_columns: Sequence[str],
    separator: str = ",",
) -> Any:
    """Read a CSV file, text as strings and numbers as float64; empty cells are missing.

    A file may be gzipped; a buffer holds plain UTF-8.
    """
    backend = installed_backend()
    if backend == "pandas":
        import pandas as pd

        types = dict.fromkeys(text_columns, "str") | dict.fromkeys(number_columns, "float64")
        with warnings.catch_warnings():
            # Of a longer first row, pandas would make an index and move the cells of all others;
            # told not to, it would cut that row off, with a warning.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                path,
                sep=separator,
                dtype=types,
                keep_default_na=False,
                na_values=[""],
                index_col=False,
            )
    if backend == "polars":
        import polars as pl

        overrides = dict.fromkeys(text_columns, pl.String) | dict.fromkeys(
            number_columns, pl.Float64
        )
        return pl.read_csv(path, separator=separator, schema_overrides=overrides, null_values=[""])
    if backend is None:
        raise ImportError(
            "dpforest.datasets.load returns a data frame and found none of pandas, polars and "
            "pyarrow; install one of them, for example: pip install pandas"
        )
    import pyarrow as pa
    from pyarrow import csv

    arrow_types = dict.fromkeys(text_columns, pa.string()) | dict.fromkeys(
        number_columns, pa.float64()
    )
    options = csv.ConvertOptions(
        column_types=arrow_types, null_values=[""], strings_can_be_null=True
    )
    parse = csv.ParseOptions(delimiter=separator)
    return csv.read_csv(path, parse_options=parse, convert_options=options)
