"""What noise and chance do to a linear model that noisy descent found."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from dpforest.arrays import Values
from dpforest.report.noise_runs import RUNS, Chance
from dpforest.trees.linear import LinearDesign

HEARD_OF_NOISE = 0.8  # noise comes anew with every step, and the last is not yet taken back


@dataclass(frozen=True)
class DescentNoise:
    """What noise does to the weights of a linear model that noisy descent found.

    Parameters
    ----------
    deviation : float
        Of the noise in a weight, if no step took back what those before did.
    reach : float
        By how much a unit of the gradient, the same in every step, would move a weight then.
    factor : float, default=1.0
        What scores were multiplied by since.
    """

    deviation: float
    reach: float
    factor: float = 1.0

    @classmethod
    def of_steps(cls, n_steps: int, rate: float, momentum: float, deviation: float) -> DescentNoise:
        """That of steps with momentum, of which the later half is averaged.

        What is added in step s moves the weights after step t by a geometric sum.

        Examples
        --------
        >>> DescentNoise.of_steps(2, 0.1, 0.0, 3.0)
        DescentNoise(deviation=0.42..., reach=0.2, factor=1.0)
        """
        begun, later = np.arange(n_steps)[:, None], np.arange((n_steps + 1) // 2, n_steps)
        moved = (1.0 - momentum ** np.maximum(later - begun + 1, 0)) / (1.0 - momentum)
        parts = rate * moved.mean(axis=1)
        return cls(deviation * float(np.sqrt((parts**2).sum())), float(parts.sum()))

    @property
    def is_none(self) -> bool:
        """Whether there was no descent, but a choice as a whole, of which no noise is known."""
        return self.deviation == 0.0 == self.reach

    def multiplied(self, times: float) -> DescentNoise:
        """The same where all scores are multiplied."""
        return replace(self, factor=times * self.factor)

    def weights(
        self, design: LinearDesign, shares: tuple[Values, ...], hessian: float, chance: Chance
    ) -> Values:
        """Weights that learnt from noise alone, shape (RUNS, n_weights).

        Steps take back what earlier ones did wrong, as far as gradients hear of it: what is left
        after a way of so many units is that of a weight that fades at this rate. The deviation is
        right to a fifth, as following the steps one by one shows. ``hessian`` is that of all
        records. A feature may have one weight, so these are drawn as normal numbers: of signs,
        every square would be the same, and the least that is more would stand out.
        """
        squares = np.zeros(design.n_weights)
        squares[0] = design.constant**2
        for place, size, of_bins in zip(design.place, design.size, shares, strict=True):
            n = len(of_bins)
            np.add.at(squares, place[:n], of_bins * size[:n] ** 2)
        curvature = hessian * squares
        variance, heard = chance.at_first
        way = heard * self.reach * curvature
        by_chance = self.reach * _left(way) * np.sqrt(variance * curvature)
        spread = np.hypot(self.deviation * _left(HEARD_OF_NOISE * way), by_chance)
        return np.asarray(self.factor * spread * _normal(design.n_weights))


def _left(way: Values) -> Values:
    """The mean of what is left of a move on such a way, if it fades at a steady rate."""
    way = np.maximum(way, 1e-9)
    return np.asarray(-np.expm1(-way) / way)


def _normal(n: int) -> Values:
    """Normal numbers of deviation 1, the same in another order for each weight."""
    quantiles = ndtri((np.arange(RUNS) + 0.5) / RUNS)
    quantiles /= quantiles.std()
    return np.asarray(np.random.default_rng(1).permuted(np.tile(quantiles, (n, 1)), axis=1).T)
