"""Noise for a strategy, and the error to expect from it."""

from __future__ import annotations

import math

from dpforest.privacy.additive import AdditiveNoise, Price
from dpforest.privacy.spends import Gaussian
from dpforest.privacy.strategies.strategies import Order, Strategy
from dpforest.privacy.strategies.workloads import Workload

LEAST_SCALE = 1e-3  # discrete Laplace noise of a smaller scale is zero but for one in e^1000


def order_of(price: Price) -> Order:
    """Laplace noise is calibrated to L1 norms, Gaussian noise to L2 norms."""
    return 2 if isinstance(price, Gaussian) else 1


def noise_for(strategy: Strategy, price: Price, steps: int = 1, changes: int = 1) -> AdditiveNoise:
    """The noise with which the measurements of a strategy cost at most the price.

    One added or removed record changes ``changes`` entries of the table by 1 each, in different
    classes: A x changes by at most changes * norm(1) in L1, and by sqrt(changes * norm(2)) in L2.
    Between neighbours there are ``steps`` such records.

    Examples
    --------
    >>> from dpforest.privacy.spends import Pure
    >>> from dpforest.privacy.strategies import WeightedMarginals
    >>> marginals = WeightedMarginals((2, 2), ((0,), (1,)), (3, 1))
    >>> noise_for(marginals, Pure(0.5)).parameter
    Fraction(8, 1)
    """
    # The root is rounded up by more than it can be off.
    l2 = steps * math.sqrt(changes * strategy.norm(2)) * (1 + 1e-15)
    return AdditiveNoise.for_price(price, l1=steps * changes * strategy.norm(1), l2=l2)


def expected_error(workload: Workload, strategy: Strategy, price: Price) -> float:
    """The expected squared error of all answers for one class, added up.

    For Laplace noise this is 2 / epsilon^2 * norm_1(A)^2 * |W A^+|_F^2 but for the discreteness of
    the noise, which makes it a little smaller.

    Examples
    --------
    >>> from dpforest.privacy.spends import Pure
    >>> from dpforest.privacy.strategies import Identity, marginals
    >>> workload = marginals((4, 4), [(0,), (1,)])
    >>> round(expected_error(workload, Identity((4, 4)), Pure(0.1)), 1)
    6394.7
    """
    noise = noise_for(strategy, price)
    if noise.parameter is None or (order_of(price) == 1 and noise.parameter < LEAST_SCALE):
        return 0.0
    return noise.deviation**2 * strategy.error(workload)
