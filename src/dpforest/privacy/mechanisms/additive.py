"""Additive noise for a price: which noise an integer total needs so that it costs so much."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy.accounts.accounting import sigma2_for
from dpforest.privacy.accounts.mechanisms_used import DiscreteGaussian, DiscreteLaplace
from dpforest.privacy.accounts.spends import Gaussian, Price, Spend
from dpforest.privacy.mechanisms import noise
from dpforest.privacy.mechanisms.randomness import RandomBits

LEAST_SCALE = 1e-3  # discrete Laplace noise of a smaller scale is zero but for one in e^1000


@dataclass(frozen=True)
class AdditiveNoise:
    """Discrete noise on the integers, and what a release with it costs.

    Parameters
    ----------
    made : DiscreteLaplace or DiscreteGaussian
        The noise and the sensitivity; the true cost follows, never above the price asked for.
    """

    made: DiscreteLaplace | DiscreteGaussian

    @classmethod
    def for_price(cls, price: Price, *, l1: int, l2: float) -> AdditiveNoise:
        """The noise with which integer totals of these sensitivities cost at most the price.

        A pure price takes discrete Laplace noise of scale l1 / epsilon: the probability of an
        output changes by at most exp(l1 / scale). A Gaussian price takes discrete Gaussian noise
        whose mu, l2 over its deviation, is proved in ``docs/privacy/gaussian.md``.

        Examples
        --------
        >>> from dpforest.privacy.accounts.spends import Pure
        >>> round(AdditiveNoise.for_price(Pure(0.5), l1=2, l2=2.0).deviation, 2)
        5.64
        """
        if isinstance(price, Gaussian):
            sigma2 = 0 if price.mu == math.inf else sigma2_for(l2, price.mu)
            if sigma2 > noise.GAUSSIAN_LIMIT:
                raise ValueError(
                    f"mu = {price.mu:.3g} at sensitivity {l2:.3g} needs more noise than the exact "
                    "sampler draws: use a larger epsilon or a coarser grid. This release was not "
                    "made, and costs nothing"
                )
            return cls(DiscreteGaussian(sigma2, l2))
        if math.isinf(price.epsilon):
            return cls(DiscreteLaplace(0, l1))
        return cls(DiscreteLaplace(noise.laplace_scale(price.epsilon, l1)[0], l1))

    @cached_property
    def loss(self) -> Price:
        """The true cost of a release."""
        return self.made.loss

    @property
    def parameter(self) -> Fraction | None:
        """The scale of the discrete Laplace, the variance of the discrete Gaussian; None: none."""
        made = self.made
        amount = made.sigma2 if isinstance(made, DiscreteGaussian) else made.scale
        return Fraction(amount) or None

    def spend(self, label: str, grid: float) -> Spend:
        """A release with this noise, where the statistic has so many steps in a unit."""
        return Spend(label, self.mechanism(grid), self.loss, made=self.made)

    def mechanism(self, grid: float) -> str:
        """What the ledger says of it, where the statistic has so many steps in a unit."""
        if self.parameter is None:
            return "no noise"
        if isinstance(self.loss, Gaussian):
            return f"discrete Gaussian, sigma = {self.deviation / grid:.4g}"
        return f"discrete Laplace, scale = {float(self.parameter) / grid:.4g}"

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise."""
        if self.parameter is None:
            return 0.0
        if isinstance(self.loss, Gaussian):
            return math.sqrt(self.parameter)
        if self.parameter < LEAST_SCALE:
            return 0.0
        # Var = 2 r / (1 - r)^2 with r = exp(-1 / scale).
        return math.sqrt(0.5) / math.sinh(0.5 / float(self.parameter))

    def added_to(self, totals: NDArray[np.int64], bits: RandomBits) -> NDArray[np.int64]:
        """The totals with noise."""
        if self.parameter is None:
            return totals
        draw = (
            noise.discrete_gaussian if isinstance(self.loss, Gaussian) else noise.discrete_laplace
        )
        return totals + draw(self.parameter, totals.shape, bits)
