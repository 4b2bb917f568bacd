"""Where records are kept, and how a total over all of them is taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.records.statistics import Block, Members, Statistic
from dpforest.records.tree_errors import wrong_trees
from dpforest.tables.encode import Encoding
from dpforest.tables.frames import Frame
from dpforest.tables.routing import add_leaf_values, add_tree_values
from dpforest.tables.threads import map_rows
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.structure import Forest

DrawBelow = Callable[[int, int], NDArray[np.int64]]
"""``draw(m, size)``: that many independent uniform draws from 0, ..., m - 1."""
DrawJoins = Callable[[NDArray[np.int64], int], NDArray[np.bool_]]
"""``joins(chances, out_of)``: whether each record joins, by a coin of its chance in so many."""
Trained = tuple[Forest, NDArray[np.float64]]
"""Released trees and the votes of their leaves, shape (n_leaves, n_classes)."""


class RecordStore(Protocol):
    """Records that can be binned, dealt out to trees, and totalled; never looked at one by one."""

    def encode(
        self, encoding: Encoding, *, by_feature: bool = False, only: Sequence[int] | None = None
    ) -> None:
        """Bin the records, or only some features; totals are taken of binned records."""
        ...

    def start_scores(self, n_outputs: int) -> None:
        """Give every record a score of 0 for each output of a model to be boosted."""
        ...

    def add_to_scores(self, trees: ObliviousTrees, values: NDArray[np.float32]) -> None:
        """Add released trees to the scores; ``values`` has shape (trees, outputs, leaves)."""
        ...

    def deal(self, n_parts: int, draw: DrawBelow) -> None:
        """Give each record a part by a draw of its own: parts stay as others come and go."""
        ...

    def sample(
        self, n_trees: int, share: Fraction, joins: DrawJoins, known: Trained | None = None
    ) -> None:
        """Let each record join each tree with the probability ``share``, by draws of its own.

        A record that the trees already ``known`` classify well joins half as often.
        """
        ...

    def bootstrap(self, n_trees: int, draw: DrawBelow, known: Trained | None = None) -> None:
        """Let each tree draw as many records as there are, with replacement: not private.

        Records are drawn in proportion to the trees already ``known`` that are wrong on them.
        """
        ...

    def total(self, statistic: Statistic) -> NDArray[np.int64]:
        """The exact total of a statistic: for the desk only."""
        ...


class LocalStore:
    """Records in the memory of this machine.

    Parameters
    ----------
    frame : Frame
        The features, in the order of the schema.
    target : ndarray
        Class codes, or the bounded target.
    keep : ndarray of int64, optional
        The rows to keep, where a person's records are bounded; all rows otherwise.
    n_jobs : int, optional
        Threads.
    """

    def __init__(
        self,
        frame: Frame,
        target: NDArray[Any],
        keep: NDArray[np.int64] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self._frame = frame
        self._keep = keep
        self._target = target if keep is None else target[keep]
        self._n_jobs = n_jobs
        self._bins: NDArray[np.uint8] | None = None
        self._part: NDArray[np.int32] | None = None
        self._scores: NDArray[np.float32] | None = None
        self._members: Members | None = None

    def encode(
        self, encoding: Encoding, *, by_feature: bool = False, only: Sequence[int] | None = None
    ) -> None:
        """Bin the records as the encoding says.

        Parameters
        ----------
        encoding : Encoding
        by_feature : bool
            Keep the bins of a feature together, as oblivious trees like them.
        only : sequence of int, optional
            The features to bin.
        """
        order: Literal["C", "F"] = "F" if by_feature else "C"
        bins = encoding.bins(self._frame, self._n_jobs, order=order, only=only)
        if self._keep is not None:
            bins = np.asarray(bins[self._keep], order=order)
        self._bins = bins

    def start_scores(self, n_outputs: int) -> None:
        """Give every record a score of 0 for each output."""
        self._scores = np.zeros((n_outputs, len(self._target)), np.float32)

    def add_to_scores(self, trees: ObliviousTrees, values: NDArray[np.float32]) -> None:
        """Add released trees to the scores."""
        assert self._bins is not None
        assert self._scores is not None
        add_tree_values(trees, self._bins, values, self._scores, self._n_jobs)

    def deal(self, n_parts: int, draw: DrawBelow) -> None:
        """Give each record one of the parts, independently and uniformly."""
        self._part = draw(n_parts, len(self._target)).astype(np.int32)

    def sample(
        self, n_trees: int, share: Fraction, joins: DrawJoins, known: Trained | None = None
    ) -> None:
        """Let each record join each tree by a coin of its own."""
        n = len(self._target)
        out_of, chances = share.denominator, np.full(n, share.numerator)
        if known is not None:
            out_of, chances = 2 * out_of, 2 * chances
            chances[self._classified_well(*known)] //= 2
        joined = np.empty((n, n_trees), np.uint8)
        for t in range(n_trees):
            joined[:, t] = joins(chances, out_of)
        self._members = joined

    def bootstrap(self, n_trees: int, draw: DrawBelow, known: Trained | None = None) -> None:
        """Draw with replacement, all records alike where no tree is wrong on any of them."""
        n = len(self._target)
        weights = np.ones(n, np.int64)
        if known is not None:
            assert self._bins is not None
            wrong = wrong_trees(*known, self._bins, self._target)
            weights = wrong if wrong.any() else weights
        ends = np.cumsum(weights)
        times = np.empty((n, n_trees), np.int32)
        for t in range(n_trees):
            drawn = np.searchsorted(ends, draw(int(ends[-1]), n), side="right")
            times[:, t] = np.bincount(drawn, minlength=n)
        self._members = times

    def _classified_well(self, forest: Forest, votes: NDArray[np.float64]) -> NDArray[np.bool_]:
        assert self._bins is not None
        says = add_leaf_values(forest, self._bins, votes, self._n_jobs).argmax(axis=1)
        return np.asarray(says == self._target)

    def total(self, statistic: Statistic) -> NDArray[np.int64]:
        """Total the statistic over all records, a thread for each run of rows."""
        # Before records are binned they can only be counted, and their targets.
        bins = np.empty((len(self._target), 0), np.uint8) if self._bins is None else self._bins
        records = Block(bins, self._target, self._part, self._scores, self._members)

        def total_rows(rows: slice) -> NDArray[np.int64]:
            total = np.zeros(statistic.shape, np.int64)
            statistic.add(records.rows(rows), total)
            return total

        totals = map_rows(total_rows, len(self._target), self._n_jobs)
        for other in totals[1:]:
            totals[0] += other
        return totals[0]
