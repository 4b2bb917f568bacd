"""Bootstrap samples, as printed: a record may be in a sample several times. Not private."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.literature.printed.tree_errors import wrong_trees
from dpforest.privacy.accounts.tree_sampling import TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.trees.structure import Forest


def draw_bootstrap_samples(
    desk: Desk, n_trees: int, known: tuple[Forest, NDArray[np.float64]] | None = None
) -> TreeSampling:
    """Let each tree draw as many records as there are, with replacement.

    Records are drawn in proportion to the trees already ``known`` that are wrong on them, all
    alike where no tree is wrong on any of them. Gives the sampling that is priced as printed: as if
    every tree saw every record once.
    """
    desk.draws.looked()
    store = desk._store
    borders = np.cumsum([0, *(len(block.target) for block in store._blocks)])
    n = int(borders[-1])
    weights = np.ones(n, np.int64)
    if known is not None:
        wrong = [wrong_trees(*known, block.bins, block.target) for block in store._blocks]
        weights = np.concatenate(wrong) if any(w.any() for w in wrong) else weights
    ends = np.cumsum(weights)
    times = np.empty((n, n_trees), np.int32)
    for t in range(n_trees):
        drawn = np.searchsorted(ends, desk.draws.below(int(ends[-1]), n), side="right")
        times[:, t] = np.bincount(drawn, minlength=n)
    parts = np.split(times, borders[1:-1])
    store._kept = [
        block._replace(members=part) for block, part in zip(store._blocks, parts, strict=True)
    ]
    desk._sampled = TreeSampling("without_replacement", n_trees, Fraction(1))
    return desk._sampled
