"""Which categories go together: learnt from released contrasts, so that questions part others."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.trees.structure import FeatureBins

FEWEST, MOST = 3, 64  # categories; two can be parted in one way only, and many take long
LEARNT = 0.7  # the share of the questions that follow what was learnt
SPREAD = math.sqrt(3.0)  # of a uniform draw with variance 1
FIRM = 1e-6  # keeps what nothing is known of from dividing by 0, relative to a question
SAME = 1e-6  # heights that differ by less, relative to the largest, are the same


class CategoryEffects:
    """What the gradients of each category of each feature add up to, as far as releases tell.

    A question parts the categories of a feature in two sets; the released contrast between its
    sides is the sum of the gradients of one set less that of the other, and noise. Many questions
    tell the sums of single categories, by least squares. A new question draws such sums from what
    is known of them, noise included, looks at them in a random direction of the outputs, and cuts
    the categories in that order. Post-processing of released sums, and free.

    Parameters
    ----------
    bins : FeatureBins
    rng : numpy.random.Generator
        The public stream of the structure.
    """

    def __init__(self, bins: FeatureBins, rng: np.random.Generator) -> None:
        self._rng = rng
        self._n_values = bins.n_values
        self._known = bins.categorical & (bins.n_values >= FEWEST) & (bins.n_values <= MOST)
        self._widest = int(bins.n_values[self._known].max(initial=0))
        self._precision = np.zeros((len(bins), self._widest, self._widest))
        self._pull: Values | None = None
        self._deviation = 0.0

    def learn(
        self,
        feature: NDArray[np.integer],
        goes_right: NDArray[np.bool_],
        contrast: Values,
        n_leaves: int,
        deviation: float,
    ) -> None:
        """Take note of questions and their contrasts.

        Parameters
        ----------
        feature : ndarray, shape (n,)
        goes_right : ndarray of bool, shape (n, n_bins)
        contrast : ndarray of float64, shape (n, n_outputs)
            Right less left, over the root of the number of leaves.
        n_leaves : int
        deviation : float
            Of the noise in a contrast.
        """
        if self._pull is None:
            self._pull = np.zeros((*self._precision.shape[:2], contrast.shape[1]))
        self._deviation = deviation
        if not len(feature):
            return
        there = np.arange(self._widest) < self._n_values[feature][:, None]
        signs = np.where(goes_right[:, : self._widest], 1.0, -1.0) * there / np.sqrt(n_leaves)
        for j in np.unique(feature[self._known[feature]]):
            asks = feature == j
            self._precision[j] += signs[asks].T @ signs[asks]
            self._pull[j] += signs[asks].T @ contrast[asks]

    def part(self, feature: NDArray[np.integer], otherwise: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which categories go right, shape (n, n_bins), for questions about some features.

        ``otherwise`` are those of questions that do not follow what was learnt.
        """
        learnt = self._known[feature] & (self._rng.random(len(feature)) < LEARNT)
        if self._pull is None or not learnt.any():
            return otherwise
        asked = feature[learnt]
        which, place = np.unique(asked, return_inverse=True)
        drawn = np.array([self._draw(int(j)) for j in which])[place]
        direction = self._rng.uniform(-1.0, 1.0, (len(asked), drawn.shape[2]))
        height = np.einsum("nvk,nk->nv", drawn, direction)
        n_values = self._n_values[asked][:, None]
        # Without noise there are ties, which rounding, as machines differ in it, must not break.
        largest = np.maximum(np.abs(height).max(axis=1, keepdims=True), 1e-300)
        height = np.rint(height / (SAME * largest))
        height = np.where(np.arange(self._widest) < n_values, height, np.inf)
        rank = height.argsort(axis=1, kind="stable").argsort(axis=1)
        parted = otherwise.copy()
        parted[learnt, : self._widest] = rank >= self._rng.integers(1, n_values)
        return parted

    def _draw(self, feature: int) -> Values:
        """Sums of the categories of a feature as they may be, shape (widest, n_outputs)."""
        assert self._pull is not None
        n = int(self._n_values[feature])
        precision, pull = self._precision[feature, :n, :n], self._pull[feature, :n]
        drawn = np.zeros(self._pull.shape[1:])
        weight = float(precision[0, 0])
        if weight > 0.0:
            # The gradients of all records together are next to nothing: as good as a question.
            root = np.linalg.cholesky(precision + weight * (FIRM * np.eye(n) + 1.0))
            doubt = self._deviation * self._rng.uniform(-SPREAD, SPREAD, pull.shape)
            drawn[:n] = np.linalg.solve(root.T, np.linalg.solve(root, pull) + doubt)
        else:
            drawn[:n] = self._rng.uniform(-1.0, 1.0, pull.shape)
        return drawn
