"""What a worker does with a partition, whatever engine it works for.

All of it may be done again, elsewhere, after a loss: it follows from the records of the partition
and from what the driver sends, and the driver compares what the records were.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.records.answers import Answer, Failure, Number, Partition
from dpforest.records.coins import Addresses, Coins
from dpforest.records.content import Frozen
from dpforest.records.groups import kept_rows
from dpforest.records.reading import Reading
from dpforest.records.recipes import BehindError, State
from dpforest.records.shards import Shard
from dpforest.records.statistics import RecordCount, Statistic
from dpforest.schema.column_types import ColumnType
from dpforest.tables.container_types import table_types

Rows = NDArray[np.int64]


class Claims(NamedTuple):
    """The records of a partition, as the choice of each person's records sees them."""

    persons: NDArray[np.uint64]
    contents: Addresses

    def buckets(self, n: int) -> NDArray[np.int64]:
        """Where all records of a person meet: a number below n for each record."""
        spread = (self.persons * _SPREAD) >> np.uint64(32)
        return (spread % np.uint64(n)).astype(np.int64)

    def chosen(self, most: int, coins: Coins) -> Rows:
        """Those rows that are kept; all records of each person must be here."""
        return kept_rows(self.persons, self.contents, most, coins)


_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # ids that follow each other go to different buckets


def look(reading: Reading, number: Number, part: Any) -> Partition:
    """Check all values of a partition, and say what it is; its place is not known yet."""
    n_rows = nw.from_native(part, eager_only=True).shape[0]
    content, persons = Frozen(n_rows), Frozen(n_rows)
    if n_rows:
        reading.check(part)
        reading.frozen_frame(part, content)
        if reading.groups is not None:
            persons.check(n_rows, reading.persons(part)[0])
    return Partition(number, 0, content, persons)


def in_order(looked: list[Partition]) -> list[Partition]:
    """Partitions that have records, in the order of their numbers, each with its place."""
    placed, first = [], 0
    for partition in sorted(looked, key=lambda one: one.number):
        if partition.content.n_rows:
            placed.append(replace(partition, first=first))
        first += partition.content.n_rows
    return placed


def claim(reading: Reading, partition: Partition, part: Any) -> Claims:
    """The persons of a partition and what their records say, if both are as they were."""
    claims = Claims(*reading.persons(part))
    partition.persons.check(len(claims.persons), claims.persons)
    partition.content.check(len(claims.contents), claims.contents)
    return claims


class Kept(NamedTuple):
    """A partition where it is kept, brought up to recipes."""

    partition: Partition
    shard: Shard

    def __sizeof__(self) -> int:
        """What an engine reckons with when it thinks of sending it somewhere."""
        arrays = (array for array in self.shard.block if array is not None)
        return 1000 + sum(array.nbytes for array in arrays)


def make(
    reading: Reading, partition: Partition, state: State, part: Any, keep: Rows | None = None
) -> Kept:
    """Read a partition, which must be as it was, and bin its records."""
    frame = reading.frozen_frame(part, partition.content)
    shard = Shard(reading.target(part), None, partition.first, 1, reading.weight(part))
    if keep is not None:
        shard.keep(keep)
    shard.add(state, RecordCount(), np.zeros(1, np.int64), frame)
    return Kept(partition, shard)


def answer(kept: Kept | Failure, state: State, statistic: Statistic) -> Answer:
    """What a partition adds to a total, or why it cannot."""
    if isinstance(kept, Failure):
        return Answer(failure=kept)
    partition, shard = kept
    total = np.zeros(statistic.shape, np.int64)
    try:
        if shard.needs_values(state):
            return Answer(blank=(partition.number,))
        shard.add(state, statistic, total)
    except BehindError:
        return Answer(behind=(partition.number,))
    except Exception as error:
        return Answer(failure=Failure.of(error))
    return Answer(total, ((partition.number, partition.content),))


def require_types(part: Any, types: dict[str, ColumnType]) -> None:
    """SchemaError when a column is not of the type that the source declares."""
    names = tuple(nw.from_native(part, eager_only=True).columns)
    found = table_types(part, names)
    for name, declared in types.items():
        if name not in names:
            raise SchemaError(
                f"a partition has no column {name!r}, which others have: write all parts of the "
                "source with the same columns"
            )
        if found.get(name) != declared:
            raise SchemaError(
                f"column {name!r} has another type in a partition than the source declares: "
                "convert it, so that all partitions have the same types"
            )
