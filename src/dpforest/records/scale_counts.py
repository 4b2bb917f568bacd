"""What rules are chosen by: the records of each class in each cell of some scales."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.records import scale_kernels
from dpforest.records.blocks import Block
from dpforest.trees.scales import Scales


@dataclass(frozen=True)
class ScaleCounts:
    """1 for each record in its cell of each scale, by its class.

    Parameters
    ----------
    scales : Scales
    n_classes : int
    """

    scales: Scales
    n_classes: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Scales by cells by classes."""
        return (len(self.scales), int(self.scales.n_cells.max()), self.n_classes)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the records of each cell."""
        s = self.scales
        scale_kernels.count_cells(
            block.bins, block.target, s.feature, s.steps, s.divisor, s.n_cells, total
        )


@dataclass(frozen=True)
class RuleCounts:
    """1 for each record that a rule is right for, and 1 elsewhere for each other.

    Parameters
    ----------
    halved : Scales
        One scale, with a cell up to the cut of the rule and one above; or with one cell.
    labels : tuple of int
        The class of each cell.
    n_classes : int
    """

    halved: Scales
    labels: tuple[int, int]
    n_classes: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Right, wrong."""
        return (2,)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the records that the rule is right for, and the others."""
        cells = ScaleCounts(self.halved, self.n_classes)
        counts = np.zeros(cells.shape, np.int64)
        cells.add(block, counts)
        right = sum(int(counts[0, side, self.labels[side]]) for side in range(counts.shape[1]))
        total += np.array([right, int(counts.sum()) - right])
