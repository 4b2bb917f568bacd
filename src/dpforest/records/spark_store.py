"""Records on a cluster of Spark: Spark keeps the bins, targets and scores, totals come back.

A *generation* is a frame of blocks brought up to recipes, which Spark keeps in memory or spills.
A question is one job over it, which brings copies of the blocks up to what was released since.
After so many rounds the next generation is kept instead, so that rounds do not become longer. Lost
blocks are made anew from the source, which must give the same records.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from dpforest.records import spark_tasks as tasks
from dpforest.records.answers import Answer, Roll, add_up
from dpforest.records.reading import Reading
from dpforest.records.recipes import State
from dpforest.records.remote import in_order
from dpforest.records.spark_frames import ANSWER, Held, collected
from dpforest.records.spark_persons import choose_records
from dpforest.records.statistics import Statistic
from dpforest.records.store import RecordStore
from dpforest.records.stores import Persons
from dpforest.tables.encode import Encoding
from dpforest.tables.spark_source import SparkSource

FAN_IN = 64  # answers that a task adds up, so that the driver does not get all of them
ROUNDS_KEPT = 20  # after which scores are kept
LINEAGE = 10  # generations that follow each other before one is made from the source


def open_store(
    source: SparkSource, reading: Reading, persons: Persons | None, n_jobs: int | None
) -> SparkStore:
    """Check all partitions and say what they are; see `stores.open_source`."""
    return SparkStore(source, reading, persons)


class SparkStore(RecordStore):
    """Records on the executors of Spark; threads are those of the executors.

    Parameters
    ----------
    source : SparkSource
    reading : Reading
    persons : Persons, optional
    """

    def __init__(self, source: SparkSource, reading: Reading, persons: Persons | None) -> None:
        super().__init__(reading.weights is not None)
        self._reading = reading
        self._name = uuid4().hex  # what tells this fit from others, where its scores are
        self._held = Held()
        self._close = weakref.finalize(self, self._held.give_back)
        # The same columns every time: which partitions there are may depend on them.
        self._parts = source.select(reading.all_columns)
        looked = collected(self._parts.mapInArrow(partial(tasks.look, reading), ANSWER))
        self._roll = Roll(in_order([one for some in looked for one in some]))
        self._choice = None
        if persons is not None:
            self._choice = choose_records(self._parts, self._roll, reading, persons, self._held)
        self._generation: Generation | None = None

    def close(self) -> None:
        """Let Spark forget the records."""
        self._close()

    def encode(
        self, encoding: Encoding, *, by_feature: bool = False, only: Sequence[int] | None = None
    ) -> None:
        """Bin the records; all features at once, so that joined bins need no further reading."""
        super().encode(encoding, by_feature=by_feature)

    def total(self, statistic: Statistic) -> NDArray[np.int64]:
        """The exact total of a statistic, for the desk only: every block once."""
        now = self._generation
        if now is None:
            now = self._read()
        elif now.is_old(self._state):
            now = self._follow(now)
        found = self._ask(now, statistic)
        if found.behind or found.blank:
            now = self._read()
            found = self._ask(now, statistic)
        total = self._roll.accepted(found)
        if now is not self._generation:
            # Only now, as the new one was made of it.
            self._held.give_back(self._generation and self._generation.frame)
            self._generation = now
        return total

    def _read(self) -> Generation:
        """Blocks that are read from the source, which must be as it was, and binned."""
        work = partial(tasks.make, self._reading, self._roll.partitions, self._state)
        frame = self._parts.mapInArrow(work, tasks.KEPT)
        if self._choice is not None:
            frame = self._choice.applied_to(frame)
        return Generation(self._held.hold(frame), self._state, 1)

    def _follow(self, old: Generation) -> Generation:
        """Blocks that are brought up to the recipes in force, from those of before."""
        if old.age == LINEAGE:
            return self._read()
        work = partial(tasks.advance, self._state.since(old.state))
        frame = old.frame.mapInArrow(work, tasks.KEPT)
        return Generation(self._held.hold(frame), self._state, old.age + 1)

    def _ask(self, now: Generation, statistic: Statistic) -> Answer:
        """Add up what all blocks say, those of a task on its executor."""
        work = partial(tasks.answer, self._name, self._state.since(now.state), statistic)
        answers = now.frame.mapInArrow(work, ANSWER)
        n_answers = len({partition for partition, _ in self._roll.partitions})
        if n_answers > FAN_IN:
            n_groups = -(-n_answers // FAN_IN)
            answers = answers.repartition(n_groups).mapInArrow(tasks.together, ANSWER)
        return add_up(collected(answers))


class Generation(NamedTuple):
    """Blocks that Spark keeps, and the recipes they are up to."""

    frame: Any
    state: State
    age: int

    def is_old(self, state: State) -> bool:
        """Whether bringing the blocks up to a state is too much to do again for every question."""
        for name in ("binning", "dealing", "sampling"):
            new, old = getattr(state, name), getattr(self.state, name)
            if new is not None and (old is None or new.number != old.number):
                return True
        scoring = state.since(self.state).scoring
        return scoring is not None and len(scoring.news) >= ROUNDS_KEPT
