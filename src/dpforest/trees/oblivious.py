"""Oblivious trees: one question a level, asked of all records, so a leaf is a row of answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import stacked
from dpforest.trees import oblivious_kernels

MAX_DEPTH = 8  # a leaf number is one byte


@dataclass(frozen=True)
class ObliviousTrees:
    """Many oblivious trees as arrays; the values of their leaves are kept beside them.

    Level k of tree t asks feature ``feature[t, k]`` and sets bit k of the leaf number when the
    record's bin is among those that go right. Levels beyond ``depth[t]`` are not asked.

    Parameters
    ----------
    feature : ndarray of int32, shape (n_trees, max_depth)
        The feature asked at each level.
    goes_right : ndarray of bool, shape (n_trees, max_depth, 256)
        The bins that set the level's bit.
    depth : ndarray of int32, shape (n_trees,)
        The levels of each tree.
    """

    feature: NDArray[np.int32]
    goes_right: NDArray[np.bool_]
    depth: NDArray[np.int32]

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Leaf numbers go up to this: 2 to the largest depth."""
        return int(1 << self.depth.max(initial=0))

    @cached_property
    def routing_arrays(self) -> tuple[Any, ...]:
        """What compiled routing reads.

        The bins that go right are runs, which the processor tests for many records at once: one run
        where a cut or a range is asked, a second one of bins that are no values. Those of level k
        of tree t are number ``first[t, k]`` to ``first[t, k + 1]``: bins from ``low`` to
        ``low + span``. A table answers for single records.
        """
        n_trees, levels, n_bins = self.goes_right.shape
        first = np.empty((n_trees, levels + 1), np.int64)
        low, span = np.empty((2, n_trees * levels * n_bins // 2), np.uint8)
        n = oblivious_kernels.find_runs(self.goes_right, first, low, span)
        table = self.goes_right.view(np.uint8)
        return self.feature, first, low[:n].copy(), span[:n].copy(), table, self.depth

    def __getitem__(self, which: slice) -> ObliviousTrees:
        """Some of the trees."""
        return ObliviousTrees(self.feature[which], self.goes_right[which], self.depth[which])

    @classmethod
    def stack(cls, rounds: list[ObliviousTrees]) -> ObliviousTrees:
        """All trees of some rounds, shallower ones padded with levels that are not asked."""
        return cls(
            stacked([trees.feature for trees in rounds]),
            stacked([trees.goes_right for trees in rounds]),
            np.concatenate([trees.depth for trees in rounds]),
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, for saving."""
        packed = np.packbits(self.goes_right, axis=2, bitorder="little")
        return {"feature": self.feature, "goes_right": packed, "depth": self.depth}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> ObliviousTrees:
        """The trees that `to_arrays` took apart; ValueError when the arrays make no trees."""
        right = np.unpackbits(arrays["goes_right"], axis=2, bitorder="little").astype(np.bool_)
        trees = cls(arrays["feature"].astype(np.int32), right, arrays["depth"].astype(np.int32))
        n, levels = trees.feature.shape
        if (
            right.shape != (n, levels, 256)
            or trees.depth.shape != (n,)
            or not 0 <= trees.depth.min(initial=0) <= trees.depth.max(initial=0) <= levels
            or levels > MAX_DEPTH
            or trees.feature.min(initial=0) < 0
        ):
            raise ValueError("the arrays do not make oblivious trees: the file is damaged")
        return trees
