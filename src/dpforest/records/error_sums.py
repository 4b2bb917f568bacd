"""Sums of the errors of a model of numbers, on an integer grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.records.blocks import Block

N_SUMS = 5


@dataclass(frozen=True)
class ErrorSums:
    """1, the clipped error and its square, the target and its square, of each record in steps.

    Each of the five lies between -1 and 1 before it is put on the grid: the error and its square
    are measured in ``most``, the target in half its range, from the middle of it.

    Parameters
    ----------
    low, high : float
        The bounds of the target.
    most : float
        Where errors are clipped.
    steps : int
        Steps of the grid in 1.
    """

    low: float
    high: float
    most: float
    steps: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Five numbers."""
        return (N_SUMS,)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the records; targets are pairs of truth and prediction, within the bounds."""
        truth, predicted = block.target.T
        error = np.minimum(np.abs(truth - predicted) / self.most, 1.0)
        half = (self.high - self.low) / 2
        place = np.clip((truth - (self.low + half)) / half, -1.0, 1.0)
        parts = (np.ones(len(error)), error, error**2, place, place**2)
        total += [int(np.rint(self.steps * part).astype(np.int64).sum()) for part in parts]
