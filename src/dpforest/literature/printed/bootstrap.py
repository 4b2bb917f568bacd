"""Bootstrap samples, as printed: a record may be in a sample several times. Not private."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.literature.printed.tree_errors import wrong_trees
from dpforest.privacy.accounts.tree_sampling import TreeSampling
from dpforest.privacy.desk import Desk, Draws
from dpforest.records.blocks import Block, Members
from dpforest.records.coins import Addresses
from dpforest.records.local import LocalStore
from dpforest.records.recipes import Binning, Trained
from dpforest.trees.structure import Forest


def draw_bootstrap_samples(
    desk: Desk, n_trees: int, known: tuple[Forest, NDArray[np.float64]] | None = None
) -> TreeSampling:
    """Let each tree draw as many records as there are, with replacement.

    Records are drawn in proportion to the trees already ``known`` that are wrong on them, all
    alike where no tree is wrong on any of them. Gives the sampling that is priced as printed: as if
    every tree saw every record once.
    """
    store = desk._store
    if not isinstance(store, LocalStore):
        raise TypeError(
            "bootstrap samples are drawn from the whole table at once: fit this forest on a table "
            "in memory"
        )
    drawn = Bootstrap(
        next(store._numbers), n_trees, desk.draws, known, store._state.binning if known else None
    )
    store._state = replace(store._state, sampling=drawn)
    desk._sampled = TreeSampling("without_replacement", n_trees, Fraction(1))
    return desk._sampled


@dataclass(frozen=True)
class Bootstrap:
    """Samples of all records of a table, which must be in one block: that of a store in memory."""

    number: int
    n_trees: int
    draws: Draws
    known: Trained | None
    binning: Binning | None

    def members(self, block: Block, addresses: Addresses, n_jobs: int | None) -> Members:
        """How often each tree drew each record."""
        n = len(block.target)
        weights = np.ones(n, np.int64)
        if self.known is not None:
            wrong = wrong_trees(*self.known, block.bins, block.target)
            weights = wrong if wrong.any() else weights
        ends = np.cumsum(weights)
        times = np.empty((n, self.n_trees), np.int32)
        for t in range(self.n_trees):
            drawn = np.searchsorted(ends, self.draws.below(int(ends[-1]), n), side="right")
            times[:, t] = np.bincount(drawn, minlength=n)
        return times
