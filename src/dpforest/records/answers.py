"""What partitions answer to a question, and the roll that counts each of them exactly once.

Engines lose workers, run tasks again and run them twice. None of that may change a total: the sum
is taken of answers, never of side effects, each answer says which partitions are in it and what
they were when they were read, and a total is given out only when every partition is in it once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError, SourceChangedError
from dpforest.records.content import CHANGED, Frozen
from dpforest.tables.sources import EMPTY

Number = tuple[int, int]
"""A partition of the source, and a block of it."""

_OURS = {error.__name__: error for error in (SchemaError, SourceChangedError)}


class Failure(NamedTuple):
    """An error of a task, as a value: an engine would write the records at hand into its logs."""

    kind: str
    message: str = ""

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """What may be told of an error: the message only where it is ours and quotes no value."""
        kind = type(error).__name__
        return cls(kind, str(error) if kind in _OURS else "")

    def error(self) -> Exception:
        """The error, to be raised where the fit runs."""
        if self.kind in _OURS:
            return _OURS[self.kind](self.message)
        return RuntimeError(
            f"a task of the fit failed ({self.kind}): see that all workers have the same dpforest "
            "and enough memory for a partition; messages are withheld, as they may quote records"
        )


def engine_error(engine: str, error: Exception, advice: str) -> RuntimeError:
    """For what the engine itself says went wrong; its message may quote records."""
    return RuntimeError(
        f"{engine} could not finish a task of the fit ({type(error).__name__}): {advice}; "
        "messages are withheld, as they may quote records"
    )


@dataclass(frozen=True)
class Partition:
    """What the driver knows of a partition.

    Parameters
    ----------
    number : Number
    first : int
        The place of its first row in the whole table.
    content, persons : Frozen
        Its rows, and the persons of them, as they were when it was first read.
    """

    number: Number
    first: int
    content: Frozen
    persons: Frozen


@dataclass(frozen=True)
class Answer:
    """The total over some partitions, and who is in it.

    Parameters
    ----------
    total : ndarray of int64, optional
    counted : tuple
        The partitions in the total, each with what it was.
    behind : tuple of Number
        Those whose scores are older than the trees that were sent.
    blank : tuple of Number
        Those whose values must be read again.
    failure : Failure, optional
    """

    total: NDArray[np.int64] | None = None
    counted: tuple[tuple[Number, Frozen], ...] = ()
    behind: tuple[Number, ...] = ()
    blank: tuple[Number, ...] = ()
    failure: Failure | None = None


def add_up(answers: Iterable[Answer]) -> Answer:
    """Several answers as one."""
    together = list(answers)
    totals = [answer.total for answer in together if answer.total is not None]
    return Answer(
        np.sum(totals, axis=0, dtype=np.int64) if totals else None,
        tuple(one for answer in together for one in answer.counted),
        tuple(one for answer in together for one in answer.behind),
        tuple(one for answer in together for one in answer.blank),
        next((answer.failure for answer in together if answer.failure), None),
    )


class Roll:
    """All partitions of a source that have records, as they were when they were first read."""

    def __init__(self, partitions: Iterable[Partition]) -> None:
        listed = list(partitions)
        self.partitions = {partition.number: partition for partition in listed}
        if len(self.partitions) != len(listed):
            raise RuntimeError("two partitions have the same number: there is no total over them")
        if not listed:
            raise SchemaError(EMPTY)

    def accepted(self, answer: Answer) -> NDArray[np.int64]:
        """The total of an answer, if every partition is in it once and was what it had been."""
        if answer.failure is not None:
            raise answer.failure.error()
        numbers = [number for number, _ in answer.counted]
        if len(set(numbers)) != len(numbers):
            raise RuntimeError("a partition was counted twice: there is no total; fit again")
        if set(numbers) != set(self.partitions) or answer.total is None:
            raise SourceChangedError(CHANGED)
        for number, found in answer.counted:
            self.partitions[number].content.agree(found)
        return answer.total
