"""The choice of each person's records on a cluster of Spark, without collecting them.

The records of a person meet in one task, by a shuffle of 28 bytes each, and the rows that are kept
go back to their blocks by a join. What was chosen of every block is digested once and compared
whenever it is used: a shuffle that is computed again, after a loss, must choose the same records.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from dpforest.exceptions import SourceChangedError
from dpforest.records import spark_tasks as tasks
from dpforest.records.answers import Number, Roll
from dpforest.records.content import CHANGED, Frozen
from dpforest.records.reading import Reading
from dpforest.records.spark_frames import ANSWER, Held, collected
from dpforest.records.stores import Persons

_NUMBER = ["partition", "block"]


class Choice(NamedTuple):
    """The rows to keep of each block, which Spark has, and a digest of them, for comparison."""

    rows: Any
    digests: dict[Number, Frozen]

    def applied_to(self, blocks: Any) -> Any:
        """The blocks with the rows that are kept."""
        # A broadcast would bring the rows to the driver.
        blocks = blocks.repartition(len(self.digests), *_NUMBER)
        joined = blocks.join(self.rows.hint("shuffle_hash"), _NUMBER, "left")
        return joined.mapInArrow(partial(tasks.keep, self.digests), tasks.KEPT)


def choose_records(
    parts: Any, roll: Roll, reading: Reading, persons: Persons, held: Held
) -> Choice:
    """Choose of each person's records; raises where the source has changed."""
    claims = parts.mapInArrow(partial(tasks.claim, reading, roll.partitions), tasks.CLAIMED)
    n = len(roll.partitions)  # as many tasks as blocks, so that a task has about as many records
    by_person = claims.repartition(n, "person")
    chosen = by_person.mapInArrow(partial(tasks.choose, persons), tasks.CHOSEN)
    by_block = chosen.repartition(n, *_NUMBER).groupBy(*_NUMBER).agg({"rows": "collect_list"})
    rows = held.hold(by_block.toDF(*_NUMBER, "rows"))
    digests = {number: Frozen(0) for number in roll.partitions}
    found = collected(rows.mapInArrow(tasks.digest, ANSWER))
    for number, frozen in (one for some in found for one in some):
        if number not in digests:
            raise SourceChangedError(CHANGED)
        digests[number] = frozen
    return Choice(rows, digests)
