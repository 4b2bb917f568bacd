"""Where released trees are wrong on the records: what some papers read without paying for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.records.blocks import Block
from dpforest.tables.routing import find_leaves
from dpforest.trees.structure import Forest

ROWS = 1 << 14  # looked at together: all votes of all trees on them fit into memory


@dataclass(frozen=True)
class ErrorsWithout:
    """The records on which the trees that are kept are wrong together, without each of them.

    Parameters
    ----------
    forest : Forest
    votes : ndarray of float64, shape (n_leaves, n_classes)
        What leaves add to the votes; the first class wins a tie.
    kept : ndarray of int64
        The trees that vote, without one of them at a time.
    """

    forest: Forest
    votes: Values
    kept: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, ...]:
        """One number for each of the trees that are kept."""
        return (len(self.kept),)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the errors of the records without each tree."""
        for rows in block.pieces(ROWS):
            votes = self.votes[find_leaves(self.forest, rows.bins, 1)[:, self.kept]]
            others = votes.sum(axis=1, keepdims=True) - votes
            total += (others.argmax(axis=2) != rows.target[:, np.newaxis]).sum(axis=0)


def wrong_trees(
    forest: Forest, votes: Values, bins: NDArray[np.uint8], target: NDArray[np.integer]
) -> NDArray[np.int64]:
    """For each record, the number of trees that are wrong on it by themselves."""
    says = votes.argmax(axis=1)
    wrong = np.zeros(len(target), np.int64)
    for start in range(0, len(target), ROWS):
        rows = slice(start, start + ROWS)
        labels = says[find_leaves(forest, bins[rows], 1)]
        wrong[rows] = (labels != target[rows, np.newaxis]).sum(axis=1)
    return wrong
