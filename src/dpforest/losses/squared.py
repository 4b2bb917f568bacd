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
class Squared(Loss):
    """The squared loss.

    Parameters
    ----------
    center, width : float
        Scores and targets are measured from the center in units of the width.
    """

    kernel = staticmethod(_derivatives)
    clip_without_noise: ClassVar[float] = 1.0
    learnt: ClassVar[float] = 0.95
    focus: ClassVar[float] = 4.0
    memory: ClassVar[float] = 0.95
    learnt_cuts: ClassVar[float] = 0.9
    small_rounds: ClassVar[bool] = True
    chosen_questions: ClassVar[bool] = True

    center: float = 0.0
    width: float = 1.0

    @property
    def constants(self) -> tuple[float, float]:
        """The center and the width."""
        return self.center, self.width

    @property
    def largest_hessian(self) -> float:
        """All are 1."""
        return 1.0

    def predictions(self, scores: NDArray[np.floating[Any]], clipped: bool) -> Values:
        """The target of each record, shape (n,)."""
        return np.asarray(self.center + self.width * scores[0].astype(np.float64))

    def clip(self, norm: Norm) -> float:
        """One width."""
        return 1.0

    def hessian_part(self, norm: Norm) -> float:
        """Hessians only count records: most of the grid is for gradients."""
        return 0.15

    def damping(self, norm: Norm) -> float:
        """More than classes need."""
        return 56.0

    def leaf_damping(self, norm: Norm) -> float:
        """Two average leaves: large leaves then lead, which is smoother than small ones are."""
        return 0.0 if norm == 1 else 2.0

    def total_step(self, signal: float, norm: Norm) -> float:
        """From 10 to 120; longer by the leaf damping, which slows every step."""
        step = min(max(38.0 * math.pow(signal / 1000.0, 0.45), 10.0), 120.0)
        return step if norm == 1 else 0.8 * step * (1.0 + self.leaf_damping(norm))

    def depth(self, signal: float, n_features: int, any_numeric: bool, norm: Norm) -> int:
        """From 3 to 6, whatever the norm."""
        return stairs(signal / n_features, (5.0, 300.0, 2000.0), 3)
