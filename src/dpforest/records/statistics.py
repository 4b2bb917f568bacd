"""What can be asked of records: the total, over all of them, of something about each one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.records import kernels
from dpforest.trees.structure import Forest


class Block(NamedTuple):
    """Some records, as arrays.

    Parameters
    ----------
    bins : ndarray of uint8, shape (n, n_features)
    target : ndarray, shape (n,)
        Class codes, or the bounded target of a regression.
    part : ndarray of int32, shape (n,), or None
        The tree to which a record was given, where trees see disjoint records.
    """

    bins: NDArray[np.uint8]
    target: NDArray[Any]
    part: NDArray[np.int32] | None

    def rows(self, which: slice) -> Block:
        """Some of the rows, without a copy."""
        part = None if self.part is None else self.part[which]
        return Block(self.bins[which], self.target[which], part)


class Statistic(Protocol):
    """Something about each record that adds up over records and over blocks of them."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the total."""
        ...

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the records of a block to a total."""
        ...


@dataclass(frozen=True)
class RecordCount:
    """1 for each record."""

    @property
    def shape(self) -> tuple[int, ...]:
        """One number."""
        return (1,)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the number of records."""
        total[0] += len(block.bins)


@dataclass(frozen=True)
class LeafClassCounts:
    """1 for each record in its leaf and class: in every tree, or in its own tree only.

    Parameters
    ----------
    forest : Forest
    n_classes : int
    disjoint : bool
        Whether a record counts only in the tree of its part.
    """

    forest: Forest
    n_classes: int
    disjoint: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Leaves by classes."""
        return (self.forest.n_leaves, self.n_classes)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the records of each class in each leaf."""
        arrays = self.forest.routing_arrays
        if self.disjoint:
            kernels.count_own_leaves(block.bins, block.target, block.part, *arrays, total)
        else:
            kernels.count_leaves(block.bins, block.target, *arrays, total)
