"""A linear model of binned records, and the same model as oblivious trees.

A numeric feature has one weight, for the rank of a record in it, for its value, or for a mean of
both; a category has a weight of its own. What a weight multiplies follows from the bin of a record
and from released bins and their weights alone.
A tree that asks for the digits of one feature's bin has a leaf for every bin, so a linear model is
a forest of one such tree a feature, and whatever works on forests works on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.structure import FeatureBins

TYPICAL_SQUARE = 0.5  # of what a feature contributes to a record's row, when rows are scaled
SPREAD_OF_RANKS = 3**-0.5  # the deviation of what is spread evenly from -1 to 1
FURTHEST = 2.5  # that a value lies from the mean, in the same unit
HALF_A_STEP = 0.7  # of a feature with two categories: between them lies one weight, not two


@dataclass(frozen=True)
class LinearDesign:
    """Which weight each bin of each feature turns, and how far; weight 0 is the constant.

    Parameters
    ----------
    place : ndarray of int32, shape (n_features, 256)
        The weight; no two features share one, and none has weight 0.
    size : ndarray of float64, shape (n_features, 256)
        What it is multiplied by; 0 for bins that are no values.
    constant : float
        What weight 0 is multiplied by.
    n_weights : int
    """

    place: NDArray[np.int32]
    size: Values
    constant: float
    n_weights: int

    def __post_init__(self) -> None:
        taken = [set(row.tolist()) for row in self.place]
        used = set().union({0}, *taken)
        if len(used) != 1 + sum(map(len, taken)) or not used <= set(range(self.n_weights)):
            raise ValueError("features of a linear model must have weights of their own")

    @classmethod
    def of_bins(
        cls,
        bins: FeatureBins,
        shares: tuple[Values | None, ...],
        middles: tuple[Values | None, ...],
        by_value: float,
    ) -> LinearDesign:
        """Places of numeric features by the released shares of their bins; categories one by one.

        A rank goes from -1 to 1, so a record's row has a norm of at most about 1 where half of
        every feature's largest square is typical; who exceeds the bound is clipped by the records.

        Parameters
        ----------
        bins : FeatureBins
        shares, middles : tuple of arrays or None
            The share of the records in each bin of a numeric feature, and where it lies.
        by_value : float
            How far values count, rather than ranks, from 0 to 1.
        """
        place, size = np.zeros((len(bins), 256), np.int32), np.zeros((len(bins), 256))
        n_weights = 1
        for j, (n_values, share) in enumerate(zip(bins.n_values, shares, strict=True)):
            n = int(n_values)
            place[j] = n_weights
            if not bins.categorical[j] and share is not None and len(share) == n:
                size[j, :n] = _places(share / share.sum(), middles[j], by_value)
            elif n == 2:
                size[j, :2] = -HALF_A_STEP, HALF_A_STEP
            else:
                place[j, :n] = n_weights + np.arange(n)
                size[j, :n] = 1.0
                n_weights += max(n - 1, 0)
            n_weights += 1
        scale = 1.0 / np.sqrt(TYPICAL_SQUARE * len(bins))
        return cls(place, scale * size, float(scale), n_weights)

    def as_trees(self, weights: Values, n_bins: NDArray[np.int64]) -> tuple[ObliviousTrees, Values]:
        """One tree a feature, and the values of its leaves, shape (trees, outputs, leaves).

        Parameters
        ----------
        weights : ndarray of float64, shape (n_outputs, n_weights)
        n_bins : ndarray of int64
            All bins of each feature.
        """
        n_features = len(self.place)
        depth = np.array([max(int(n - 1).bit_length(), 1) for n in n_bins], np.int32)
        levels, n_leaves = int(depth.max()), 1 << int(depth.max())
        digits = (np.arange(256) >> np.arange(levels)[:, None] & 1).astype(np.bool_)
        trees = ObliviousTrees(
            np.repeat(np.arange(n_features, dtype=np.int32)[:, None], levels, axis=1),
            np.repeat(digits[None], n_features, axis=0),
            depth,
        )
        values = (weights[:, self.place] * self.size).transpose(1, 0, 2)[:, :, :n_leaves]
        # The constant is the same for all bins: the first tree takes it.
        values[0] += self.constant * weights[:, :1]
        return trees, np.ascontiguousarray(values)


def _places(share: Values, middles: Values | None, by_value: float) -> Values:
    """Where the bins of a feature lie, from low to high: by rank and by value."""
    ranks = 2.0 * (np.cumsum(share) - share / 2.0) - 1.0
    if middles is None or by_value == 0.0:
        return np.asarray(ranks)
    aside = middles - share @ middles
    deviation = float(np.sqrt(share @ aside**2))
    if deviation <= 0.0:
        return np.asarray(ranks)
    values = np.clip(SPREAD_OF_RANKS * aside / deviation, -FURTHEST, FURTHEST)
    return np.asarray((1.0 - by_value) * ranks + by_value * values)
