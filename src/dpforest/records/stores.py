"""Which store keeps the records of which source: an engine is imported when it is used."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.records.coins import Coins
from dpforest.records.content import content_hashes
from dpforest.records.groups import bound_groups
from dpforest.records.local import LocalStore
from dpforest.records.reading import Reading, encode_y
from dpforest.records.store import RecordStore
from dpforest.records.weights import Weights, read_weights
from dpforest.schema import Schema
from dpforest.tables.encode import check_columns
from dpforest.tables.frames import Frame
from dpforest.tables.sources import Source

_STORES = {"stream": "stream_store", "dask": "dask_store", "spark": "spark_store"}


@dataclass(frozen=True)
class Persons:
    """How persons are bounded.

    Parameters
    ----------
    groups : str or array-like
        The person of each record; the name of the column in a source.
    most : int
        How many records of one person are kept.
    coins : Coins
        For the tickets by which they are chosen.
    """

    groups: Any
    most: int
    coins: Coins


def checked_table(
    frame: Frame, y: Any, schema: Schema, n_jobs: int | None
) -> tuple[Frame, NDArray[np.int32 | np.float64]]:
    """The columns of the schema and the encoded target; SchemaError where they do not fit it."""
    frame = frame.select(schema)
    target = encode_y(y, schema)
    if len(target) != frame.n_rows:
        raise SchemaError("y must have one value a row of X: X and y have different lengths")
    check_columns(frame, schema, n_jobs)
    return frame, target


def open_frame(
    frame: Frame,
    y: Any,
    schema: Schema,
    persons: Persons | None,
    n_jobs: int | None,
    weights: Weights | None = None,
) -> RecordStore:
    """Check a table in memory and store it; raises what is wrong with it."""
    weight = None
    if weights is not None:
        weight = read_weights(weights.sample_weight, frame.n_rows, weights.bound)
    frame, target = checked_table(frame, y, schema, n_jobs)
    keep = None
    if persons is not None:
        contents = content_hashes(frame, schema, target, n_jobs, weight)
        keep = bound_groups(persons.groups, contents, persons.most, persons.coins)
    return LocalStore(frame, target, keep, n_jobs, weight)


def open_source(
    source: Source,
    y: Any,
    schema: Schema,
    persons: Persons | None,
    n_jobs: int | None,
    weights: Weights | None = None,
) -> RecordStore:
    """Check a source and store what has to be kept of it; raises what is wrong with it."""
    named = {"y": y}
    if persons is not None:
        named["groups"] = persons.groups
    if weights is not None:
        named["sample_weight"] = weights.sample_weight
    for what, name in named.items():
        if not isinstance(name, str):
            raise SchemaError(f"{what} must be the name of a column of the source, not its values")
    columns = [*schema.feature_names, *named.values()]
    source.require(columns)
    if len(set(columns)) < len(columns):
        raise SchemaError(
            "y, groups and sample_weight must be columns of their own: none may be another of "
            "them, or a feature"
        )
    engine = import_module(f".{_STORES[source.kind]}", __package__)
    reading = Reading(schema, y, named.get("groups"), weights)
    store: RecordStore = engine.open_store(source, reading, persons, n_jobs)
    return store
