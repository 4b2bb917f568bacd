"""How well a model does on each record, as a mark from 0 to 1: what candidates are compared by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.records.blocks import Block
from dpforest.records.outcomes import class_outcomes, number_outcomes
from dpforest.records.store import DrawBelow
from dpforest.schema import Schema

WORST_ERROR = 0.25  # of the target's range: an error of so much, or more, has the mark 0


def marks_of(model: Any, X: Any, y: Any, schema: Schema, draw: DrawBelow) -> NDArray[np.float64]:
    """The mark of each record: 1 for a hit and 0 for a miss; for numbers by the absolute error.

    It depends on the record and the model alone, and lies between 0 and 1.
    """
    if schema.target is not None and schema.target.classes is None:
        low, high = schema.target_bounds
        pairs = number_outcomes(model, X, y, (low, high), one_by_one=False)
        error = np.abs(pairs[:, 0] - pairs[:, 1]) / (WORST_ERROR * (high - low))
        return np.asarray(1.0 - np.minimum(error, 1.0))
    outcomes = class_outcomes(model, X, y, schema.classes, draw, scores=False, one_by_one=False)
    return np.asarray(outcomes[:, 2])


@dataclass(frozen=True)
class MarkSums:
    """Of each record its mark, and what is missing to the best one, in steps of a grid.

    The two are not negative and add up to ``steps``: one record changes the pair by ``steps`` in
    L1 norm, and by at most that in L2 norm.

    Parameters
    ----------
    steps : int
        Steps of the grid in 1.
    """

    steps: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Two numbers."""
        return (2,)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the records; targets are marks."""
        marks = np.rint(self.steps * np.clip(block.target, 0.0, 1.0)).astype(np.int64)
        total[0] += marks.sum()
        total[1] += (self.steps - marks).sum()
