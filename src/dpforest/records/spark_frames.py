"""Frames of Spark that it keeps for a fit, and what jobs over them give back."""

from __future__ import annotations

import pickle
from contextlib import suppress
from typing import Any

from dpforest.records.answers import Failure, engine_error

_ADVICE = (
    "see that executors run a Python with dpforest and the same packages as here (PYSPARK_PYTHON), "
    "have memory for their blocks, and that the frame can be computed (X.show())"
)


ANSWER = "answer binary"


class Held:
    """The frames that Spark keeps for a fit, until they are given back."""

    def __init__(self) -> None:
        self._frames: list[Any] = []

    def hold(self, frame: Any) -> Any:
        """Have Spark keep what it computes for a frame, in memory or on its disks."""
        self._frames.append(frame.persist())
        return frame

    def give_back(self, *frames: Any) -> None:
        """Have Spark forget some frames; all of them when none is named."""
        for frame in [one for one in self._frames if not frames or one in frames]:
            self._frames.remove(frame)
            with suppress(Exception):  # the session may be gone, and the frame with it
                frame.unpersist()


def collected(answers: Any) -> list[Any]:
    """What tasks answer, on the driver; raises where one says that it failed."""
    try:
        rows = answers.collect()
    except Exception as error:
        raise engine_error("Spark", error, _ADVICE) from None
    found = [pickle.loads(row[0]) for row in rows]
    for failure in (one for some in found if isinstance(some, list) for one in some):
        if isinstance(failure, Failure):
            raise failure.error()
    return found
