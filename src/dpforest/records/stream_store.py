"""Records of a source that is read batch by batch: Parquet files, data sets, lazy frames.

The source is read when records are binned by other cuts, and every time it must give the records
it gave the first time. In between, what is needed of them (bins of a byte a value, targets,
scores) lies in a private file, block by block: memory does not grow with the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError, SourceChangedError
from dpforest.progress import watched
from dpforest.records.buckets import Buckets, rows_of
from dpforest.records.content import CHANGED
from dpforest.records.private_file import PrivateFile
from dpforest.records.reading import Reading
from dpforest.records.statistics import Statistic
from dpforest.records.store import RecordStore
from dpforest.records.stored_shard import Buffers, StoredShard
from dpforest.records.stores import Persons
from dpforest.tables.encode import Encoding
from dpforest.tables.frames import Frame
from dpforest.tables.sources import EMPTY, Source
from dpforest.tables.streams import blocks_of
from dpforest.tables.threads import count_threads, take_turns

Native = nw.DataFrame[Any]
LOOK_AHEAD = 4  # blocks


def open_store(
    source: Source, reading: Reading, persons: Persons | None, n_jobs: int | None
) -> StreamStore:
    """Read the target and check the columns; see `stores.open_source`."""
    return StreamStore(_Stream(source, reading), persons, n_jobs)


class StreamStore(RecordStore):
    """Records of a stream, kept in a private file.

    Parameters
    ----------
    stream : _Stream
    persons : Persons, optional
    n_jobs : int, optional
        Threads: each adds up blocks of its own.
    """

    def __init__(self, stream: _Stream, persons: Persons | None, n_jobs: int | None) -> None:
        super().__init__(stream.has_weights)
        self._stream, self._n_jobs = stream, n_jobs
        self._file = PrivateFile()
        self._shards = stream.first(self._file, persons)

    def close(self) -> None:
        """Give the disk back."""
        super().close()
        self._file.close()

    def encode(
        self, encoding: Encoding, *, by_feature: bool = False, only: Sequence[int] | None = None
    ) -> None:
        """Bin the records; all features at once, so that joined bins need no further reading."""
        super().encode(encoding, by_feature=by_feature)

    def total(self, statistic: Statistic) -> NDArray[np.int64]:
        """The exact total of a statistic, for the desk only: every block once."""
        workers = [_Worker(statistic) for _ in range(count_threads(self._n_jobs))]
        visits: Iterator[tuple[StoredShard, Native | None]]
        if any(shard.needs_values(self._state) for shard in self._shards):
            again = self._stream.again(self._shards)
            visits = watched(again, "reading", len(self._shards))
        else:
            visits = _with_a_look_ahead(self._shards)

        def work(worker: _Worker, visit: tuple[StoredShard, Native | None]) -> None:
            shard, block = visit
            frame = None if block is None else self._stream.frame(block, shard)
            shard.add(self._state, statistic, worker.total, worker.buffers, frame)

        take_turns(work, workers, visits)
        for worker in workers[1:]:
            workers[0].total += worker.total
        return workers[0].total


class _Worker:
    """What a thread has for itself: a total and memory for arrays."""

    def __init__(self, statistic: Statistic) -> None:
        self.total = np.zeros(statistic.shape, np.int64)
        self.buffers: Buffers = {}


class _Stream:
    """The columns of a source that a fit reads, block by block."""

    def __init__(self, source: Source, reading: Reading) -> None:
        self._source, self._reading = source, reading
        self.has_weights = reading.weights is not None

    def first(self, file: PrivateFile, persons: Persons | None) -> list[StoredShard]:
        """Check what types do not promise, and keep the targets; nothing is totalled."""
        buckets = None if persons is None else Buckets()
        shards: list[StoredShard] = []
        n_rows = 0
        columns = self._reading.first_columns(self._source)
        for block in watched(blocks_of(self._source, columns), "checking"):
            target, weight = self._reading.target(block), self._reading.weight(block)
            shards.append(StoredShard(file, target, n_rows, weight))
            self._reading.check(block)
            if set(self._reading.columns) <= set(columns):
                self._reading.frozen_frame(block, shards[-1].frozen)
            if buckets is not None:
                buckets.add(*self._reading.persons(block))
            n_rows += len(block)
        if not shards:
            raise SchemaError(EMPTY)
        if persons is not None and buckets is not None:
            bits = buckets.kept(persons.most, persons.coins)
            for shard in shards:
                shard.keep(rows_of(bits, shard.first, shard.frozen.n_rows))
        return shards

    def again(self, shards: list[StoredShard]) -> Iterator[tuple[StoredShard, Native]]:
        """Every shard with its block of the source; SourceChangedError for more or fewer."""
        blocks = blocks_of(self._source, self._reading.columns)
        for shard, block in zip_longest(shards, blocks):
            if shard is None or block is None:
                raise SourceChangedError(CHANGED)
            yield shard, block

    def frame(self, block: Native, shard: StoredShard) -> Frame:
        """The features of a block, if its records are those of the first time."""
        return self._reading.frozen_frame(block, shard.frozen)


def _with_a_look_ahead(shards: list[StoredShard]) -> Iterator[tuple[StoredShard, None]]:
    """Every shard, while the system already reads the one after the next."""
    for i, shard in enumerate(shards):
        for later in shards[i + LOOK_AHEAD : i + LOOK_AHEAD + 1]:
            later.expect()
        yield shard, None
