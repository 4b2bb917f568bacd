"""Random oblivious trees, round by round: which features are asked is learnt from releases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.structure import FeatureBins

FEW_CATEGORIES = 3  # one against the rest up to here; random halves beyond


class ObliviousGrower:
    """Draws oblivious trees; draws features more often whose answers move the gradients.

    Parameters
    ----------
    bins : FeatureBins
        The features.
    cut_weights : tuple of arrays or None
        How often a numeric feature is cut after each of its bins; None for categorical features.
    rng : numpy.random.Generator
        The public stream of the structure.
    learnt : float
        How far features are drawn by what they showed, rather than evenly.
    focus : float
        The power of a feature's signal with which it is drawn.

    Notes
    -----
    Everything it learns comes from released sums, so it is post-processing and free. The signal of
    a feature is the squared contrast between the two sides of its levels, less the noise in it.
    """

    def __init__(
        self,
        bins: FeatureBins,
        cut_weights: tuple[Values | None, ...],
        rng: np.random.Generator,
        *,
        learnt: float,
        focus: float,
    ) -> None:
        self._bins = bins
        self._rng = rng
        self._learnt = learnt
        self._focus = focus
        self._cut_shares = np.ones((len(bins), 256))
        for shares, weights in zip(self._cut_shares, cut_weights, strict=True):
            if weights is not None and len(weights):
                shares[: len(weights)] = np.cumsum(weights) / weights.sum()
        self._usable = bins.n_values > 1
        if not self._usable.any():
            self._usable = np.ones(len(bins), np.bool_)
        self._signal = np.zeros(len(bins))
        self._times_asked = np.zeros(len(bins))
        self._noise = 1.0

    def draw(self, n_trees: int, depth: int) -> ObliviousTrees:
        """Draw the trees of a round."""
        feature = self._draw_features(n_trees, depth)
        n_values = self._bins.n_values[feature]
        bin_ = np.arange(256)
        uniform = self._rng.random((n_trees, depth, 1))
        cut = (self._cut_shares[feature] < uniform).sum(axis=2, keepdims=True)
        goes_right = bin_ > cut
        level = np.nonzero(self._bins.categorical[feature])
        if len(level[0]):
            goes_right[level] = self._split_categories(n_values[level])
        # Missing, unseen and beyond: a coin, the same for all bins that are no values.
        coin = self._rng.random((n_trees, depth, 1)) < 0.5
        goes_right = np.where(bin_ >= n_values[:, :, None], coin, goes_right)
        return ObliviousTrees(
            feature.astype(np.int32), goes_right, np.full(n_trees, depth, np.int32)
        )

    def learn(self, trees: ObliviousTrees, gradients: Values, deviation: float) -> None:
        """Take note of the released leaf sums of some trees, shape (trees, leaves, outputs)."""
        n_leaves = gradients.shape[1]
        level = np.arange(trees.feature.shape[1])[:, None]
        signs = np.where(np.arange(n_leaves) >> level & 1, 1.0, -1.0) / np.sqrt(n_leaves)
        contrast = np.array([np.einsum("tlk,l->tk", gradients, sign) for sign in signs])
        self._noise = deviation**2
        np.add.at(self._signal, trees.feature.T, (contrast**2).mean(axis=2) - self._noise)
        self._times_asked += np.bincount(trees.feature.ravel(), minlength=len(self._bins))

    @property
    def signal(self) -> Values:
        """What each feature showed, on average, above the noise; never negative."""
        return np.asarray(np.maximum(self._signal / np.maximum(self._times_asked, 1.0), 0.0))

    @property
    def feature_shares(self) -> Values:
        """How often each feature is drawn: evenly, and by its signal plus what may still hide."""
        evenly = self._usable / self._usable.sum()
        hidden = self._noise * np.sqrt(0.5 / np.maximum(self._times_asked, 1.0))
        promise = (self.signal + hidden + 1e-300) * self._usable
        by_promise = (promise / promise.max()) ** self._focus
        by_promise /= by_promise.sum()
        shares: Values = (1.0 - self._learnt) * evenly + self._learnt * by_promise
        return shares

    def _draw_features(self, n_trees: int, depth: int) -> NDArray[np.int64]:
        """Different features for the levels of a tree, as long as there are enough."""
        shares = self.feature_shares if self._times_asked.any() else self._usable / 1.0
        shares = shares / shares.sum()
        if depth > self._usable.sum():
            return self._rng.choice(len(shares), (n_trees, depth), p=shares)
        with np.errstate(divide="ignore"):
            keys = np.log(shares) + self._rng.gumbel(size=(n_trees, len(shares)))
        return np.argsort(-keys, axis=1)[:, :depth]

    def _split_categories(self, n_values: NDArray[np.int64]) -> NDArray[np.bool_]:
        bin_ = np.arange(256)
        one = self._rng.integers(0, n_values)[:, None]
        halves = self._rng.random((len(n_values), 256)) < 0.5
        return np.where(n_values[:, None] <= FEW_CATEGORIES, bin_ == one, halves)
