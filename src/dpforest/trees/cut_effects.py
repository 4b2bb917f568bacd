"""What cuts of numeric features do, learnt from the signs of released contrasts too."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.trees import drawing_kernels
from dpforest.trees.fading_regressions import FadingRegressions

WEIGHTS = 8  # of a feature: curves that tell its effects
ALIKE = 0.3  # of the range of a feature, over which effects stay alike
MEMORY = 0.98  # what is left, a round later
DOUBT = 2.0  # so often what may still hide is counted
QUICK = 100  # features; of more, what was learnt is not looked at in every round, which takes time


class CutEffects:
    """How much a question about a numeric feature would show, for each of its cuts.

    The *effect* of a cut is the sum of the gradients above it less that below it: a function of the
    place of the cut that changes little from one cut to the next. Every level that asks the feature
    shows it at one cut, in noise many times as large. Squares of what single trees show say little
    then; the effects themselves add up, over trees and over neighbouring cuts, in a regression on
    smooth curves. What a question promises is the square of what is known, and the variance of what
    is not. A question that asks for a range, between two cuts, shows the difference of their
    effects. Post-processing of released sums, and free.

    Parameters
    ----------
    n_cuts : ndarray of int, shape (n_features,)
        The cuts of each feature, in the order of its bins; 0 for categorical features.

    Attributes
    ----------
    promise : ndarray of float64, shape (n_features, most cuts)
        The square that the contrast of a cut may have, above the noise.

    Examples
    --------
    >>> cuts, rng = CutEffects(np.array([15, 15])), np.random.default_rng(0)
    >>> place = rng.integers(0, 15, 400)
    >>> feature = rng.integers(0, 2, 400)
    >>> shown = np.where((feature == 0) & (place > 9), 0.5, 0.0) + rng.uniform(-1.7, 1.7, 400)
    >>> cuts.learn(feature, place, np.full(400, -1), shown[:, None], n_leaves=4, noise=1.0)
    >>> bool(cuts.promise[0, 12] > 3 * cuts.promise[0, 4] > cuts.promise[1, 12])
    True
    """

    def __init__(self, n_cuts: NDArray[np.integer]) -> None:
        self._known = FadingRegressions(len(n_cuts), WEIGHTS, MEMORY)
        self._curves = np.zeros((len(n_cuts), max(int(n_cuts.max(initial=0)), 1), WEIGHTS))
        for feature, n in enumerate(n_cuts.tolist()):
            self._curves[feature, :n] = _curves(n)
        self._n_rounds = 0
        self._turned = np.zeros_like(self._curves)
        self._squares = np.zeros(self._curves.shape[:2])
        self.promise = np.zeros(self._curves.shape[:2])

    def learn(
        self,
        feature: NDArray[np.integer],
        cut: NDArray[np.integer],
        end: NDArray[np.integer],
        contrast: Values,
        n_leaves: int,
        noise: float,
    ) -> None:
        """Take note of the questions of a round.

        Parameters
        ----------
        feature, cut, end : ndarray of int, shape (n,)
            A question ends at another cut, or, -1, nowhere.
        contrast : ndarray of float64, shape (n, n_outputs)
            Right less left, over the root of the number of leaves.
        n_leaves : int
        noise : float
            The variance of the noise in a contrast.
        """
        rows = between_ends(self._curves, feature, cut, end)
        self._known.learn(feature, rows / np.sqrt(n_leaves), contrast, noise)
        if self._n_rounds % (1 + len(self._curves) // QUICK) == 0:
            self._look(n_leaves)
        self._n_rounds += 1

    def _look(self, n_leaves: int) -> None:
        """Turn what is known of weights into squares of contrasts."""
        mean, covariance = self._known.posterior()
        known = mean @ mean.swapaxes(1, 2) / mean.shape[2]
        self._turned = self._curves @ ((known + covariance) / n_leaves)
        self._squares = np.einsum("fcw,fcw->fc", self._turned, self._curves)
        # What is not known counts once by now.
        doubt = np.einsum("fcw,fcw->fc", self._curves @ covariance, self._curves)
        self.promise = self._squares + (DOUBT - 1.0) / n_leaves * doubt

    def between(self, feature: NDArray[np.integer], cut: NDArray[np.integer]) -> Values:
        """What questions that begin at a cut promise for each cut at which they may end, (n, cuts).

        What is not known counts once here: there are many ranges.
        """
        known = self._curves, self._turned, self._squares
        return np.asarray(drawing_kernels.squares_between(*known, feature, cut))

    def believed(self, squares: Values, times: Values, noise: float) -> Values:
        """The same of features without an order, from the squares above the noise that they showed.

        The sum of so many of them says the more the more they are, next to what cuts show.
        """
        typical, times = self._known.typical, np.maximum(times, 1e-9)
        doubt = 2.0 * noise**2 / times
        known = squares / times * typical**2 + typical * doubt
        return np.asarray(np.maximum(known / (typical**2 + doubt), 0.0))


def between_ends(
    curves: Values,
    feature: NDArray[np.integer],
    cut: NDArray[np.integer],
    end: NDArray[np.integer],
) -> Values:
    """The curves of some features at a cut, less those where the question ends, if anywhere."""
    at_end = np.where((end >= 0)[:, None], curves[feature, np.maximum(end, 0)], 0.0)
    return np.asarray(curves[feature, cut] - at_end)


@lru_cache(maxsize=256)
def _curves(n_cuts: int) -> Values:
    """Curves over the cuts, (n_cuts, WEIGHTS): with random weights, alike at neighbouring cuts."""
    place = np.arange(1, n_cuts + 1) / (n_cuts + 1)
    alike = np.exp(-np.abs(place[:, None] - place) / ALIKE)
    scales, shapes = np.linalg.eigh(alike)
    curves = np.zeros((n_cuts, WEIGHTS))
    n_kept = min(n_cuts, WEIGHTS)
    kept = slice(None, -n_kept - 1, -1)
    curves[:, :n_kept] = shapes[:, kept] * np.sqrt(np.maximum(scales[kept], 0.0))
    return curves
