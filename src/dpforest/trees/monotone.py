"""Monotone oblivious trees: scores that rise, or fall, with some features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.monotone_kernels import make_monotone
from dpforest.trees.oblivious import ObliviousTrees


@dataclass(frozen=True)
class Monotone:
    """Which features scores follow.

    Sums of monotone trees are monotone, so it is enough that every tree is. Only the bins of values
    are in order: missing values may do as they like.

    Parameters
    ----------
    signs : ndarray of int64, shape (n_features,)
        1 where scores may not fall as the feature rises, -1 where they may not rise, 0 elsewhere.
    n_values : ndarray of int64, shape (n_features,)
        Bins that stand for values.
    """

    signs: NDArray[np.int64]
    n_values: NDArray[np.int64]

    def project(self, trees: ObliviousTrees, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Leaf values that keep to it: post-processing of what was released.

        Examples
        --------
        >>> right = (np.arange(256) > 4)[None, None]
        >>> tree = ObliviousTrees(np.array([[0]], np.int32), right, np.array([1], np.int32))
        >>> rising = Monotone(np.array([1]), np.array([9]))
        >>> rising.project(tree, np.array([[[3.0, 1.0]]], np.float32)).tolist()
        [[[2.0, 2.0]]]
        """
        if self.signs.any():
            values = values.copy()
            arrays = trees.feature, trees.goes_right, trees.depth
            make_monotone(*arrays, values, self.n_values, self.signs)
        return values
