"""What a linear model asks of records: the direction in which each would turn its weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.losses import IntegerLoss
from dpforest.records import linear_kernels
from dpforest.records.blocks import NO_WEIGHTS, Block, front
from dpforest.trees.linear import LinearDesign

ROWS_AT_ONCE = 1 << 12


@dataclass(frozen=True)
class LinearSums:
    """The gradient of the loss of each record times its row of a linear model.

    Where records have weights, both are multiplied by the record's, after clipping. The
    integers of a record have an L2 norm of at most ``loss.grid``: a record adds to the weights
    of its own bins and to the constant, and to each of these once, as no two features share a
    weight (`LinearDesign` refuses that).

    Parameters
    ----------
    design : LinearDesign
    loss : IntegerLoss
        With norm 2 and no Hessian.
    """

    design: LinearDesign
    loss: IntegerLoss

    def __post_init__(self) -> None:
        if self.loss.norm != 2 or self.loss.hessian_part != 0:
            raise ValueError("a linear model needs a loss bounded in L2, without Hessians")

    @property
    def shape(self) -> tuple[int, ...]:
        """Outputs by weights."""
        return (self.loss.n_outputs, self.design.n_weights)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the directions, on the integer grid of the loss."""
        design, loss = self.design, self.loss
        most = min(ROWS_AT_ONCE, len(block.target))
        numbers, curvatures = np.empty(loss.n_outputs * most), np.empty(most)
        limits = loss.gradient_unit, loss.clip, float(loss.grid**2)
        for piece in block.pieces(ROWS_AT_ONCE):
            assert piece.scores is not None
            n = len(piece.target)
            slopes = front(numbers, loss.n_outputs, n)
            loss.loss.derivatives(piece.scores, piece.target, slopes, curvatures[:n])
            weights = NO_WEIGHTS if piece.weight is None else piece.weight
            rows = piece.bins.T, design.place, design.size, design.constant
            linear_kernels.sum_directions(slopes, weights, *rows, limits, total)
