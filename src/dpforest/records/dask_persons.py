"""The choice of each person's records on a cluster of Dask, without collecting them.

The records of a person meet in one of a few buckets, as 24 bytes each, and the rows that are kept
go back to their partitions. Every step follows from the partitions, which are compared with what
they were, and from the key of the coins: done again after a loss, it chooses the same records.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed

from dpforest.records import remote
from dpforest.records.answers import Failure, Number, Roll
from dpforest.records.dask_tasks import persisted, results
from dpforest.records.reading import Reading
from dpforest.records.stores import Persons

MOST_BUCKETS = 32
Share = remote.Claims | Failure


def choose_records(
    roll: Roll, parts: Mapping[Number, Delayed], reading: Reading, persons: Persons
) -> dict[Number, Delayed]:
    """The rows to keep of each partition, kept on the workers; raises what is wrong before."""
    n = min(len(parts), MOST_BUCKETS)
    claims = [
        delayed(_claim, pure=False)(part, pickle.dumps((reading, roll.partitions[number], n)))
        for number, part in parts.items()
    ]
    message = pickle.dumps((persons.most, persons.coins))
    chosen = [
        delayed(_choose, pure=False)([claim[b] for claim in claims], message) for b in range(n)
    ]
    rows = [
        delayed(_together, pure=False)([of_bucket[i] for of_bucket in chosen])
        for i in range(len(parts))
    ]
    kept = persisted(rows)
    results([delayed(_trouble, pure=False)(one) for one in kept])
    return dict(zip(parts, kept, strict=True))


def _claim(part: Any, message: bytes) -> list[Any]:
    """The claims of a partition with their rows, by bucket."""
    reading, partition, n = pickle.loads(message)
    try:
        claims = remote.claim(reading, partition, part)
    except Exception as error:
        return [Failure.of(error)] * n
    bucket = claims.buckets(n)
    rows = [np.flatnonzero(bucket == b) for b in range(n)]
    return [(remote.Claims(claims.persons[some], claims.contents[some]), some) for some in rows]


def _choose(shares: list[Any], message: bytes) -> list[Any]:
    """The rows that are kept of a bucket, by partition."""
    failure = _failure(shares)
    if failure is not None:
        return [failure] * len(shares)
    most, coins = pickle.loads(message)
    claims = [claim for claim, _ in shares]
    try:
        whole = remote.Claims(*map(np.concatenate, zip(*claims, strict=True)))
        chosen = whole.chosen(most, coins)
    except Exception as error:
        return [Failure.of(error)] * len(shares)
    ends = np.cumsum([len(rows) for _, rows in shares])
    parts = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    starts = ends - [len(rows) for _, rows in shares]
    return [
        rows[part - start] for (_, rows), part, start in zip(shares, parts, starts, strict=True)
    ]


def _together(rows: list[Any]) -> remote.Rows | Failure:
    """The rows that are kept of a partition, of all buckets, in order."""
    return _failure(rows) or np.sort(np.concatenate(rows))


def _trouble(rows: remote.Rows | Failure) -> Failure | None:
    return rows if isinstance(rows, Failure) else None


def _failure(values: list[Any]) -> Failure | None:
    return next((value for value in values if isinstance(value, Failure)), None)
