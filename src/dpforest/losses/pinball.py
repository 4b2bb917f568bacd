"""The smoothed pinball loss of some quantiles of a number; of the median, the absolute loss.

For the quantile q the pinball loss of a score s and a target t is (1 - q) (s - t) above the target
and q (t - s) below. It is averaged over all shifts of the target by at most a, and scaled so that
the steeper side has the slope 1: with m = max(q, 1 - q), a = 1 / (2 m) and all lengths in widths,
the gradient is

    s - t + (1 - 2 q) a, held between -q / m and (1 - q) / m,

at most 1 whatever the target is, and comes to rest at the quantile of the targets so shifted. Its
slope is 1 within a of the target and 0 elsewhere, so 1 is the largest Hessian, and every record is
given that one: Hessians then count records, and no step goes too far.

Several quantiles have a score each. A record cannot be far beyond two of them on either side, so
the gradients of all of them together are hardly longer than those of few: of the quantiles 0.05 and
0.95 a record above both has (-0.05, -1), one between them (-0.05, 0.05).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.losses.base import Loss, Norm
from dpforest.losses.number_rules import NumberRules

MEDIAN = 0.5


@njit(nogil=True, cache=True, error_model="numpy")
def _derivatives(
    scores: NDArray[np.float32],
    target: NDArray[Any],
    slopes: Values,
    curvatures: Values,
    quantiles: tuple[float, ...],
    centers: tuple[float, ...],
    widths: tuple[float, ...],
) -> None:
    for k in range(scores.shape[0]):
        below, above = quantiles[k], 1.0 - quantiles[k]
        low, high = -below / max(below, above), above / max(below, above)
        middle = 0.5 * (low + high)
        for i in range(target.shape[0]):
            slope = scores[k, i] - (target[i] - centers[k]) / widths[k] + middle
            # What is no number stays none, and its record is dropped.
            slopes[k, i] = low if slope < low else high if slope > high else slope
    for i in range(target.shape[0]):
        curvatures[i] = 1.0


@dataclass(frozen=True)
class Pinball(NumberRules, Loss):
    """The pinball loss.

    Parameters
    ----------
    quantiles : tuple of float
        Between 0 and 1, from the lowest to the highest.
    centers, widths : tuple of float
        The scores of each are measured from its center in units of its width.
    """

    kernel = staticmethod(_derivatives)

    quantiles: tuple[float, ...] = (0.5,)
    centers: tuple[float, ...] = (0.0,)
    widths: tuple[float, ...] = (1.0,)

    @property
    def n_outputs(self) -> int:
        """One score for each quantile."""
        return len(self.quantiles)

    @property
    def constants(self) -> tuple[tuple[float, ...], ...]:
        """The quantiles, their centers and their widths."""
        return self.quantiles, self.centers, self.widths

    def moves(self, steps: NDArray[Any]) -> NDArray[Any]:
        """The median takes the other quantiles along: it knows best where a record lies."""
        if self.n_outputs == 1 or MEDIAN not in self.quantiles:
            return steps
        middle = self.quantiles.index(MEDIAN)
        along = self.widths[middle] / np.array(self.widths, steps.dtype)
        along[middle] = 0.0
        return np.asarray(steps + along[:, None] * steps[..., middle : middle + 1, :])

    def only(self, outputs: list[int]) -> Pinball:
        """The loss of some of the quantiles."""
        every = self.quantiles, self.centers, self.widths
        return Pinball(*(tuple(each[k] for k in outputs) for each in every))

    def predictions(self, scores: NDArray[np.floating[Any]], clipped: bool) -> Values:
        """The quantiles of each record, shape (n,) or (n, n_outputs)."""
        found = self.centers + np.array(self.widths) * scores.T.astype(np.float64)
        return np.asarray(found[:, 0] if self.n_outputs == 1 else found)

    def clip(self, norm: Norm) -> float:
        """The norm of the longest gradients where scores are in order: nothing is cut off then."""
        q = np.array(self.quantiles)
        beyond = np.arange(len(q)) < np.arange(len(q) + 1)[:, None]
        sides = np.where(beyond, q, 1.0 - q) / np.maximum(q, 1.0 - q)
        return float(np.linalg.norm(sides, norm, axis=1).max())
