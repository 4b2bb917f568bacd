"""Some records as arrays, and the leaves that trees see them in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpforest.tables import routing_kernels
from dpforest.trees.structure import Forest, Sampling

LEAVES_AT_ONCE = 1 << 17  # leaf numbers that stay in the second-level cache
FEWEST_ROWS = 1 << 10  # below this, calling compiled code costs more than the cache saves

Members = NDArray[np.uint8] | NDArray[np.int32]
Leaves = NDArray[np.uint32]
Number = TypeVar("Number", bound=np.generic)
ONCE: Members = np.empty((0, 0), np.uint8)
NO_WEIGHTS = np.empty(0)  # all are 1


class Block(NamedTuple):
    """Some records, as arrays.

    Parameters
    ----------
    bins : ndarray of uint8, shape (n, n_features)
    target : ndarray, shape (n,)
        Class codes, or the bounded target of a regression.
    part : ndarray of int32, shape (n,), or None
        The tree to which a record was given, where trees see disjoint records.
    scores : ndarray of float32, shape (n_outputs, n), or None
        What the released model says of each record so far, where a model is boosted.
    members : ndarray of integers, shape (n, n_trees), or None
        How often each tree counts a record, where trees draw samples of their own.
    weight : ndarray of float64, shape (n,), or None
        From 0 to 1, where records have weights.
    """

    bins: NDArray[np.uint8]
    target: NDArray[Any]
    part: NDArray[np.int32] | None = None
    scores: NDArray[np.float32] | None = None
    members: Members | None = None
    weight: NDArray[np.float64] | None = None

    def rows(self, which: slice | NDArray[np.int64]) -> Block:
        """Some of the rows, of a slice without a copy."""
        part = None if self.part is None else self.part[which]
        scores = None if self.scores is None else self.scores[:, which]
        members = None if self.members is None else self.members[which]
        weight = None if self.weight is None else self.weight[which]
        return Block(self.bins[which], self.target[which], part, scores, members, weight)

    def pieces(self, n_rows: int) -> Iterator[Block]:
        """All rows, so many at a time."""
        for start in range(0, len(self.target), n_rows):
            yield self.rows(slice(start, start + n_rows))


def front(buffer: NDArray[Number], n_rows: int, n: int) -> NDArray[Number]:
    """The front of a buffer as a table, in one piece: kernels are compiled for no other."""
    return buffer[: n_rows * n].reshape(n_rows, n)


def seen_leaves(
    block: Block, forest: Forest, sampling: Sampling
) -> Iterator[tuple[Block, Leaves, Members]]:
    """Piece by piece of a block: its leaves in the trees that see it, and how often they do.

    Yields
    ------
    piece : Block
    leaves : ndarray of uint32, shape (n_trees, n)
        One row only where every record has a tree of its own.
    times : ndarray of integers, shape (n, n_trees)
        Empty for once everywhere.
    """
    arrays = forest.routing_arrays
    n_trees = 1 if sampling == "disjoint" else forest.n_trees
    n_rows = max(FEWEST_ROWS, LEAVES_AT_ONCE // max(n_trees, 1))
    buffer = np.empty(n_trees * min(n_rows, len(block.target)), np.uint32)
    for piece in block.pieces(n_rows):
        leaves = front(buffer, n_trees, len(piece.target))
        times = ONCE
        if sampling == "shared":
            routing_kernels.find_leaves(piece.bins, arrays, leaves)
        elif sampling == "disjoint":
            assert piece.part is not None
            routing_kernels.find_own_leaves(piece.bins, piece.part, arrays, leaves)
        else:
            assert piece.members is not None
            times = piece.members
            routing_kernels.find_sampled_leaves(piece.bins, times, arrays, leaves)
        yield piece, leaves, times
