"""What boosting asks of records: sums of derivatives, by leaves of trees, by bins or by scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.losses import IntegerLoss
from dpforest.records import gradient_kernels
from dpforest.records.blocks import NO_WEIGHTS, Block, front
from dpforest.tables import routing_kernels
from dpforest.trees.oblivious import ObliviousTrees

DERIVATIVES_AT_ONCE = 1 << 16  # numbers that stay in the cache; calls and threads cost, too


@dataclass(frozen=True)
class GradientSums:
    """The gradient and Hessian of the loss of each record, in its leaf of each oblivious tree.

    Where records have weights, both are multiplied by the record's, after clipping.

    Parameters
    ----------
    trees : ObliviousTrees
    loss : IntegerLoss
        The loss, and the integer grid of its derivatives.
    """

    trees: ObliviousTrees
    loss: IntegerLoss

    @property
    def shape(self) -> tuple[int, ...]:
        """Trees by leaves by outputs by 2: gradient, Hessian."""
        return (self.trees.n_trees, self.trees.n_leaves, self.loss.n_outputs, 2)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the gradients and Hessians, on the integer grid of the loss."""
        trees = self.trees.routing_arrays

        def find(piece: Block, leaves: NDArray[np.uint8]) -> None:
            routing_kernels.find_oblivious_leaves(piece.bins.T, trees, leaves)

        _add_gradients(block, self.loss, self.trees.n_trees, find, total)


@dataclass(frozen=True)
class GradientHistograms:
    """The gradient and Hessian of the loss of each record, in its bin of each feature.

    A record adds the same integers to one bin of every feature; their norm is at most
    ``loss.grid``.

    Parameters
    ----------
    n_features : int
        The first so many.
    loss : IntegerLoss
    """

    n_features: int
    loss: IntegerLoss

    @property
    def shape(self) -> tuple[int, ...]:
        """Features by bins by outputs by 2: gradient, Hessian."""
        return (self.n_features, gradient_kernels.LEAVES, self.loss.n_outputs, 2)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the gradients and Hessians: a feature is a tree, and its bins are the leaves."""

        def find(piece: Block, leaves: NDArray[np.uint8]) -> None:
            leaves[:] = piece.bins.T[: self.n_features]

        _add_gradients(block, self.loss, self.n_features, find, total)


@dataclass(frozen=True)
class GradientsByScore:
    """The gradient and Hessian of the loss of each record, in the cell of its score.

    A record adds its integers, of norm at most ``loss.grid``, to one cell.

    Parameters
    ----------
    edges : tuple of float
        Between the cells, in ascending order.
    loss : IntegerLoss
        Of one output.
    """

    edges: tuple[float, ...]
    loss: IntegerLoss

    @property
    def shape(self) -> tuple[int, ...]:
        """One tree by cells by one output by 2: gradient, Hessian."""
        return (1, len(self.edges) + 1, self.loss.n_outputs, 2)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the gradients and Hessians: the cells are the leaves of one tree."""

        def find(piece: Block, leaves: NDArray[np.uint8]) -> None:
            assert piece.scores is not None
            leaves[0] = np.searchsorted(self.edges, piece.scores[0])

        _add_gradients(block, self.loss, 1, find, total)


def _add_gradients(
    block: Block,
    loss: IntegerLoss,
    n_trees: int,
    find_leaves: Callable[[Block, NDArray[np.uint8]], None],
    total: NDArray[np.int64],
) -> None:
    """Add gradients and Hessians on the integer grid of the loss, in the leaves that are found."""
    n_outputs = loss.n_outputs
    n_rows = max(gradient_kernels.WIDE_BLOCK, DERIVATIVES_AT_ONCE // n_outputs)
    most = min(n_rows, len(block.target))
    numbers, curvatures = np.empty(n_outputs * most), np.empty(most)
    bytes_, limits = np.empty(n_trees * most, np.uint8), loss.limits
    for piece in block.pieces(n_rows):
        assert piece.scores is not None
        n = len(piece.target)
        slopes, leaves = front(numbers, n_outputs, n), front(bytes_, n_trees, n)
        loss.loss.derivatives(piece.scores, piece.target, slopes, curvatures[:n])
        find_leaves(piece, leaves)
        weights = NO_WEIGHTS if piece.weight is None else piece.weight
        gradient_kernels.sum_gradients(
            slopes, curvatures[:n], weights, limits, loss.norm, leaves, total
        )
