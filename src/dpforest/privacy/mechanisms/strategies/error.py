"""Noise for a strategy, and the error to expect from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy.accounts.spends import Gaussian, Price
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.privacy.mechanisms.strategies.matrices import Order, Strategy
from dpforest.trees.workloads.linear import Workload
from dpforest.trees.workloads.of_trees import Paths


@dataclass(frozen=True)
class Change:
    """What one added or removed record changes in one cell of a table, over its classes.

    Parameters
    ----------
    l1 : int
        The sum of the absolute changes, at most.
    l2_squared : int
        The sum of their squares, at most.
    """

    l1: int
    l2_squared: int


ONE_COUNT = Change(1, 1)
TWO_HALVES = Change(2, 4)  # of votes that count in halves, and the most that any table changes


def order_of(price: Price) -> Order:
    """Laplace noise is calibrated to L1 norms, Gaussian noise to L2 norms."""
    return 2 if isinstance(price, Gaussian) else 1


def noise_for(
    strategy: Strategy, price: Price, steps: int = 1, change: Change = ONE_COUNT
) -> AdditiveNoise:
    """The noise with which the measurements of a strategy cost at most the price.

    One added or removed record changes one cell of the table, by a vector c over the classes: A x
    changes by one column of A times c, so by at most norm(1) |c|_1 in L1, and in L2 by the root of
    at most norm(2) |c|_2^2. Between neighbours there are ``steps`` such records.

    Examples
    --------
    >>> from dpforest.privacy.accounts.spends import Pure
    >>> from dpforest.privacy.mechanisms.strategies import WeightedMarginals
    >>> marginals = WeightedMarginals((2, 2), ((0,), (1,)), (3, 1))
    >>> noise_for(marginals, Pure(0.5)).parameter
    Fraction(8, 1)
    """
    # The root is rounded up by more than it can be off.
    l2 = steps * math.sqrt(change.l2_squared * strategy.norm(2)) * (1 + 1e-15)
    return AdditiveNoise.for_price(price, l1=steps * change.l1 * strategy.norm(1), l2=l2)


def measured(
    strategy: Strategy, tables: Sequence[NDArray[np.int64]], n_classes: int
) -> NDArray[np.int64]:
    """A x from the exact tables, when they are the marginals that `norm` speaks of.

    A table of another shape than its marginal would be weighted by more rows than the norm counts,
    and the noise would be too small for it: ValueError, before anything is released.
    """
    for attributes, table in zip(strategy.tables, tables, strict=True):
        expected = (*(strategy.domain[i] for i in attributes), n_classes)
        if table.shape != expected:
            raise ValueError(
                f"the marginal over {attributes} has the shape {table.shape}, expected {expected}: "
                "nothing was released"
            )
    return strategy.measure(tables)


def expected_error(workload: Workload, strategy: Strategy, price: Price) -> float:
    """The expected squared error of all answers for one class, added up.

    For Laplace noise this is 2 / epsilon^2 * norm_1(A)^2 * |W A^+|_F^2 but for the discreteness of
    the noise, which makes it a little smaller.

    Examples
    --------
    >>> from dpforest.privacy.accounts.spends import Pure
    >>> from dpforest.privacy.mechanisms.strategies import Identity
    >>> from dpforest.trees.workloads import marginals
    >>> workload = marginals((4, 4), [(0,), (1,)])
    >>> round(expected_error(workload, Identity((4, 4)), Pure(0.1)), 1)
    6394.7
    """
    deviation = noise_for(strategy, price).deviation
    return deviation**2 * strategy.error(workload) if deviation else 0.0


def answer_deviations(
    workload: Workload, strategy: Strategy, noise: AdditiveNoise
) -> NDArray[np.float64]:
    """The standard deviation of each answer: public, as it follows from the strategy.

    Leaves of one marginal share theirs, and so do all answers of other workloads: the root of the
    mean of the variances.

    Examples
    --------
    Two stumps on features with 4 and 2 values, from a table measured cell by cell:

    >>> from dpforest.privacy.accounts.spends import Pure
    >>> from dpforest.privacy.mechanisms.strategies import Identity
    >>> stumps = Paths((4, 2), np.array([[0, -1], [1, -1], [2, -1], [3, -1], [-1, 0], [-1, 1]]))
    >>> noise = noise_for(Identity((4, 2)), Pure(0.1))
    >>> answer_deviations(stumps, Identity((4, 2)), noise).round(1).tolist()
    [20.0, 20.0, 20.0, 20.0, 28.3, 28.3]
    """
    deviations = np.zeros(workload.n_queries)
    if noise.deviation:
        parts = workload.by_marginal() if isinstance(workload, Paths) else [(slice(None), workload)]
        for rows, part in parts:
            deviations[rows] = noise.deviation * math.sqrt(strategy.error(part) / part.n_queries)
    return deviations
