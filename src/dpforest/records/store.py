"""How a total over all records is taken, wherever the records are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpforest.records.blocks import Block, Members
from dpforest.records.statistics import Statistic
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
NewTrees = tuple[ObliviousTrees, NDArray[np.float32]]
"""Released oblivious trees and what their leaves add to scores."""
Result = TypeVar("Result")


class Records(NamedTuple):
    """Some records as a store holds them.

    Parameters
    ----------
    frame : Frame
        The features, in the order of the schema.
    target : ndarray
        Class codes or bounded targets, of the rows that are kept.
    keep : ndarray of int64, optional
        The rows of the frame to keep, where a person's records are bounded; all otherwise.
    weight : ndarray of float64, optional
        Weights from 0 to 1, of the rows that are kept.
    """

    frame: Frame
    target: NDArray[Any]
    keep: NDArray[np.int64] | None = None
    weight: NDArray[np.float64] | None = None


class RecordStore(ABC):
    """Records that can be binned, dealt out to trees, and totalled; never looked at one by one.

    A store says how its records are visited, block by block, and nothing else. What belongs to a
    record from one question to the next (its bins, its tree, its scores, the samples it is in) is
    kept here beside its target, a `Block` for each block of the store.

    Parameters
    ----------
    n_jobs : int, optional
        Threads.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self._n_jobs = n_jobs
        self._kept: list[Block] | None = None
        self._news: list[NewTrees] = []

    @abstractmethod
    def blocks(self) -> Iterator[Records]:
        """Visit the records: always the same blocks, in the same order, with the same rows."""

    @property
    def has_weights(self) -> bool:
        """Whether records have weights, apart from what these are."""
        return any(block.weight is not None for block in self._blocks)

    def encode(
        self, encoding: Encoding, *, by_feature: bool = False, only: Sequence[int] | None = None
    ) -> None:
        """Bin the records as the encoding says; totals are taken of binned records.

        Parameters
        ----------
        encoding : Encoding
        by_feature : bool
            Keep the bins of a feature together, as oblivious trees like them.
        only : sequence of int, optional
            The features to bin.
        """
        order: Literal["C", "F"] = "F" if by_feature else "C"
        if self._news:
            self._visit(lambda block: None)  # trees of the old bins

        def bins(records: Records) -> NDArray[np.uint8]:
            every = encoding.bins(records.frame, self._n_jobs, order=order, only=only)
            return every if records.keep is None else np.asarray(every[records.keep], order=order)

        self._kept = [
            block._replace(bins=bins(records))
            for block, records in zip(self._blocks, self.blocks(), strict=True)
        ]

    def start_scores(self, n_outputs: int) -> None:
        """Give every record a score of 0 for each output of a model to be boosted."""
        self._news = []
        self._kept = [
            block._replace(scores=np.zeros((n_outputs, len(block.target)), np.float32))
            for block in self._blocks
        ]

    def add_to_scores(self, trees: ObliviousTrees, values: NDArray[np.float32]) -> None:
        """Add released trees to the scores; ``values`` has shape (trees, outputs, leaves).

        It is done when records are visited next: one visit a round of boosting, not two.
        """
        self._news.append((trees, values))

    def deal(self, n_parts: int, draw: DrawBelow) -> None:
        """Give each record a part by a draw of its own: parts stay as others come and go."""
        self._kept = [
            block._replace(part=draw(n_parts, len(block.target)).astype(np.int32))
            for block in self._blocks
        ]

    def sample(
        self, n_trees: int, share: Fraction, joins: DrawJoins, known: Trained | None = None
    ) -> None:
        """Let each record join each tree with the probability ``share``, by coins of its own.

        A record that the trees already ``known`` classify well joins half as often.
        """

        def members(block: Block) -> Members:
            n = len(block.target)
            out_of, chances = share.denominator, np.full(n, share.numerator)
            if known is not None:
                out_of, chances = 2 * out_of, 2 * chances
                chances[self._classified_well(block, *known)] //= 2
            joined = np.empty((n, n_trees), np.uint8)
            for t in range(n_trees):
                joined[:, t] = joins(chances, out_of)
            return joined

        self._kept = [block._replace(members=members(block)) for block in self._blocks]

    def total(self, statistic: Statistic) -> NDArray[np.int64]:
        """The exact total of a statistic, for the desk only: a thread a run of rows."""
        total = np.zeros(statistic.shape, np.int64)
        for part in self._visit(lambda block: total_of(statistic, block)):
            total += part
        return total

    def _visit(self, work: Callable[[Block], Result]) -> list[Result]:
        """Do some work on all records, a thread for each run of rows, their scores brought up."""
        news, self._news = self._news, []
        results: list[Result] = []
        for block in self._blocks:

            def on_rows(rows: slice, block: Block = block) -> Result:
                some = block.rows(rows)
                for trees, values in news:
                    assert some.scores is not None
                    add_tree_values(trees, some.bins, values, some.scores, n_jobs=1)
                return work(some)

            results += map_rows(on_rows, len(block.target), self._n_jobs)
        return results

    @property
    def _blocks(self) -> list[Block]:
        """What is kept of the records; before they are binned, their targets only."""
        if self._kept is None:
            self._kept = [
                Block(_no_bins(records), records.target, weight=records.weight)
                for records in self.blocks()
            ]
        return self._kept

    def _classified_well(
        self, block: Block, forest: Forest, votes: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        says = add_leaf_values(forest, block.bins, votes, self._n_jobs).argmax(axis=1)
        return np.asarray(says == block.target)


def _no_bins(records: Records) -> NDArray[np.uint8]:
    return np.empty((len(records.target), 0), np.uint8)


def total_of(statistic: Statistic, block: Block) -> NDArray[np.int64]:
    """The total of a statistic over the records of one block."""
    total = np.zeros(statistic.shape, np.int64)
    statistic.add(block, total)
    return total
