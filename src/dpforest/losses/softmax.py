"""The softmax loss, of K classes.

Gradients p_k - [k is the label]; the Hessian of all of them is (1 - sum p_k^2) / 2, which is at
most (1 - 1/K) / 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import softmax

from dpforest.arrays import Values
from dpforest.losses.base import Drawing, Loss, Norm, stairs

MANY_CLASSES = 10


@njit(nogil=True, cache=True, error_model="numpy")
def _derivatives(
    scores: NDArray[np.float32], target: NDArray[Any], slopes: Values, curvatures: Values
) -> None:
    for i in range(target.shape[0]):
        largest = scores[0, i]
        for k in range(1, scores.shape[0]):
            largest = max(largest, scores[k, i])
        total = 0.0
        for k in range(scores.shape[0]):
            slopes[k, i] = np.exp(np.float64(scores[k, i] - largest))
            total += slopes[k, i]
        squares = 0.0
        for k in range(scores.shape[0]):
            slopes[k, i] /= total
            squares += slopes[k, i] * slopes[k, i]
        slopes[np.int64(target[i]), i] -= 1.0
        curvatures[i] = 0.5 * (1.0 - squares)


@dataclass(frozen=True)
class Softmax(Loss):
    """The softmax loss: a score for each class."""

    kernel = staticmethod(_derivatives)
    gradients_add_up_to_zero: ClassVar[bool] = True
    drawing: ClassVar[Drawing] = Drawing(0.8, 2.0, 0.95, 0.9, together=False)
    root_step: ClassVar[float] = 1.2  # each of many classes has a part of the way
    small_rounds: ClassVar[bool] = True

    n_classes: int

    @property
    def n_outputs(self) -> int:
        """One score for each class."""
        return self.n_classes

    @property
    def linear_values(self) -> float:
        """As of numbers, where there are many classes."""
        return 0.7 if self.n_classes >= MANY_CLASSES else super().linear_values

    @property
    def most_linear_signal(self) -> float:
        """Each of many classes has a part of the records: trees take longer to see them all."""
        return super().most_linear_signal * max(1.0, self.n_classes / MANY_CLASSES)

    @property
    def largest_hessian(self) -> float:
        """That of equal probabilities."""
        return 0.5 * (1.0 - 1.0 / self.n_classes)

    def predictions(self, scores: NDArray[np.floating[Any]], clipped: bool) -> Values:
        """The probability of each class, shape (n, n_classes)."""
        return np.asarray(softmax(scores.T.astype(np.float64), axis=1))

    def clip(self, norm: Norm) -> float:
        """The norm of the gradients of equal probabilities; under Gaussian noise seven tenths.

        Records that the model tells well have far smaller gradients soon: noise would drown them.
        """
        others = 1.0 - 1.0 / self.n_classes
        return 2.0 * others if norm == 1 else 0.7 * math.sqrt(others)

    def hessian_part(self, norm: Norm) -> float:
        """Little under Gaussian noise: the damping is more than most Hessians."""
        return super().hessian_part(norm) if norm == 1 else 0.15

    def damping(self, norm: Norm, step: float) -> float:
        """Far more than two classes need: a leaf tells little of each of many classes."""
        return super().damping(norm, step) if norm == 1 else 160.0

    def total_step(self, signal: float, norm: Norm) -> float:
        """A long way, which the damping makes a slow one.

        Longer still with much signal and many classes, of which each has a part of the records.
        """
        if norm == 1:
            return super().total_step(signal, norm)
        much = self._shared(signal) * self.n_classes / 40_000.0
        return 160.0 * min(math.pow(max(much, 1.0), 0.35), 2.5)

    def depth(self, signal: float, n_features: int, any_numeric: bool, norm: Norm) -> int:
        """By the signal of all classes together: they share the structure.

        Where there is an order, each level says less: what is smooth takes many cuts.
        """
        if norm == 1:
            return super().depth(signal, n_features, any_numeric, norm)
        steps = (2.0, 50.0, 100.0, 1600.0) if any_numeric else (2.0, 100.0, 800.0, 1600.0)
        return stairs(self._shared(signal) / n_features, steps, 2)

    def _shared(self, signal: float) -> float:
        """The signal of all classes together."""
        return signal * max(1.0, self.n_classes / 2.0)
