"""Whether a table fits a schema: what a fit would refuse, all of it at once.

No more than a fit says before it spends, which is outside the guarantee: for the holder of the
table alone (``docs/privacy/promise.md``). Columns are named, values and records never.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpforest.cli import inputs, tables
from dpforest.cli.csv_layout import Asked
from dpforest.cli.wording import in_users_words
from dpforest.exceptions import SchemaError
from dpforest.schema import Schema
from dpforest.tables.encode import check_columns, encode_labels, encode_target
from dpforest.tables.frames import Frame


def problems_of(path: Path, schema: Schema, target: str | None, asked: Asked) -> list[str]:
    """Return a line for each column that does not fit; ValueError for a file that is no table."""
    data = tables.read_table(path, [], asked)
    found = [_feature(data, schema.select([name])) for name in schema.feature_names]
    if target is not None:
        found.append(_target(data, schema, target))
    return [in_users_words(problem) for problem in dict.fromkeys(found) if problem is not None]


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
