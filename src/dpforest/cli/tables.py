"""CSV and Parquet files in, predictions out.

Tables are read with pandas, polars or pyarrow, whichever is installed; CSV also with none of
them. Cells of a CSV file are texts, or missing where empty: no reader finds types in them, so how
a cell is read is up to that cell and the schema. What a library says when it cannot read a file is
not passed on: it may quote a cell.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from dpforest.cli.csv_layout import Asked, CsvLayout, layout_of, odd_line, odd_line_error, open_text
from dpforest.datasets import frames
from dpforest.exceptions import SchemaError
from dpforest.schema.categories import is_missing
from dpforest.tables.columns import Column

Columns = Mapping[str, NDArray[Any]]
CSV = (
    "CSV",
    "UTF-8 text, or --encoding; a header line; and as many cells in every row, with the separator "
    "that the header has, or --sep",
)
PARQUET = ("Parquet", "a whole Parquet file")


@dataclass(frozen=True)
class InputTable:
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

    def select_by_name(self, names: Sequence[str]) -> Any:
        """Return some columns as a frame that knows their names; ImportError without a library."""
        if not isinstance(self.data, nw.DataFrame):
            raise ImportError(
                "--epsilon needs pandas, polars or pyarrow to read the table: install one of "
                "them, for example pip install 'dpforest[parquet]'"
            )
        return self.select(names)

    def column(self, name: str) -> Any:
        """Return one column."""
        self.require([name])
        if isinstance(self.data, nw.DataFrame):
            return self.data.get_column(name).to_native()
        return self.data[name]

    def values(self, name: str) -> list[Any]:
        """Return one column as plain values, as they are in the file; None where missing."""
        self.require([name])
        if not isinstance(self.data, nw.DataFrame):
            return list(self.data[name])
        values = Column(self.data[name], repr(name)).python_values()
        return [None if is_missing(value) else value for value in values]

    def require(self, names: Sequence[str]) -> None:
        """Raise SchemaError when a column is not there."""
        _require(self.source, self.names, names)


def read_table(path: Path, names: Sequence[str], asked: Asked = Asked()) -> InputTable:  # noqa: B008
    """Read a table that must have these columns."""
    check_table_name(path)
    if not path.is_file():
        raise OSError(f"{path}: no such file")
    if is_parquet(path):
        if asked.anything:
            raise ValueError(f"--sep and --encoding are for CSV, and {path} is Parquet")
        table = InputTable(path, _read_parquet(path))
        table.require(names)
        return table
    with _described(path, *CSV):
        layout = layout_of(path, asked)
        odd = odd_line(path, layout)
    if odd is not None:
        raise odd_line_error(path, odd)
    _require(path, layout.header, names)
    with _described(path, *CSV):
        if frames.installed_backend() is None:
            return InputTable(path, _read_plainly(path, layout))
        source = _as_utf8(path, layout.encoding)
        native = frames.read_csv(source, layout.header, [], layout.separator)
        return InputTable(path, nw.from_native(native, eager_only=True))


def with_guessed_numbers(table: InputTable) -> InputTable:
    """Return a table of texts with numbers where all cells of a column spell some.

    For the starter schema, which leaks and says so.
    """
    if is_parquet(table.source):
        return table
    guesses = {name: _numbers_if_all(np.asarray(table.column(name))) for name in table.names}
    if not isinstance(table.data, nw.DataFrame):
        return InputTable(table.source, guesses)
    backend = table.data.implementation
    numbers = [
        nw.new_series(name, guess, backend=backend)
        for name, guess in guesses.items()
        if guess.dtype.kind != "O"
    ]
    return InputTable(table.source, table.data.with_columns(*numbers))


def write_columns(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns to a CSV (commas, UTF-8) or Parquet file, by the name's ending."""
    if is_parquet(path):
        nw.from_dict(dict(columns), backend=_parquet_backend()).write_parquet(path)
        return
    with open_text(path, "wt") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def check_table_name(path: Path) -> None:
    """Raise ValueError when a file's name says neither CSV nor Parquet."""
    if not (is_parquet(path) or path.name.lower().endswith((".csv", ".csv.gz"))):
        raise ValueError(f"{path}: expected a name that ends in .csv, .csv.gz or .parquet")
    if is_parquet(path):
        _parquet_backend()


def _read_parquet(path: Path) -> nw.DataFrame[Any]:
    with _described(path, *PARQUET):
        return nw.read_parquet(str(path), backend=_parquet_backend())


def _read_plainly(path: Path, layout: CsvLayout) -> Columns:
    """Read a CSV file into columns of texts, None where empty."""
    with open_text(path, encoding=layout.encoding) as file:
        header, *rows = csv.reader(file, delimiter=layout.separator)
    cells = [[cell or None for cell in row] for row in rows if row]
    columns = zip(*cells, strict=True) if cells else [()] * len(header)
    arrays = [np.array(column, dtype=object) for column in columns]
    return dict(zip(header, arrays, strict=True))


def _as_utf8(path: Path, encoding: str) -> Path | io.BytesIO:
    """The file, or its text in UTF-8, which all libraries read alike."""
    if encoding in ("utf-8", "utf-8-sig"):
        return path
    with open_text(path, encoding=encoding) as file:
        return io.BytesIO(file.read().encode())


def _numbers_if_all(column: NDArray[Any]) -> NDArray[Any]:
    try:
        numbers = np.where(column == None, np.nan, column).astype(np.float64)  # noqa: E711
    except ValueError:
        return column
    whole = bool((np.abs(numbers) < 2**53).all() and (numbers == np.floor(numbers)).all())
    return numbers.astype(np.int64) if whole else numbers


@contextmanager
def _described(path: Path, kind: str, expected: str) -> Iterator[None]:
    """Say what a file should have been, without the library's message and the cells in it."""
    try:
        yield
    except UnicodeError:
        raise ValueError(
            f"{path} is not UTF-8 text, or not in the --encoding that was given: say which it is, "
            "for example --encoding cp1252"
        ) from None
    except Exception:
        raise ValueError(f"{path} cannot be read as {kind}: expected {expected}") from None


def _require(path: Path, found: Sequence[str], names: Sequence[str]) -> None:
    missing = [name for name in names if name not in found]
    if missing:
        # What is there instead is not shown: without a header it would be a record.
        listed = ", ".join(map(repr, missing))
        raise SchemaError(f"{path} has no column {listed}: its first line must name the columns")
    for name in names:
        if found.count(name) > 1:
            raise SchemaError(f"{path} has several columns {name!r}: rename all but one of them")


def is_parquet(path: Path) -> bool:
    """Tell by its name whether a file is Parquet rather than CSV; folders are of Parquet files."""
    return path.name.lower().endswith((".parquet", ".pq")) or path.is_dir()


def _parquet_backend() -> Literal["pyarrow", "polars"]:
    backends: tuple[Literal["pyarrow"], Literal["polars"]] = ("pyarrow", "polars")
    for backend in backends:
        if find_spec(backend) is not None:
            return backend
    raise ImportError(
        "Parquet files need pyarrow or polars: pip install 'dpforest[parquet]', or use CSV"
    )
