"""What pairs of cuts do together, learnt from the signs of released contrasts too."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.trees import drawing_kernels, learning_kernels
from dpforest.trees.fading_regressions import FadingRegressions
from dpforest.trees.oblivious import MAX_DEPTH

CURVES = 3  # of a feature; a pair has their products
MEMORY = 0.98  # what is left, a round later
ROUNDS = 3  # until what was learnt is looked at again, which takes time
MOST_FEATURES = 40  # a pair of each two takes time, and of many hardly any meets often


class PairEffects:
    """How much pairs of numeric features do together, and at which cuts.

    As `dpforest.trees.cut_effects.CutEffects`, for the contrast of the exclusive or of two answers:
    a function of the places of both cuts, which vanishes at the ends of either feature. What is not
    known counts for nothing here: there are many pairs. Post-processing of released sums, and free.

    Parameters
    ----------
    n_cuts : ndarray of int, shape (n_features,)
        The cuts of each feature; 0 for categorical features, which take no part.

    Attributes
    ----------
    signal : ndarray of float64, shape (n_features, n_features)
        The square that the contrast of a pair has, above the noise, with cuts as they are drawn.
    cut_signal : ndarray of float64, shape (n_features, most cuts)
        The same at each cut, added up over all other features.
    typical : float
        The square of a contrast of any pair, above the noise.
    """

    def __init__(self, n_cuts: NDArray[np.integer]) -> None:
        n_features, most = len(n_cuts), max(int(n_cuts.max(initial=0)), 1)
        place = np.arange(1, most + 1) / (n_cuts[:, None] + 1.0)
        wave = np.pi * np.arange(1, CURVES + 1)
        self._curves = np.sin(place[:, :, None] * wave) / wave
        self._curves[place >= 1.0] = 0.0
        self._pairs = np.triu_indices(n_features, 1)
        self._number = np.zeros((n_features, n_features), np.int64)
        self._number[self._pairs] = np.arange(len(self._pairs[0]))
        self._known = FadingRegressions(len(self._pairs[0]), CURVES * CURVES, MEMORY)
        self._n_leaves, self._n_rounds = 1, 0
        self.signal = np.zeros((n_features, n_features))
        self.cut_signal = np.zeros((n_features, most))
        self._at_cuts = np.zeros((n_features, most))
        self._turned = np.zeros_like(self._curves)

    @property
    def typical(self) -> float:
        """The square of a contrast of any pair, above the noise."""
        return self._known.typical

    def learn(
        self,
        feature: NDArray[np.integer],
        cut: NDArray[np.integer],
        end: NDArray[np.integer],
        contrasts: Values,
        noise: float,
        cut_shares: Callable[[], Values],
    ) -> None:
        """Take note of what the leaf sums of some trees showed.

        Parameters
        ----------
        feature, cut, end : ndarray of int, shape (n_trees, n_levels)
            What each level asks; the cut is -1 where it is none, the end where the question has
            none.
        contrasts : ndarray of float64, shape (n_trees, n_leaves, n_outputs)
            Of each set of levels, by `dpforest.trees.deepening.contrasts`.
        noise : float
            The variance of the noise in a contrast.
        cut_shares : callable
            How often each feature is cut at each place, shape (n_features, most cuts or more).
        """
        most = len(feature) * len(level_pairs(feature.shape[1])[0])
        which, rows = np.empty(most, np.int64), np.empty((most, CURVES * CURVES))
        seen = np.empty((most, contrasts.shape[2]))
        asked = feature, cut, end, contrasts, self._curves, self._number
        n = learning_kernels.pair_rows(*asked, which, rows, seen)
        self._n_leaves = contrasts.shape[1]
        self._known.learn(which[:n], rows[:n] / np.sqrt(self._n_leaves), seen[:n], noise)
        if self._n_rounds % ROUNDS == 0:
            self._look(cut_shares())
        self._n_rounds += 1

    def _look(self, cut_shares: Values) -> None:
        """Turn what is known of weights into squares of contrasts."""
        one, other = self._pairs
        weights = self._known.means().reshape(len(one), CURVES, CURVES, -1)
        shares = cut_shares[:, : self._curves.shape[1], None]
        spread = (shares * self._curves).swapaxes(1, 2) @ self._curves
        signal, squares = np.zeros_like(self.signal), np.zeros_like(spread)
        learning_kernels.add_energies(weights, one, other, spread, signal, squares)
        units = weights.shape[3] * self._n_leaves
        self.signal, self._turned = signal / units, self._curves @ (squares / units)
        self._at_cuts = np.einsum("fci,fci->fc", self._turned, self._curves)
        self.cut_signal = np.maximum(self._at_cuts, 0.0)

    def between(self, feature: NDArray[np.integer], cut: NDArray[np.integer]) -> Values:
        """The same of ranges that begin at a cut, for each cut at which they may end, (n, cuts)."""
        known = self._curves, self._turned, self._at_cuts
        between = drawing_kernels.squares_between(*known, feature, cut)
        return np.asarray(np.maximum(between, 0.0))


@lru_cache(maxsize=MAX_DEPTH + 1)
def level_pairs(depth: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each two levels of a tree of that depth.

    Examples
    --------
    >>> [levels.tolist() for levels in level_pairs(3)]
    [[0, 0, 1], [1, 2, 2]]
    """
    return np.triu_indices(depth, 1)
