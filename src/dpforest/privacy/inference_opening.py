"""The way into a paid schema: everything is checked and nothing spent, released or counted."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.privacy.accounts.protection import Neighbors, Protection
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.records.buckets import kept_of_stream, rows_of
from dpforest.records.groups import bound_groups
from dpforest.records.observe import split_target
from dpforest.records.value_counts import AnyColumn
from dpforest.schema.categories import Category
from dpforest.schema.column_types import ColumnType, Types, check_types
from dpforest.schema.features import CategoricalFeature, Target, check_name
from dpforest.tables.columns import Column
from dpforest.tables.container_types import series_type, table_types
from dpforest.tables.frames import Frame
from dpforest.tables.sources import Source, as_source
from dpforest.tables.streamed import StreamedColumn

Universe = Mapping[str, Sequence[Category]]


def protection_of(
    neighbors: Neighbors, groups: Any, max_records_per_group: int | None
) -> Protection:
    """Return who is protected: a person where groups are given, else a record."""
    if (groups is None) != (max_records_per_group is None):
        raise ValueError(
            "groups and max_records_per_group go together: pass the person of each record and how "
            "many records of one person may count, or neither"
        )
    if max_records_per_group is None:
        return Protection(neighbors)
    return Protection(neighbors, "group", max_records_per_group)


def read_columns(
    X: Any, target: Any, groups: Any = None
) -> tuple[Mapping[str, AnyColumn], str | None]:
    """Return the columns by name, the target's last, and its name.

    Of a source, target and groups are names of columns; that of the groups is left out.
    """
    source = as_source(X)
    if source is not None:
        return _streamed_columns(source, target, groups)
    frame, label = split_target(_as_it_is(X), _as_it_is(target))
    columns = {name: frame.series(j) for j, name in enumerate(frame.labels())}
    if label is not None:
        column, name = label
        if len(column.to_numpy()) != frame.n_rows:
            raise SchemaError("the target must have one value a row of X: the lengths differ")
        columns[name] = column
    for column in columns.values():
        column.require_readable()
    return columns, None if label is None else label[1]


def _streamed_columns(
    source: Source, target: Any, groups: Any
) -> tuple[Mapping[str, AnyColumn], str | None]:
    named = [name for name in (target, groups) if name is not None]
    if not all(isinstance(name, str) for name in named):
        raise SchemaError("target and groups must be names of columns of the source")
    source.require(source.names)
    source.require(named)
    names = [name for name in source.names if name not in named]
    if not names:
        raise SchemaError("no feature is left beside the target and the groups")
    names += [] if target is None else [target]
    columns = {name: StreamedColumn(source, name) for name in names}
    for column in columns.values():
        column.require_readable()
    return columns, target


def check_universe(universe: Universe, names: list[str], label: str | None) -> None:
    """Raise what a schema would raise of names and declared categories."""
    for name in names:
        check_name(name, "column")
    strangers = [name for name in universe if name not in names]
    if strangers:
        raise ValueError(f"universe: no such columns: {strangers}; columns are {names}")
    for name, categories in universe.items():
        if isinstance(categories, str):
            raise ValueError(f"universe: {name!r} is a text, expected a list of categories")
        if name == label:
            Target(name, classes=tuple(categories))
        else:
            CategoricalFeature(name, tuple(categories))


def declared_types(types: Types, X: Any, target: Any, names: list[str]) -> Mapping[str, ColumnType]:
    """Return the types that are declared, by column; ValueError for a column that is not there."""
    check_types(types, names)
    if isinstance(types, Mapping):
        return types
    source = as_source(X)
    if source is not None:
        return {name: found for name, found in source.types.items() if name in names}
    found = table_types(X, Frame(X).labels())
    beside = None if isinstance(target, str) else series_type(target)
    return found if beside is None else found | {names[-1]: beside}


def bounded(
    columns: Mapping[str, AnyColumn], X: Any, groups: Any, max_records_per_group: int, draws: Draws
) -> dict[str, AnyColumn]:
    """Return the columns with at most so many records of each person."""
    source = as_source(X)
    if source is not None:
        bits = kept_of_stream(source, groups, max_records_per_group, draws.coins())
        rows = partial(rows_of, bits)
        return {name: c.kept(rows) for name, c in columns.items() if isinstance(c, StreamedColumn)}
    whole = {name: c for name, c in columns.items() if isinstance(c, Column)}
    n_rows = len(next(iter(whole.values())).to_numpy())
    places = np.arange(n_rows, dtype=np.uint64)
    keep = bound_groups(groups, places, max_records_per_group, draws.coins())
    return {name: _rows(column, keep) for name, column in whole.items()}


def _as_it_is(data: Any) -> Any:
    """Keep the values of a list: NumPy would give all records a type that suits all of them."""
    return np.array(data, dtype=object) if isinstance(data, list | tuple) else data


def _rows(column: Column, keep: NDArray[np.int64]) -> Column:
    return Column(column.to_numpy()[keep], column.label)
