"""Tables that need not fit into memory: folders of Parquet files, and files that are large."""

import csv
import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from dpforest.cli.tables import is_parquet
from dpforest.exceptions import SchemaError
from dpforest.tables.arrow_source import ParquetTable
from dpforest.tables.streams import blocks_of

LARGE = 1 << 28  # bytes of a file that is read piece by piece
CSV_ROWS = 1 << 15

Columns = Mapping[str, NDArray[Any]]


def is_large(path: Path) -> bool:
    """Tell whether a table is read piece by piece: a folder, or a large file."""
    return path.is_dir() or (path.is_file() and path.stat().st_size > LARGE)


def source_to_fit(path: Path) -> ParquetTable | None:
    """The source that a table to train on is; None for one that is read as a whole."""
    if path.is_dir() or (is_parquet(path) and is_large(path)):
        return ParquetTable(path)
    return None


def predict_large(forest: Any, path: Path, output: Path, *, probabilities: bool) -> None:
    """Predict a table piece by piece and write the answers as they come."""
    answers = [str(each) for each in forest.classes_] if probabilities else ["prediction"]

    def columns() -> Iterator[Columns]:
        for rows in rows_of(path, forest.schema_.feature_names):
            found = forest.predict_proba(rows).T if probabilities else [forest.predict(rows)]
            yield dict(zip(answers, found, strict=True))

    if is_parquet(output):
        _write_parquet(output, columns())
        return
    with _open_text(output, "wt", "utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(answers)
        for each in columns():
            writer.writerows(zip(*(column.tolist() for column in each.values()), strict=True))


def rows_of(path: Path, names: Sequence[str]) -> Iterator[Any]:
    """Some columns of a table, so many rows at a time, as estimators take them."""
    if path.is_dir() or is_parquet(path):
        source = ParquetTable(path)
        source.require(names)
        for block in blocks_of(source, names):
            yield block.to_native()
        return
    with _open_text(path, "rt", "utf-8-sig") as file:
        lines = csv.reader(file)
        header = next(lines, [])
        missing = [name for name in names if name not in header]
        if missing:
            listed = ", ".join(map(repr, missing))
            raise SchemaError(f"{path} has no column {listed}: its first line must name them")
        places = [header.index(name) for name in names]
        while rows := list(islice(lines, CSV_ROWS)):
            rows = [row for row in rows if row]
            if any(len(row) != len(header) for row in rows):
                raise ValueError(f"{path} cannot be read as CSV: its rows differ in their cells")
            if rows:
                cells = [[row[place] or None for place in places] for row in rows]
                yield np.array(cells, dtype=object)


def _write_parquet(output: Path, batches: Iterator[Columns]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = pa.table(dict(next(batches)))
    with pq.ParquetWriter(output, first.schema) as writer:
        writer.write_table(first)
        for each in batches:
            writer.write_table(pa.table(dict(each)))


def _open_text(path: Path, mode: str, encoding: str) -> TextIO:
    opener: Callable[..., Any] = gzip.open if path.name.lower().endswith(".gz") else open
    file: TextIO = opener(path, mode, newline="", encoding=encoding)
    return file
