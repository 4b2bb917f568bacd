"""Records on a cluster of Dask: bins and targets stay on the workers, totals come back.

Every partition is kept as one task's result, which the scheduler makes anew from the source when
its worker is lost. Scores are added to it in place and are no part of what is sent or spilled: a
shard without them says that it is behind, and is sent all released trees once more.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from dpforest.records import remote
from dpforest.records.answers import Answer, Failure, Number, Partition, Roll, add_up
from dpforest.records.dask_persons import choose_records
from dpforest.records.dask_tasks import persisted, results
from dpforest.records.reading import Reading
from dpforest.records.recipes import State
from dpforest.records.statistics import Statistic
from dpforest.records.store import RecordStore
from dpforest.records.stores import Persons
from dpforest.tables.dask_source import DaskSource
from dpforest.tables.encode import Encoding

ATTEMPTS = 5  # to have a total after losses
FAN_IN = 16  # answers that a task adds up, so that no process gets those of all partitions
SENT_ONCE = 1 << 18  # bytes; longer messages go to the workers once, and from there to others


def open_store(
    source: DaskSource, reading: Reading, persons: Persons | None, n_jobs: int | None
) -> DaskStore:
    """Check all partitions and say what they are; see `stores.open_source`."""
    return DaskStore(source, reading, persons)


class DaskStore(RecordStore):
    """Records on the workers of Dask; threads are those of the workers.

    Parameters
    ----------
    source : DaskSource
    reading : Reading
    persons : Persons, optional
    """

    def __init__(self, source: DaskSource, reading: Reading, persons: Persons | None) -> None:
        super().__init__(reading.weights is not None)
        columns = reading.all_columns
        parts = source.partitions(columns)
        self._reading = reading
        types = {name: kind for name, kind in source.types.items() if name in columns}
        tasks = [
            delayed(_look, pure=False)(part, pickle.dumps((reading, types, (i, 0))))
            for i, part in enumerate(parts)
        ]
        self._roll = Roll(remote.in_order(results(tasks)))
        self._parts = {number: parts[number[0]] for number in self._roll.partitions}
        self._keep: dict[Number, Delayed] = {}
        if persons is not None:
            self._keep = choose_records(self._roll, self._parts, reading, persons)
        self._shards: dict[Number, Delayed] = {}
        self._up_to = State()  # what every shard has

    def close(self) -> None:
        """Let the workers forget the records."""
        self._shards, self._keep, self._parts = {}, {}, {}

    def encode(
        self, encoding: Encoding, *, by_feature: bool = False, only: Sequence[int] | None = None
    ) -> None:
        """Bin the records; all features at once, so that joined bins need no further reading."""
        super().encode(encoding, by_feature=by_feature)

    def total(self, statistic: Statistic) -> NDArray[np.int64]:
        """The exact total of a statistic, for the desk only: every partition once."""
        answers: list[Answer] = []
        waiting, state = tuple(self._roll.partitions), self._state.since(self._up_to)
        for _ in range(ATTEMPTS):
            if not self._shards:
                self._read()
            found = self._ask(waiting, state, statistic)
            answers.append(replace(found, behind=(), blank=()))
            waiting, state = (*found.behind, *found.blank), self._state
            if not waiting:
                break
            if found.blank:
                self._shards = {}
        else:
            raise RuntimeError(
                "workers of Dask were lost again and again: there is no total; see that they have "
                "memory for their partitions, and fit again"
            )
        total = self._roll.accepted(add_up(answers))
        self._up_to = self._state
        return total

    def _read(self) -> None:
        """Have the workers read and bin their partitions, and keep them."""
        common = pickle.dumps((self._reading, self._state))
        tasks = [
            delayed(_make, pure=False)(
                part, self._keep.get(number), common, pickle.dumps(self._roll.partitions[number])
            )
            for number, part in self._parts.items()
        ]
        self._shards = dict(zip(self._parts, persisted(tasks), strict=True))

    def _ask(self, numbers: Iterable[Number], state: State, statistic: Statistic) -> Answer:
        """Add up what some partitions say, on the workers, by groups of a few."""
        message: Any = pickle.dumps((state, statistic))
        tasks = [self._shards[number] for number in numbers]
        if len(message) * len(tasks) > SENT_ONCE:
            message = delayed(message, pure=False)
        tasks = [delayed(_answer, pure=False)(shard, message) for shard in tasks]
        while len(tasks) > FAN_IN:
            groups = (tasks[i : i + FAN_IN] for i in range(0, len(tasks), FAN_IN))
            tasks = [delayed(add_up, pure=False)(group) for group in groups]
        return add_up(results(tasks))


def _look(part: Any, message: bytes) -> Partition | Failure:
    try:
        reading, types, number = pickle.loads(message)
        remote.require_types(part, types)
        return remote.look(reading, number, part)
    except Exception as error:
        return Failure.of(error)


def _make(
    part: Any, keep: remote.Rows | Failure | None, common: bytes, own: bytes
) -> remote.Kept | Failure:
    if isinstance(keep, Failure):
        return keep
    try:
        reading, state = pickle.loads(common)
        return remote.make(reading, pickle.loads(own), state, part, keep)
    except Exception as error:
        return Failure.of(error)


def _answer(kept: remote.Kept | Failure, message: bytes) -> Answer:
    state, statistic = pickle.loads(message)
    if isinstance(kept, remote.Kept):
        kept.shard.own_bins(state)  # the worker may be sending the old ones to another
    return remote.answer(kept, state, statistic)
