"""What executors of Spark do with blocks of records, as functions over batches of Arrow.

Between jobs a block is a row of a frame that Spark keeps: its number, and its arrays as bytes.
Errors are values: Spark would run a task that raises four times, and write what it says into its
logs. The number of a partition is that of the task that reads it, so no job over the source may put
several partitions into a task (``coalesce``).
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import TaskContext

from dpforest.exceptions import SourceChangedError
from dpforest.records import remote, spark_memory
from dpforest.records.answers import Answer, Failure, Number, Partition, add_up
from dpforest.records.content import CHANGED, Frozen
from dpforest.records.reading import Reading
from dpforest.records.recipes import BehindError, State
from dpforest.records.statistics import RecordCount, Statistic
from dpforest.records.stores import Persons
from dpforest.tables.streams import regrouped

BLOCK_ROWS = 1 << 18
KEPT = "partition int, block int, kept binary"
CLAIMED = "partition int, block int, row int, person long, content long"
CHOSEN = "partition int, block int, rows binary"
Batches = Iterator[Any]


def look(reading: Reading, batches: Batches) -> Batches:
    """Check all values, and say what every block is."""

    def looked(number: Number, block: Any) -> Partition | Failure:
        try:
            return remote.look(reading, number, block)
        except Exception as error:
            return Failure.of(error)

    yield _one([pickle.dumps([looked(number, block) for number, block in _blocks(batches)])])


def make(
    reading: Reading, partitions: dict[Number, Partition], state: State, batches: Batches
) -> Batches:
    """Read blocks, which must be as they were, and bin their records."""
    for number, block in _blocks(batches):
        try:
            if number not in partitions:
                raise SourceChangedError(CHANGED)
            made: Any = remote.make(reading, partitions[number], state, block)
        except Exception as error:
            made = Failure.of(error)
        yield _kept(number, made)


def keep(chosen: dict[Number, Frozen], batches: Batches) -> Batches:
    """Keep of every block the rows that were chosen, which must be those of the first time."""
    for number, kept, rows in _rows(batches):
        made = _load(kept)
        if isinstance(made, remote.Kept):
            places = [np.frombuffer(some, np.uint32) for some in rows or []]
            chosen_rows = np.sort(np.concatenate([np.empty(0, np.uint32), *places])).astype(
                np.int64
            )
            try:
                chosen[number].check(len(chosen_rows), chosen_rows.view(np.uint64))
                made.shard.keep(chosen_rows)
            except Exception as error:
                made = Failure.of(error)
        yield _kept(number, made)


def advance(state: State, batches: Batches) -> Batches:
    """Bring blocks up to recipes; those that need their values for it stay as they are."""
    for number, kept in _rows(batches):
        made = _load(kept)
        if isinstance(made, remote.Kept):
            try:
                if not made.shard.needs_values(state):
                    made.shard.add(state, RecordCount(), np.zeros(1, np.int64))
            except BehindError:
                pass
            except Exception as error:
                made = Failure.of(error)
        yield _kept(number, made)


def answer(fit: str, state: State, statistic: Statistic, batches: Batches) -> Batches:
    """What all blocks of a task add to a total."""
    spark_memory.settle()
    found = Answer()
    for number, kept in _rows(batches):
        made = _load(kept)
        if isinstance(made, remote.Kept):
            spark_memory.recall(fit, number, made.shard, state)
        one = remote.answer(made, state, statistic)
        if isinstance(made, remote.Kept) and one.total is not None:
            spark_memory.remember(fit, number, made.shard)
        found = add_up([found, one])
    yield _one([pickle.dumps(found)])


def together(batches: Batches) -> Batches:
    """Several answers as one."""
    answers = [pickle.loads(_bytes(one)) for batch in batches for one in batch.column(0)]
    yield _one([pickle.dumps(add_up(answers))])


def claim(reading: Reading, partitions: dict[Number, Partition], batches: Batches) -> Batches:
    """Every record's person and what it says; a block that has changed has the number -1."""
    for number, block in _blocks(batches):
        try:
            claims = remote.claim(reading, partitions[number], block)
        except Exception:
            number, claims = (-1, -1), remote.Claims(np.zeros(1, np.uint64), np.zeros(1, np.uint64))
        n = len(claims.persons)
        columns = (
            np.full(n, number[0], np.int32),
            np.full(n, number[1], np.int32),
            np.arange(n, dtype=np.int32),
            claims.persons.view(np.int64),
            claims.contents.view(np.int64),
        )
        names = ["partition", "block", "row", "person", "content"]
        yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names)


def choose(persons: Persons, batches: Batches) -> Batches:
    """Of each person the records that are kept, by block; a task has all records of its persons."""
    parts = [[column.to_numpy() for column in batch.columns] for batch in batches]
    if not parts:
        return
    partition, block, row, person, content = map(np.concatenate, zip(*parts, strict=True))
    claims = remote.Claims(person.view(np.uint64), content.view(np.uint64))
    kept = claims.chosen(persons.most, persons.coins)
    kept = kept[np.lexsort((block[kept], partition[kept]))]
    numbers = np.column_stack([partition[kept], block[kept]])
    starts = np.flatnonzero(np.r_[True, (numbers[1:] != numbers[:-1]).any(axis=1)])
    for number, rows in zip(numbers[starts], np.split(row[kept], starts[1:]), strict=True):
        yield _row(number, rows.astype(np.uint32).tobytes(), "rows")


def digest(batches: Batches) -> Batches:
    """What was chosen of every block, as the driver keeps it in mind."""
    found: list[tuple[Number, Frozen]] = []
    for number, rows in _rows(batches):
        places = _places(rows)
        frozen = Frozen(len(places))
        frozen.check(len(places), places)
        found.append((number, frozen))
    yield _one([pickle.dumps(found)])


def _places(rows: list[bytes]) -> NDArray[np.uint64]:
    """The rows that were chosen of a block, of all tasks that chose, in order."""
    parts = [np.frombuffer(some, np.uint32) for some in rows]
    return np.sort(np.concatenate([np.empty(0, np.uint32), *parts])).astype(np.uint64)


def _blocks(batches: Batches) -> Iterator[tuple[Number, Any]]:
    """The blocks of the partition that a task reads, with their numbers."""
    context = TaskContext.get()
    assert context is not None
    tables = (pa.Table.from_batches([batch]) for batch in batches if batch.num_rows)
    for i, block in enumerate(regrouped(tables, BLOCK_ROWS)):
        yield (context.partitionId(), i), block.to_native()


def _rows(batches: Batches) -> Iterator[Any]:
    """The rows of a frame of blocks: the number, then all other columns."""
    for batch in batches:
        for i in range(batch.num_rows):
            partition, block, *others = (column[i] for column in batch.columns)
            yield (partition.as_py(), block.as_py()), *(_bytes(other) for other in others)


def _bytes(value: Any) -> Any:
    return value.as_buffer() if isinstance(value, pa.BinaryScalar) else value.as_py()


def _load(kept: Any) -> remote.Kept | Failure:
    made, scores, has = pickle.loads(kept)
    if isinstance(made, remote.Kept):
        made.shard.block = made.shard.block._replace(scores=scores)
        made.shard.has = has
    return made  # type: ignore[no-any-return]


def _kept(number: Iterable[int], made: remote.Kept | Failure) -> Any:
    if isinstance(made, Failure):
        return _row(number, pickle.dumps((made, None, None)), "kept")
    shard = made.shard
    return _row(number, pickle.dumps((made, shard.block.scores, shard.has)), "kept")


def _row(number: Iterable[int], value: bytes, name: str) -> Any:
    partition, block = (pa.array([int(one)], pa.int32()) for one in number)
    return pa.RecordBatch.from_arrays(
        [partition, block, pa.array([value], pa.binary())], ["partition", "block", name]
    )


def _one(values: list[bytes]) -> Any:
    return pa.RecordBatch.from_pydict({"answer": pa.array(values, pa.binary())})
