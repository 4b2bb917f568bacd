"""The squared loss of a number: gradient score - target, Hessian 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.losses.base import Loss, Norm
from dpforest.losses.number_rules import NumberRules


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

    def predictions(self, scores: NDArray[np.floating[Any]], clipped: bool) -> Values:
        """The target of each record, shape (n,)."""
        return np.asarray(self.center + self.width * scores[0].astype(np.float64))

    def clip(self, norm: Norm) -> float:
        """One width."""
        return 1.0
