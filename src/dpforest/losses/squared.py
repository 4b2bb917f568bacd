"""The squared loss of a number: gradient score - target, Hessian 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.losses.base import Loss, Norm, stairs
from dpforest.losses.number_rules import NumberRules

LITTLE_SIGNAL = 400.0  # with less, steps shrink as it does


@njit(nogil=True, cache=True, error_model="numpy")
def _derivatives(
    scores: NDArray[np.float32],
    target: NDArray[Any],
    slopes: Values,
    curvatures: Values,
    center: float,
    width: float,
) -> None:
    for i in range(target.shape[0]):
        slopes[0, i] = scores[0, i] - (target[i] - center) / width
        curvatures[i] = 1.0


@dataclass(frozen=True)
class Squared(NumberRules, Loss):
    """The squared loss.

    Parameters
    ----------
    center, width : float
        Scores and targets are measured from the center in units of the width.
    """

    kernel = staticmethod(_derivatives)
    clip_without_noise: ClassVar[float] = 1.0

    center: float = 0.0
    width: float = 1.0

    @property
    def constants(self) -> tuple[float, float]:
        """The center and the width."""
        return self.center, self.width

    def total_step(self, signal: float, norm: Norm) -> float:
        """Longer under Gaussian noise, where residuals are clipped at a narrower width.

        With little signal in proportion to it, or trees would add more noise than they tell.
        """
        step = super().total_step(signal, norm)
        if norm == 1:
            return step
        # The step grows as the signal to the power of 0.45 already: what is missing to 1.
        return 2.0 * step * min(math.pow(signal / LITTLE_SIGNAL, 0.55), 1.0)

    def depth(self, signal: float, n_features: int, any_numeric: bool, norm: Norm) -> int:
        """From 3 to 6, later under Gaussian noise: trees deepen by themselves where that pays."""
        if norm == 1:
            return super().depth(signal, n_features, any_numeric, norm)
        return stairs(signal / n_features, (5.0, 1500.0, 5000.0), 3)

    def predictions(self, scores: NDArray[np.floating[Any]], clipped: bool) -> Values:
        """The target of each record, shape (n,)."""
        return np.asarray(self.center + self.width * scores[0].astype(np.float64))

    def clip(self, norm: Norm) -> float:
        """One width."""
        return 1.0
