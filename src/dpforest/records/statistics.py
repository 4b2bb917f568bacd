"""What can be asked of records: the total, over all of them, of something about each one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.records import counting_kernels, histogram_kernels
from dpforest.records.blocks import Block, seen_leaves
from dpforest.trees.structure import Forest, Sampling


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
class WeightSum:
    """The weight of each record, in whole steps of which the largest weight has so many."""

    steps: int

    @property
    def shape(self) -> tuple[int, ...]:
        """One number."""
        return (1,)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the weights, each cut off to whole steps."""
        assert block.weight is not None
        steps = np.clip(np.trunc(block.weight * self.steps), 0, self.steps)
        total[0] += int(steps.astype(np.int64).sum())


@dataclass(frozen=True)
class LeafClassCounts:
    """1 for each record in its leaf and class, in every tree that sees it.

    Parameters
    ----------
    forest : Forest
    n_classes : int
    sampling : Sampling
        Which trees see a record.
    """

    forest: Forest
    n_classes: int
    sampling: Sampling

    @property
    def shape(self) -> tuple[int, ...]:
        """Leaves by classes."""
        return (self.forest.n_leaves, self.n_classes)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the records of each class in each leaf."""
        for piece, leaves, times in seen_leaves(block, self.forest, self.sampling):
            counting_kernels.count_classes(leaves, times, piece.target, total)


Grid = tuple[float, float, float]
NO_GRID: Grid = (0.0, 0.0, 0.0)  # of classes


@dataclass(frozen=True)
class TargetGrid:
    """A target as whole steps above a lower bound; ``steps`` of them up to the upper one.

    Targets outside of the bounds count as the bounds.
    """

    low: float
    high: float
    steps: int

    @property
    def scale(self) -> float:
        """Steps in a unit of the target."""
        return self.steps / (self.high - self.low)

    @property
    def numbers(self) -> Grid:
        """What compiled code reads: the lower bound, steps in a unit, the most steps."""
        return self.low, self.scale, float(self.steps)


@dataclass(frozen=True)
class NodeHistograms:
    """Each record in the bins of the candidate features of its leaves: what a split is chosen by.

    Parameters
    ----------
    forest : Forest
        The trees so far; their leaves are the nodes that may be split.
    candidates : ndarray of int32, shape (n_leaves, n_candidates)
        The features that a leaf may ask for; -1 for none.
    n_bins : int
        Room for this many bins a feature.
    leaves : range
        The leaves to look at.
    target : int or TargetGrid
        The number of classes, or how the target is counted.
    sampling : Sampling
        Which trees see a record.
    """

    forest: Forest
    candidates: NDArray[np.int32]
    n_bins: int
    leaves: range
    target: int | TargetGrid
    sampling: Sampling

    @property
    def shape(self) -> tuple[int, ...]:
        """Leaves by candidates by bins by classes, or by 2: records, sum of targets."""
        numbers = 2 if isinstance(self.target, TargetGrid) else self.target
        return (len(self.leaves), self.candidates.shape[1], self.n_bins, numbers)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the records of each bin."""
        grid = self.target.numbers if isinstance(self.target, TargetGrid) else NO_GRID
        first = self.leaves.start
        for piece, leaves, times in seen_leaves(block, self.forest, self.sampling):
            histogram_kernels.node_histograms(
                leaves, times, piece.bins, piece.target, self.candidates, first, grid, total
            )


@dataclass(frozen=True)
class LeafSums:
    """1 and the target of each record, in steps, in its leaf of every tree that sees it."""

    forest: Forest
    target: TargetGrid
    sampling: Sampling

    @property
    def shape(self) -> tuple[int, ...]:
        """Leaves by 2: records, sum of targets."""
        return (self.forest.n_leaves, 2)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the records and their targets."""
        for piece, leaves, times in seen_leaves(block, self.forest, self.sampling):
            histogram_kernels.leaf_sums(leaves, times, piece.target, self.target.numbers, total)


@dataclass(frozen=True)
class BinCounts:
    """1 for each record in its bin of each of some features.

    Parameters
    ----------
    features : tuple of int
    n_bins : int
        Room for this many bins a feature.
    """

    features: tuple[int, ...]
    n_bins: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Features by bins."""
        return (len(self.features), self.n_bins)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the records of each bin."""
        for row, feature in zip(total, self.features, strict=True):
            counting_kernels.count_bins(block.bins[:, feature], row)


@dataclass(frozen=True)
class TargetCounts:
    """1 for each record in the cell of its target, among equal cells of a range."""

    low: float
    high: float
    cells: int

    @property
    def shape(self) -> tuple[int, ...]:
        """One number a cell."""
        return (self.cells,)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the records of each cell."""
        TargetCells(np.linspace(self.low, self.high, self.cells + 1)[1:-1]).add(block, total)


@dataclass(frozen=True, eq=False)
class TargetCells:
    """1 for each record in the cell of its target, between some edges and beyond them."""

    edges: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, ...]:
        """One number a cell."""
        return (len(self.edges) + 1,)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the records of each cell; an edge belongs to the cell below."""
        total += np.bincount(np.searchsorted(self.edges, block.target), minlength=len(total))
