"""Questions about a number that ask for a range: above one cut, and not above another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.structure import FeatureBins

RANGES = 0.5  # how often a range is asked for, next to a cut that promises as much
FOCUS = 3.0  # the power of what is promised


def draw_ends(
    cut_weights: Values, alone: Values, between: Values, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Where questions that begin at a cut end: at another one, or, -1, nowhere.

    A question that ends nowhere is a cut. What goes up and down along a feature, as it does with
    the hour of the day, a range tells in one question; what only rises, a cut tells better. Which
    it is follows from what both promise, learnt from released sums: post-processing, and free.

    Parameters
    ----------
    cut_weights : ndarray of float64, shape (n, n_cuts)
        How often a feature is cut at each place, before anything is learnt; adds up to 1.
    alone : ndarray of float64, shape (n,)
        What a question promises that ends nowhere.
    between : ndarray of float64, shape (n, n_cuts)
        What it promises if it ends at each place.
    rng : numpy.random.Generator

    Examples
    --------
    >>> weights, rng = np.full((1000, 4), 0.25), np.random.default_rng(0)
    >>> promise = np.repeat([[0.0, 0.1, 4.0, 0.1]], 1000, axis=0)
    >>> ends, times = np.unique(draw_ends(weights, np.ones(1000), promise, rng), return_counts=True)
    >>> int(ends[times.argmax()])
    2
    """
    promise, weights = np.empty((2, len(alone), between.shape[1] + 1))
    np.maximum(between, 0.0, out=promise[:, :-1])
    np.multiply(RANGES, cut_weights, out=weights[:, :-1])
    promise[:, -1], weights[:, -1] = alone, 1.0
    # In units of the best: powers cannot vanish.
    best = promise.max(axis=1, keepdims=True, initial=1e-300)
    up_to = np.cumsum(weights * (promise / best) ** FOCUS, axis=1)
    drawn = (up_to <= rng.random((len(alone), 1)) * up_to[:, -1:]).sum(axis=1)
    return np.where(drawn < between.shape[1], drawn, -1)


def ask_ranges(
    goes_right: NDArray[np.bool_], cut: NDArray[np.int64], end: NDArray[np.int64]
) -> None:
    """Turn questions, shape (n, n_bins), that begin at a cut into those that have an end, too."""
    low, high = np.minimum(cut, end)[:, None], np.maximum(cut, end)[:, None]
    bin_ = np.arange(goes_right.shape[1])
    asked = end >= 0
    goes_right[asked] = ((bin_ > low) & (bin_ <= high))[asked]


def ends_of(trees: ObliviousTrees, bins: FeatureBins) -> NDArray[np.int64]:
    """The cut at which each question ends, shape (n_trees, n_levels); -1 where it does nowhere."""
    last = bins.n_values[trees.feature] - 1
    n_bins = trees.goes_right.shape[2]
    values = trees.goes_right & (np.arange(n_bins) <= last[:, :, None])
    highest = n_bins - 1 - values[:, :, ::-1].argmax(axis=2)
    return np.where(highest < last, highest, -1)
