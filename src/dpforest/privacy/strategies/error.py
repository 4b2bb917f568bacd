"""Noise for a strategy, and the error to expect from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpforest.privacy.accounting import mu_of_discrete_gaussian, sigma2_for
from dpforest.privacy.noise import laplace_scale
from dpforest.privacy.spends import Gaussian, Pure
from dpforest.privacy.strategies.strategies import Order, Strategy
from dpforest.privacy.strategies.workloads import Workload

Budget = Pure | Gaussian


@dataclass(frozen=True)
class Calibration:
    """Noise on the integer grid: its kind, its parameter, and what it truly costs.

    Parameters
    ----------
    scale : Fraction, optional
        Of discrete Laplace noise.
    sigma2 : int, optional
        Of discrete Gaussian noise. Neither: no noise.
    loss : Pure or Gaussian
        At most the budget.
    """

    scale: Fraction | None
    sigma2: int | None
    loss: Budget

    @property
    def mechanism(self) -> str:
        """For the ledger."""
        return "discrete Gaussian" if isinstance(self.loss, Gaussian) else "discrete Laplace"

    @property
    def variance(self) -> float:
        """Of the noise, in squared grid units."""
        if self.sigma2 is not None:
            return float(self.sigma2)
        return 0.0 if self.scale is None else laplace_variance(float(self.scale))


def order_of(budget: Budget) -> Order:
    """Laplace noise is calibrated to L1 norms, Gaussian noise to L2 norms."""
    return 2 if isinstance(budget, Gaussian) else 1


def calibrate(strategy: Strategy, budget: Budget, steps: int = 1, changes: int = 1) -> Calibration:
    """The noise for a strategy.

    One added or removed record changes ``changes`` entries of the table by 1 each, in different
    classes: A x changes by at most changes * norm(1) in L1, and by sqrt(changes * norm(2)) in L2.
    Between neighbours there are ``steps`` such records.
    """
    if isinstance(budget, Gaussian):
        if math.isinf(budget.mu):
            return Calibration(None, None, budget)
        # The root is rounded up by more than it can be off.
        sensitivity = steps * math.sqrt(changes * strategy.norm(2)) * (1 + 1e-15)
        sigma2 = sigma2_for(sensitivity, budget.mu)
        return Calibration(None, sigma2, Gaussian(mu_of_discrete_gaussian(sensitivity, sigma2)))
    if isinstance(budget.epsilon, float):
        return Calibration(None, None, budget)
    scale, spent = laplace_scale(budget.epsilon, steps * changes * strategy.norm(1))
    return Calibration(scale, None, Pure(spent))


def laplace_variance(scale: float) -> float:
    """The variance of discrete Laplace noise: just below 2 * scale^2.

    Examples
    --------
    >>> round(laplace_variance(10.0), 3)
    199.833
    """
    return 0.5 / math.sinh(0.5 / scale) ** 2 if scale > 1e-3 else 0.0


def expected_error(workload: Workload, strategy: Strategy, budget: Budget) -> float:
    """The expected squared error of all answers for one class, added up.

    For Laplace noise this is 2 / epsilon^2 * norm_1(A)^2 * |W A^+|_F^2 but for the discreteness of
    the noise, which makes it a little smaller.

    Examples
    --------
    >>> from dpforest.privacy.strategies import Identity, marginals
    >>> workload = marginals((4, 4), [(0,), (1,)])
    >>> round(expected_error(workload, Identity((4, 4)), Pure(0.1)), 1)
    6394.7
    """
    return calibrate(strategy, budget).variance * strategy.error(workload)
