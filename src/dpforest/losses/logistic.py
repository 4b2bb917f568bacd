"""The logistic loss, of two classes: gradient p - y, Hessian p (1 - p), which is at most 1/4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import expit, logit

from dpforest.arrays import Values
from dpforest.losses.base import Loss, Norm


@njit(nogil=True, cache=True, error_model="numpy")
def _derivatives(
    scores: NDArray[np.float32], target: NDArray[Any], slopes: Values, curvatures: Values
) -> None:
    for i in range(target.shape[0]):
        p = 1.0 / (1.0 + np.exp(-np.float64(scores[0, i])))
        slopes[0, i] = p - target[i]
        curvatures[i] = p * (1.0 - p)


@dataclass(frozen=True)
class Logistic(Loss):
    """The logistic loss; the score is that of the second class."""

    kernel = staticmethod(_derivatives)

    @property
    def largest_hessian(self) -> float:
        """That of equal probabilities."""
        return 0.25

    def predictions(self, scores: NDArray[np.floating[Any]], clipped: bool) -> Values:
        """The probability of each class, shape (n, 2)."""
        second = (clipped_logistic if clipped else expit)(scores[0].astype(np.float64))
        return np.column_stack([1.0 - second, second])

    def clip(self, norm: Norm) -> float:
        """One half: abs(p - y) where p is one half."""
        return 0.5

    def depth(self, signal: float, n_features: int, any_numeric: bool, norm: Norm) -> int:
        """Under Laplace noise deeper where no feature is ordered: a level tells less there."""
        if norm == 1 and not any_numeric and signal >= 1000.0:
            return 6
        return super().depth(signal, n_features, any_numeric, norm)


def clipped_logistic(scores: Values) -> Values:
    """The probability of the second class at which clipped gradients balance.

    Where a share q of the records has the second class, boosting with gradients p - y clipped to
    [-1/2, 1/2] comes to rest at the p where ``(1 - q) min(p, 1/2) = q min(1 - p, 1/2)``. Solved
    for q: ``1/2 / (3/2 - p)`` above one half, and the mirror image below.

    Examples
    --------
    >>> clipped_logistic(np.array([-np.inf, 0.0, np.inf])).tolist()
    [0.0, 0.5, 1.0]
    """
    p = expit(scores)
    return np.asarray(np.where(p > 0.5, 0.5 / (1.5 - p), 1.0 - 0.5 / (0.5 + p)))


def clipped_score(probability: float) -> float:
    """The score at which clipped gradients balance for this share of the second class.

    The inverse of `clipped_logistic`.

    Examples
    --------
    >>> round(float(clipped_logistic(np.array(clipped_score(0.8)))), 9), clipped_score(0.5) == 0.0
    (0.8, True)
    """
    below = min(probability, 1.0 - probability)
    score = float(logit(0.5 / (1.0 - below) - 0.5))
    return score if probability < 0.5 else -score
