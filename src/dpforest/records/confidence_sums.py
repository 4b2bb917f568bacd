"""What calibration asks of records: how much surer than right the model is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.records import confidence_kernels
from dpforest.records.blocks import NO_WEIGHTS, Block


@dataclass(frozen=True)
class ConfidenceSums:
    """For each record: the probability of the class that scores speak for, less 1 if it is right.

    And, twice, by how much that probability grows when all scores are doubled. The integers of a
    record have an L2 norm of at most ``grid``; weights of records multiply them.

    Parameters
    ----------
    grid : int
        The steps in 1.
    """

    grid: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Excess, gain."""
        return (2,)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add both numbers of the records, on the integer grid."""
        assert block.scores is not None
        weights = NO_WEIGHTS if block.weight is None else block.weight
        limits = float(self.grid), float(self.grid**2)
        confidence_kernels.sum_confidence(block.scores, block.target, weights, *limits, total)
