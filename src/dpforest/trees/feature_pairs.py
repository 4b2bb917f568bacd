"""Which features a tree asks together: pairs whose answers showed that they act together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.trees.deepening import contrasts

MOST_FEATURES = 500  # of more, hardly any pair meets twice, and a table of pairs would be large
MEMORY = 0.97  # what is left, a round later: more than of single features, as pairs meet seldom


class FeaturePairs:
    """Learns from released leaf sums how much pairs of features do together, and draws by it.

    What two levels of a tree do together is the contrast of their exclusive or; its *signal* is its
    square, less the noise in it. A feature joins a tree by what it showed alone plus what it showed
    together with each feature that the tree asks already: by as much as it would add to what the
    tree can tell. Everything comes from released sums: post-processing, and free.

    Parameters
    ----------
    n_features : int

    Examples
    --------
    >>> pairs, rng = FeaturePairs(4), np.random.default_rng(0)
    >>> both = np.array([[1.0, -1.0, -1.0, 1.0]])[:, :, None]  # exclusive or: only together
    >>> pairs.learn(np.array([[0, 3]]), 9.0 * both, 1.0)
    >>> drawn = pairs.draw(np.ones(4), np.ones(4, np.bool_), 1.0, 1.0, (1000, 2), rng)
    >>> together = (np.sort(drawn, axis=1) == [0, 3]).all(axis=1).mean()
    >>> bool(together > 0.4)  # of six pairs
    True
    """

    def __init__(self, n_features: int) -> None:
        self._signal = np.zeros((n_features, n_features))
        self._times = np.zeros((n_features, n_features))

    def learn(self, feature: NDArray[np.integer], gradients: Values, noise: float) -> None:
        """Take note of the leaf sums of some trees, shape (trees, leaves, outputs).

        ``feature`` has the shape (trees, levels); ``noise`` is the variance of that in a sum.
        """
        squares = (contrasts(gradients) ** 2).mean(axis=2) - noise
        one, other = np.triu_indices(feature.shape[1], 1)
        net = squares[:, (1 << one) | (1 << other)]
        self._signal *= MEMORY
        self._times *= MEMORY
        for pair in ((one, other), (other, one)):
            places = feature[:, pair[0]], feature[:, pair[1]]
            np.add.at(self._signal, places, net)
            np.add.at(self._times, places, 1.0)

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
        signal = np.maximum(self._signal / np.maximum(self._times, 1.0), 0.0)
        trees, drawn = np.arange(shape[0]), np.empty(shape, np.int64)
        left = np.repeat(usable[None], shape[0], axis=0)
        adds = np.repeat(promise[None], shape[0], axis=0)
        for level in range(shape[1]):
            # In units of the best that is left: its power cannot vanish.
            open_ = np.where(left, adds, 0.0)
            by_promise = _shares((open_ / open_.max(axis=1, keepdims=True)) ** focus)
            shares = (1.0 - learnt) * _shares(left / 1.0) + learnt * by_promise
            with np.errstate(divide="ignore"):
                keys = np.log(shares) + rng.gumbel(size=shares.shape)
            drawn[:, level] = keys.argmax(axis=1)
            left[trees, drawn[:, level]] = False
            adds += signal[drawn[:, level]]
        return drawn


def _shares(weights: Values) -> Values:
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
