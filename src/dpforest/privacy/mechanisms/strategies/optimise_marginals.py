"""Search for the weights of marginals, by the workload alone: costs no privacy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from dpforest.arrays import Values
from dpforest.privacy.mechanisms.strategies.marginal_strategies import (
    WeightedMarginals,
    WeightedResiduals,
)
from dpforest.privacy.mechanisms.strategies.matrices import Order
from dpforest.privacy.mechanisms.strategies.optimise import GRID_BITS, HUGE_LOG_ERROR
from dpforest.trees.workloads.lattice import (
    attributes_of,
    product_over,
    subset_sums,
    superset_differences,
    superset_sums,
)
from dpforest.trees.workloads.linear import Workload

RESIDUAL_BITS = 30  # of the squared norm of a column
MAX_TABLE_CELLS = 1 << 20  # larger marginals are not measured


def best_marginals(workload: Workload, order: Order) -> WeightedMarginals | None:
    """The marginals to measure, and their weights; None where no marginal is small enough.

    The error is (norm of the weights)^2 * sum_U energy_U / eigenvalue_U over the subsets U.
    For L2 norms it is a convex problem in the squared weights, and the search starts from the
    optimum that `best_residuals` has in closed form. For L1 norms there are many local optima,
    the identity among them; the search starts from several.
    """
    sizes = [float(n) for n in workload.domain]
    energies = workload.energies()
    cells = product_over([1.0] * len(sizes), sizes)
    allowed = cells <= MAX_TABLE_CELLS
    if not allowed.any():
        return None
    search = _MarginalSearch(sizes, energies, allowed, order)
    squares = search.best_squares()
    if squares is None:
        return None
    return _rounded_marginals(workload.domain, np.sqrt(squares))


class _MarginalSearch:
    """The error as a function of squared weights, and its minimum."""

    def __init__(
        self, sizes: Sequence[float], energies: Values, allowed: NDArray[np.bool_], order: Order
    ) -> None:
        self.sizes, self.order, self.allowed = sizes, order, allowed
        # Rounding leaves specks of energy in spaces that no query touches.
        self.energies = np.where(energies > energies.max() * 1e-12, energies, 0.0) / energies.max()
        self.summed = product_over(sizes, [1.0] * len(sizes))

    def best_squares(self) -> Values | None:
        starts = [self._closed_form()] if self.order == 2 else self._starts()
        found = [self._descend(s) for s in starts if self._eigenvalues_suffice(s)]
        return min(found, key=self.log_error) if found else None

    def log_error(self, squares: Values) -> float:
        return self._value(np.sqrt(squares))[0]

    def _eigenvalues_suffice(self, squares: Values) -> bool:
        eigenvalues = superset_sums(squares * self.summed)
        return bool((eigenvalues[self.energies > 0] > 0).all())

    def _closed_form(self) -> Values:
        eigenvalues = _best_eigenvalues(self.sizes, self.energies)
        squares = superset_differences(eigenvalues) / self.summed
        squares = np.where(self.allowed, np.maximum(squares, 0.0), 0.0)
        return self._at_least_something(squares)

    def _starts(self) -> list[Values]:
        """The identity, the asked-for marginals, each level of the lattice, the best product."""
        d = len(self.sizes)
        level = np.array([bin(i).count("1") for i in range(2**d)])
        starts = [(level == k) & self.allowed for k in range(1, d + 1)]
        largest = np.where(self.energies > 0, level, -1)
        starts.append((level == largest.max()) & (self.energies > 0) & self.allowed)
        squares = [np.where(s, 1.0, 0.0) for s in starts if s.any()]
        return [*squares, np.where(self.allowed, self._best_product() ** 2, 0.0)]

    def _best_product(self) -> Values:
        """Weights of the form prod a_i, prod (1 - a_i): symmetric Kronecker strategies."""

        def weights(z: Values) -> Values:
            a = 1 / (1 + np.exp(-z))
            return product_over(list(1 - a), list(a))

        result = optimize.minimize(
            lambda z: self._value(weights(z))[0],
            np.full(len(self.sizes), 2.0),
            method="L-BFGS-B",
            bounds=[(-8, 8)] * len(self.sizes),
            options={"maxiter": 30},
        )
        return weights(result.x)

    def _at_least_something(self, squares: Values) -> Values:
        return np.where(self.allowed, squares + squares.max() * 1e-6, 0.0)

    def _value(self, weights: Values) -> tuple[float, Values]:
        """The logarithm of the error and its gradient by the weights."""
        eigenvalues = superset_sums(weights**2 * self.summed)
        if eigenvalues[0] == 0:  # a step of the search that leaves nothing: send it back
            return HUGE_LOG_ERROR, np.zeros_like(weights)
        # A space that is not measured has a huge error, but a finite one to climb down from.
        eigenvalues = np.maximum(eigenvalues, eigenvalues.max() * 1e-20)
        shares = self.energies / eigenvalues
        error = shares.sum()
        slope = -2 * weights * self.summed * subset_sums(shares / eigenvalues) / error
        norm = weights.sum() if self.order == 1 else (weights**2).sum()
        outward = 2 / norm if self.order == 1 else 2 * weights / norm
        power = 2 if self.order == 1 else 1
        return power * np.log(norm) + np.log(error), slope + outward

    def _descend(self, squares: Values) -> Values:
        """L-BFGS over the weights for L1, over their squares (a convex problem) for L2."""
        free = np.flatnonzero(self.allowed)
        start = self._at_least_something(squares)[free] ** (self.order / 2)
        full = np.zeros(len(self.allowed))

        def value(x: Values) -> tuple[float, Values]:
            full[free] = x if self.order == 1 else np.sqrt(x)
            error, slope = self._value(full)
            if self.order == 2:
                slope = slope / np.maximum(2 * full, 1e-150)
            return error, slope[free]

        result = optimize.minimize(
            value,
            start / start.max(),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0 if self.order == 1 else 1e-12, None)] * len(free),
            options={"maxiter": 200},
        )
        out = np.zeros(len(self.allowed))
        out[free] = result.x ** (2 / self.order)
        return out


def _rounded_marginals(domain: tuple[int, ...], weights: Values) -> WeightedMarginals:
    scale = 2**GRID_BITS / weights.max()
    whole = np.rint(weights * scale).astype(np.int64)
    kept = np.flatnonzero(whole)
    divisor = int(np.gcd.reduce(whole[kept]))
    return WeightedMarginals(
        domain,
        tuple(attributes_of(int(s), len(domain)) for s in kept),
        tuple(int(w) // divisor for w in whole[kept]),
    )


def best_residuals(workload: Workload) -> WeightedResiduals | None:
    """The residuals to measure for L2 norms; None where a table is too large.

    The squared norm of a column is sum_U eigenvalue_U * dimension_U / n, the error sum_U energy_U /
    eigenvalue_U; their product is least where eigenvalue_U ~ sqrt(energy_U / dimension_U). No
    strategy that treats the values of an attribute alike has a smaller error.
    """
    sizes = [float(n) for n in workload.domain]
    ones = [1.0] * len(sizes)
    energies = workload.energies()
    eigenvalues = _best_eigenvalues(sizes, energies * (energies > energies.max() * 1e-12))
    cells = product_over(ones, sizes)
    if (cells[eigenvalues > 0] > MAX_TABLE_CELLS).any():
        return None
    squares = eigenvalues / (cells * float(np.prod(sizes)))
    column = (squares * product_over(ones, [n * (n - 1) for n in sizes])).sum()
    # The finest grid that the noise sampler can follow down to a small mu.
    whole = np.rint(np.sqrt(squares * (2.0**RESIDUAL_BITS / column))).astype(np.int64)
    whole = np.maximum(whole, eigenvalues > 0)
    kept = np.flatnonzero(whole)
    return WeightedResiduals(
        workload.domain,
        tuple(attributes_of(int(s), len(sizes)) for s in kept),
        tuple(int(w) for w in whole[kept]),
    )


def _best_eigenvalues(sizes: Sequence[float], energies: Values) -> Values:
    dimension = product_over([1.0] * len(sizes), [n - 1 for n in sizes])
    # An attribute with a single value has no residual spaces of its own.
    safe = np.where(dimension > 0, dimension, np.inf)
    return np.asarray(np.sqrt(energies * float(np.prod(sizes)) / safe))
