"""Questions about a number that ask for a range: above one cut, and not above another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.trees import drawing_kernels
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
    uniform = rng.random(len(alone))
    return np.asarray(
        drawing_kernels.find_ends(RANGES * cut_weights, alone, between, FOCUS, uniform)
    )


def ends_of(trees: ObliviousTrees, bins: FeatureBins) -> NDArray[np.int64]:
    """The cut at which each question ends, shape (n_trees, n_levels); -1 where it does nowhere."""
    last = bins.n_values[trees.feature] - 1
    n_bins = trees.goes_right.shape[2]
    values = trees.goes_right & (np.arange(n_bins) <= last[:, :, None])
    highest = n_bins - 1 - values[:, :, ::-1].argmax(axis=2)
    return np.where(highest < last, highest, -1)
