"""CSV and Parquet files in, predictions out.

Tables are read with pandas, polars or pyarrow, whichever is installed; CSV also with none of
them. What a library says when it cannot read a cell is not passed on: it may quote the cell.
"""

import csv
import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TextIO

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from dpforest.datasets import frames
from dpforest.exceptions import SchemaError
from dpforest.schema import Schema
from dpforest.schema.features import CategoricalFeature

Columns = Mapping[str, NDArray[Any]]
CSV = ("CSV", "UTF-8 text, a header line, and as many cells in every row")
PARQUET = ("Parquet", "a whole Parquet file")


@dataclass(frozen=True)
class Table:
    """A table from a file: a frame, or plain columns where no frame library is installed."""

    source: Path
    data: nw.DataFrame[Any] | Columns

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.data.columns if isinstance(self.data, nw.DataFrame) else self.data)

    def select(self, names: Sequence[str]) -> Any:
        """Return some columns, in this order, as estimators take them."""
        self.require(names)
        if isinstance(self.data, nw.DataFrame):
            return self.data.select(list(names)).to_native()
        return np.column_stack([self.data[name] for name in names])

    def column(self, name: str) -> Any:
        """Return one column."""
        self.require([name])
        if isinstance(self.data, nw.DataFrame):
            return self.data.get_column(name).to_native()
        return self.data[name]

    def require(self, names: Sequence[str]) -> None:
        """Raise SchemaError when a column is not there."""
        _require(self.source, self.names, names)


def read_declared(path: Path, schema: Schema, target: str | None, others: Sequence[str]) -> Table:
    """Read a table whose columns a schema declares: features, target and others."""
    text = [f.name for f in schema.features if isinstance(f, CategoricalFeature)]
    numbers = [f.name for f in schema.features if f.name not in text]
    if target is not None:
        classes = schema.target is not None and schema.target.classes is not None
        (text if classes else numbers).append(target)
    text += [name for name in others if name not in text and name not in numbers]
    return _read(path, text, numbers)


def read_undeclared(path: Path) -> Table:
    """Read a table with the types its cells suggest."""
    return _read(path, [], [])


def write_columns(path: Path, columns: Columns) -> None:
    """Write columns to a CSV or Parquet file, by the name's ending."""
    if _is_parquet(path):
        nw.from_dict(dict(columns), backend=_parquet_backend()).write_parquet(path)
        return
    with _open_text(path, "wt", "utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def check_output(path: Path, option: str = "--output") -> None:
    """Raise OSError when nothing can be written there; to be called before a budget is spent."""
    if path.is_dir():
        raise OSError(f"{option} {path} is a folder: name a file")
    if not path.parent.is_dir():
        raise OSError(f"{option} {path}: there is no folder {path.parent}; create it first")


def check_table_name(path: Path) -> None:
    """Raise ValueError when a file's name says neither CSV nor Parquet."""
    if not (_is_parquet(path) or path.name.lower().endswith((".csv", ".csv.gz"))):
        raise ValueError(f"{path}: expected a name that ends in .csv, .csv.gz or .parquet")
    if _is_parquet(path):
        _parquet_backend()


def _read(path: Path, text: Sequence[str], numbers: Sequence[str]) -> Table:
    check_table_name(path)
    if not path.is_file():
        raise OSError(f"{path}: no such file")
    if _is_parquet(path):
        return Table(path, _read_parquet(path))
    with _described(path, *CSV), _open_text(path) as file:
        header = next(csv.reader(file), [])
    _require(path, header, [*text, *numbers])
    if frames.installed_backend() is None:
        with _described(path, *CSV):
            return Table(path, _read_plainly(path, infer=not (text or numbers)))
    return Table(path, nw.from_native(_read_csv(path, text, numbers), eager_only=True))


def _read_csv(path: Path, text: Sequence[str], numbers: Sequence[str]) -> Any:
    try:
        return frames.read_csv(path, text, numbers)
    except Exception:
        # A cell is no number: as text, the column meets the schema's check, which names it.
        with _described(path, *CSV):
            return frames.read_csv(path, [*text, *numbers], [])


def _read_parquet(path: Path) -> nw.DataFrame[Any]:
    with _described(path, *PARQUET):
        return nw.read_parquet(str(path), backend=_parquet_backend())


def _read_plainly(path: Path, infer: bool) -> Columns:
    """Read a CSV file into columns of texts, None where empty; numbers where `infer` finds them."""
    with _open_text(path) as file:
        header, *rows = csv.reader(file)
    cells = [[cell or None for cell in row] for row in rows if row]
    columns = zip(*cells, strict=True) if cells else [()] * len(header)
    arrays = [np.array(column, dtype=object) for column in columns]
    return dict(zip(header, map(_numbers_if_all, arrays) if infer else arrays, strict=True))


def _numbers_if_all(column: NDArray[Any]) -> NDArray[Any]:
    try:
        return np.where(column == None, np.nan, column).astype(np.float64)  # noqa: E711
    except ValueError:
        return column


def _open_text(path: Path, mode: str = "rt", encoding: str = "utf-8-sig") -> TextIO:
    opener: Callable[..., Any] = gzip.open if path.name.lower().endswith(".gz") else open
    file: TextIO = opener(path, mode, newline="", encoding=encoding)
    return file


@contextmanager
def _described(path: Path, kind: str, expected: str) -> Iterator[None]:
    """Say what a file should have been, without the library's message and the cells in it."""
    try:
        yield
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read as {kind} ({type(error).__name__}): expected {expected}"
        ) from None


def _require(path: Path, found: Sequence[str], names: Sequence[str]) -> None:
    missing = [name for name in names if name not in found]
    if missing:
        # What is there instead is not shown: without a header it would be a record.
        listed = ", ".join(map(repr, missing))
        raise SchemaError(f"{path} has no column {listed}: its first line must name the columns")


def _is_parquet(path: Path) -> bool:
    return path.name.lower().endswith((".parquet", ".pq"))


def _parquet_backend() -> Literal["pyarrow", "polars"]:
    backends: tuple[Literal["pyarrow"], Literal["polars"]] = ("pyarrow", "polars")
    for backend in backends:
        if find_spec(backend) is not None:
            return backend
    raise ImportError(
        "Parquet files need pyarrow or polars: pip install 'dpforest[parquet]', or use CSV"
    )
