"""What can be asked of records: the total, over all of them, of something about each one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.records import histogram_kernels, kernels
from dpforest.records.losses import IntegerLoss
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.structure import Forest

Sampling = Literal["shared", "disjoint", "without_replacement", "bootstrap"]
"""Which records a tree sees: all of them, those dealt to it alone, or a sample of its own.

A bootstrap sample may hold a record several times, which no price here allows for: it is not
private, and for the printed variants only.
"""
SAMPLES: tuple[Sampling, ...] = ("without_replacement", "bootstrap")


Members = NDArray[np.uint8] | NDArray[np.int32]


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
    """

    bins: NDArray[np.uint8]
    target: NDArray[Any]
    part: NDArray[np.int32] | None = None
    scores: NDArray[np.float32] | None = None
    members: Members | None = None

    def rows(self, which: slice) -> Block:
        """Some of the rows, without a copy."""
        part = None if self.part is None else self.part[which]
        scores = None if self.scores is None else self.scores[:, which]
        members = None if self.members is None else self.members[which]
        return Block(self.bins[which], self.target[which], part, scores, members)


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
        arrays = self.forest.routing_arrays
        if self.sampling == "disjoint":
            kernels.count_own_leaves(block.bins, block.target, block.part, *arrays, total)
        elif self.sampling in SAMPLES:
            kernels.count_sampled_leaves(block.bins, block.target, block.members, *arrays, total)
        else:
            kernels.count_leaves(block.bins, block.target, *arrays, total)


@dataclass(frozen=True)
class TargetGrid:
    """A bounded target as whole steps above its lower bound; ``steps`` of them in its range."""

    low: float
    high: float
    steps: int

    @property
    def scale(self) -> float:
        """Steps in a unit of the target."""
        return self.steps / (self.high - self.low)


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
        grid = self.target if isinstance(self.target, TargetGrid) else None
        histogram_kernels.node_histograms(
            block.bins,
            block.target,
            *_seen(block, self.sampling),
            *self.forest.routing_arrays,
            self.candidates,
            self.leaves.start,
            grid.low if grid else 0.0,
            grid.scale if grid else 0.0,
            total,
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
        histogram_kernels.leaf_sums(
            block.bins,
            block.target,
            *_seen(block, self.sampling),
            *self.forest.routing_arrays,
            self.target.low,
            self.target.scale,
            total,
        )


def _seen(block: Block, sampling: Sampling) -> tuple[NDArray[np.int32], Members]:
    """The tree of each record and how often trees count it, each empty where it says nothing."""
    parts = np.empty(0, np.int32)
    members: Members = np.empty((0, 0), np.uint8)
    if sampling == "disjoint" and block.part is not None:
        parts = block.part
    if sampling in SAMPLES and block.members is not None:
        members = block.members
    return parts, members


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
            kernels.count_bins(block.bins[:, feature], row)


@dataclass(frozen=True)
class GradientSums:
    """The gradient and Hessian of the loss of each record, in its leaf of each oblivious tree.

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
        assert block.scores is not None
        kernels.sum_gradients(
            block.bins.T,
            block.target,
            block.scores,
            *self.loss.kernel_arguments,
            *self.trees.routing_arrays,
            total,
        )


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
        edges = np.linspace(self.low, self.high, self.cells + 1)[1:-1]
        total += np.bincount(np.searchsorted(edges, block.target), minlength=self.cells)
