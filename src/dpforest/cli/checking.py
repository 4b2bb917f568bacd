"""Whether a table fits a schema: what a fit would refuse, all of it at once.

No more than a fit says before it spends, which is outside the guarantee: for the holder of the
table alone (``docs/privacy/promise.md``). Columns are named, values and records never.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpforest.cli import inputs, streaming, tables
from dpforest.cli.csv_layout import Asked
from dpforest.cli.wording import in_users_words
from dpforest.exceptions import SchemaError
from dpforest.schema import Schema
from dpforest.tables.arrow_source import ParquetTable
from dpforest.tables.encode import check_columns, encode_labels, encode_target
from dpforest.tables.frames import Frame
from dpforest.tables.sources import EMPTY
from dpforest.tables.streams import blocks_of

Problems = dict[str, str]
"""What is wrong with columns, by their names."""


def problems_of(path: Path, schema: Schema, target: str | None, asked: Asked) -> list[str]:
    """Return a line for each column that does not fit; ValueError for a file that is no table."""
    names = [*schema.feature_names, *filter(None, [target])]
    source = streaming.source_of(path, asked)
    if source is None:
        found = _of_table(tables.read_table(path, [], asked), schema, names)
    else:
        found = _of_source(source, schema, names)
    told = (found[name] for name in names if name in found)
    return [in_users_words(problem) for problem in dict.fromkeys(told)]


def _of_source(source: ParquetTable, schema: Schema, names: list[str]) -> Problems:
    """What is wrong with the files, or else with the first block in which something is."""
    found: Problems = {}
    for name in names:
        try:
            source.require([name])
        except SchemaError as error:
            found[name] = str(error)
    there = [name for name in names if name not in found]
    block = None
    for block in blocks_of(source, there) if there else ():
        left = [name for name in there if name not in found]
        found |= _of_table(tables.InputTable(source.path, block), schema, left)
    if there and block is None:
        raise SchemaError(EMPTY)
    return found


def _of_table(data: tables.InputTable, schema: Schema, names: list[str]) -> Problems:
    found = {
        name: _feature(data, schema.select([name]))
        if name in schema.feature_names
        else _target(data, schema, name)
        for name in names
    }
    return {name: problem for name, problem in found.items() if problem is not None}


def _feature(data: tables.InputTable, schema: Schema) -> str | None:
    try:
        column: Any = data.select(schema.feature_names)
        check_columns(Frame(column).select(schema), schema)
    except ValueError as error:
        return str(error)
    return None


def _target(data: tables.InputTable, schema: Schema, name: str) -> str | None:
    try:
        column = inputs.labels_of(data, name, schema)
        if schema.target is not None and schema.target.classes is None:
            encode_target(column, *schema.target_bounds)
        else:
            encode_labels(column, schema.classes)
    except SchemaError as error:
        return f"target {name!r}: {error}"
    return None
