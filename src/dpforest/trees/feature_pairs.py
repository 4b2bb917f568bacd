"""Which features a tree asks together: pairs whose answers showed that they act together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.trees import drawing_kernels, pair_effects
from dpforest.trees.pair_effects import PairEffects, level_pairs

MOST_FEATURES = 500  # of more, hardly any pair meets twice, and a table of pairs would be large
MEMORY = 0.97  # what is left, a round later: more than of single features, as pairs meet seldom


class FeaturePairs:
    """Learns from released leaf sums how much pairs of features do together, and draws by it.

    What two levels of a tree do together is the contrast of their exclusive or; its *signal* is its
    square, less the noise in it. A feature joins a tree by what it showed alone plus what it showed
    together with each feature that the tree asks already: by as much as it would add to what the
    tree can tell. Of two numeric features, at most 40 in all, `PairEffects` knows it better; beside
    those, squares that were seen seldom count for less. Everything comes from released sums:
    post-processing, and free.

    Parameters
    ----------
    n_cuts : ndarray of int, shape (n_features,)
        The cuts of numeric features; 0 for categorical ones.

    Examples
    --------
    >>> pairs, rng = FeaturePairs(np.zeros(4, np.int64)), np.random.default_rng(0)
    >>> only_both = np.array([0.0, 0.0, 0.0, 18.0]).reshape(1, 4, 1)  # exclusive or
    >>> asked, none = np.array([[0, 3]]), np.full((1, 2), -1)
    >>> pairs.learn(asked, none, none, only_both, 1.0, lambda: np.zeros((4, 1)))
    >>> drawn = pairs.draw(np.ones(4), np.ones(4, np.bool_), 1.0, 1.0, (1000, 2), rng)
    >>> together = (np.sort(drawn, axis=1) == [0, 3]).all(axis=1).mean()
    >>> bool(together > 0.4)  # of six pairs
    True
    """

    def __init__(self, n_cuts: NDArray[np.integer]) -> None:
        n_features, numeric = len(n_cuts), n_cuts > 0
        self._signal = np.zeros((n_features, n_features))
        self._times = np.zeros((n_features, n_features))
        self._noise = 1.0
        known = numeric.sum() > 1 and n_features <= pair_effects.MOST_FEATURES
        self._numbers = PairEffects(n_cuts) if known else None
        self._both_numeric = numeric[:, None] & numeric

    def learn(
        self,
        feature: NDArray[np.integer],
        cut: NDArray[np.integer],
        end: NDArray[np.integer],
        contrasts: Values,
        noise: float,
        cut_shares: Callable[[], Values],
    ) -> None:
        """Take note of what the leaf sums of some trees showed; see `PairEffects.learn`."""
        self._noise = noise
        if self._numbers is not None:
            self._numbers.learn(feature, cut, end, contrasts, noise, cut_shares)
        one, other = level_pairs(feature.shape[1])
        net = (contrasts[:, (1 << one) | (1 << other)] ** 2).mean(axis=2) - noise
        self._signal *= MEMORY
        self._times *= MEMORY
        for pair in ((one, other), (other, one)):
            places = feature[:, pair[0]], feature[:, pair[1]]
            np.add.at(self._signal, places, net)
            np.add.at(self._times, places, 1.0)

    @property
    def signal(self) -> Values:
        """What each two features showed together, above the noise; never negative."""
        seen = np.maximum(self._signal / np.maximum(self._times, 1.0), 0.0)
        if self._numbers is None:
            return np.asarray(seen)
        typical = self._numbers.typical**2
        doubt = 2.0 * self._noise**2 / np.maximum(self._times, 1e-9)
        seen = seen * typical / (typical + doubt)
        return np.where(self._both_numeric, self._numbers.signal, seen)

    def at_cuts(self, depth: int) -> Values | float:
        """What a cut does together with the other features of a tree, as if they were any."""
        if self._numbers is None:
            return 0.0
        return np.asarray(self._part_met(depth) * self._numbers.cut_signal)

    def between(
        self, depth: int, feature: NDArray[np.integer], cut: NDArray[np.integer]
    ) -> Values | float:
        """The same of ranges that begin at a cut, for each cut at which they may end."""
        if self._numbers is None:
            return 0.0
        return np.asarray(self._part_met(depth) * self._numbers.between(feature, cut))

    def _part_met(self, depth: int) -> float:
        """The part of the other features that a tree asks beside one."""
        return min((depth - 1) / max(len(self._signal) - 1, 1), 1.0)

    def draw(
        self,
        promise: Values,
        usable: NDArray[np.bool_],
        learnt: float,
        focus: float,
        shape: tuple[int, int],
        rng: np.random.Generator,
    ) -> NDArray[np.int64]:
        """Draw different features for the levels of trees, each after those before it.

        Parameters
        ----------
        promise : ndarray of float64, shape (n_features,)
            What each feature showed alone, and what may still hide; above 0.
        usable : ndarray of bool, shape (n_features,)
            At least as many as levels.
        learnt, focus : float
            As in `dpforest.trees.oblivious_grower.ObliviousGrower`.
        shape : tuple of int
            Trees and levels.
        rng : numpy.random.Generator
        """
        gumbel = rng.gumbel(size=(shape[1], shape[0], len(usable)))
        drawn = drawing_kernels.draw_features(promise, usable, learnt, focus, self.signal, gumbel)
        return np.asarray(drawn)
