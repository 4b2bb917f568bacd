"""Tables that need not fit into memory: folders of Parquet files, and files that are large."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from dpforest.cli.csv_layout import Asked, layout_of, odd_line, odd_line_error, open_text
from dpforest.cli.tables import is_parquet
from dpforest.exceptions import SchemaError
from dpforest.schema.categories import is_missing
from dpforest.tables.arrow_source import ParquetTable
from dpforest.tables.columns import Column
from dpforest.tables.sources import EMPTY
from dpforest.tables.streams import blocks_of

LARGE = 1 << 28  # bytes of a text that is read piece by piece
PACKED = 8  # how many times as large a compressed file may be in memory
CSV_ROWS = 1 << 15
PREDICTION = ["prediction"]
INTERVAL = ["prediction", "lower", "upper"]

Columns = Mapping[str, list[Any]]


def is_large(path: Path) -> bool:
    """Tell whether a table is read piece by piece: a folder, or a large file."""
    if path.is_dir():
        return True
    if is_parquet(path) and find_spec("pyarrow") is None:
        return False  # polars reads it as a whole
    packed = is_parquet(path) or path.suffix.lower() == ".gz"
    return path.is_file() and path.stat().st_size > (LARGE // PACKED if packed else LARGE)


def source_of(path: Path, asked: Asked) -> ParquetTable | None:
    """The source that a folder or a large Parquet file is; None for what is read as a whole."""
    if is_parquet(path) and is_large(path):
        return _parquet(path, asked)
    return None


def predict_large(
    forest: Any,
    path: Path,
    output: Path,
    answers: Sequence[str],
    kept: Sequence[str],
    asked: Asked,
) -> dict[str, Any]:
    """Predict a table piece by piece and write the answers as they come.

    Parameters
    ----------
    forest : estimator
    path, output : Path
    answers : sequence of str
        The columns of `answers_of`.
    kept : sequence of str
        Columns that are carried over.
    asked : Asked
        How a CSV file is written.

    Returns
    -------
    dict
        The columns that were written, without their values.
    """

    def columns() -> Iterator[Columns]:
        for rows, others in _pieces(path, forest.schema_.feature_names, kept, asked):
            yield {**others, **answers_of(forest, rows, answers)}

    batches = columns()
    first = next(batches, None)
    if first is None:
        raise SchemaError(EMPTY)
    if is_parquet(output):
        _write_parquet(output, first, batches)
    else:
        with open_text(output, "wt") as file:
            writer = csv.writer(file)
            writer.writerow([*kept, *answers])
            for each in chain([first], batches):
                writer.writerows(zip(*each.values(), strict=True))
    return dict.fromkeys([*kept, *answers])


def answers_of(forest: Any, rows: Any, names: Sequence[str]) -> dict[str, Any]:
    """What a model says of some rows: a prediction, with its interval, or each class's chance."""
    if list(names) == INTERVAL:
        found = [forest.predict(rows), *forest.predict_interval(rows).T]
    elif list(names) == PREDICTION:
        found = [forest.predict(rows)]
    else:
        found = forest.predict_proba(rows).T
    return {name: each.tolist() for name, each in zip(names, found, strict=True)}


def _pieces(
    path: Path, names: Sequence[str], kept: Sequence[str], asked: Asked
) -> Iterator[tuple[Any, Columns]]:
    """Features as estimators take them, and columns to carry over, so many rows at a time."""
    if not is_parquet(path):
        yield from _csv_pieces(path, names, kept, asked)
        return
    source = _parquet(path, asked)
    wanted = list(dict.fromkeys([*names, *kept]))
    source.require(wanted)
    for block in blocks_of(source, wanted):
        others = {
            name: [None if is_missing(v) else v for v in Column(block[name], name).python_values()]
            for name in kept
        }
        yield block.select(names).to_native(), others


def _csv_pieces(
    path: Path, names: Sequence[str], kept: Sequence[str], asked: Asked
) -> Iterator[tuple[Any, Columns]]:
    try:
        layout = layout_of(path, asked)
        header = list(layout.header)
        missing = [name for name in [*names, *kept] if name not in header]
        if missing:
            listed = ", ".join(map(repr, missing))
            raise SchemaError(f"{path} has no column {listed}: its first line must name them")
        if (odd := odd_line(path, layout)) is not None:
            raise odd_line_error(path, odd)
        places = [header.index(name) for name in names]
        with open_text(path, encoding=layout.encoding) as file:
            lines = csv.reader(file, delimiter=layout.separator)
            next(lines)
            while rows := list(islice(lines, CSV_ROWS)):
                cells = [[cell or None for cell in row] for row in rows if row]
                if any(len(row) != len(header) for row in cells):
                    raise SchemaError(f"{path} cannot be read as CSV: rows differ in their cells")
                if cells:
                    features = [[row[place] for place in places] for row in cells]
                    others = {name: [row[header.index(name)] for row in cells] for name in kept}
                    yield np.array(features, dtype=object), others
    except (UnicodeError, csv.Error) as error:
        # What they say quotes cells.
        raise ValueError(
            f"{path} cannot be read as CSV ({type(error).__name__}): expected UTF-8 text, or "
            "--encoding"
        ) from None


def _parquet(path: Path, asked: Asked) -> ParquetTable:
    if asked.anything:
        raise ValueError(f"--sep and --encoding are for CSV, and {path} is Parquet")
    return ParquetTable(path)


def _write_parquet(output: Path, first: Columns, batches: Iterator[Columns]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(dict(first))
    with pq.ParquetWriter(output, table.schema) as writer:
        writer.write_table(table)
        for each in batches:
            writer.write_table(pa.table(dict(each), schema=table.schema))
