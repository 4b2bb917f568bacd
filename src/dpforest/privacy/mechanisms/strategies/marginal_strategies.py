"""Strategies that measure marginals: no matrix of the size of the domain is ever built."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpforest.arrays import Integers, Values
from dpforest.privacy.mechanisms.strategies.matrices import Order
from dpforest.trees.workloads.estimates import Residuals, residual_parts
from dpforest.trees.workloads.lattice import (
    Attributes,
    product_over,
    subset_index,
    superset_sums,
)
from dpforest.trees.workloads.linear import Domain, Workload


@dataclass(frozen=True)
class _Weighted:
    """Some marginals, each with a whole number.

    Parameters
    ----------
    domain : tuple of int
    subsets : tuple of tuples of int
        The attributes of each marginal.
    weights : tuple of int
        Positive; a larger weight means less noise.
    """

    domain: Domain
    subsets: tuple[Attributes, ...]
    weights: tuple[int, ...]

    @property
    def tables(self) -> tuple[Attributes, ...]:
        """The marginals."""
        return self.subsets


class WeightedMarginals(_Weighted):
    """The marginals, each multiplied by its number (McKenna et al. 2018, OPT_M)."""

    def norm(self, order: Order) -> int:
        """A record is in one cell of each marginal: a sum of weights, or of their squares."""
        return sum(weight**order for weight in self.weights)

    @cached_property
    def eigenvalues(self) -> Values:
        """Those of A^T A, one for each residual space."""
        squares = np.zeros(2 ** len(self.domain))
        for subset, weight in zip(self.subsets, self.weights, strict=True):
            squares[subset_index(subset, len(self.domain))] = float(weight) ** 2
        cells_summed = product_over([float(n) for n in self.domain], [1.0] * len(self.domain))
        return superset_sums(squares * cells_summed)

    def error(self, workload: Workload) -> float:
        """The energies of W over the eigenvalues; infinite where something is not measured."""
        return _error_by_eigenvalues(workload, self.eigenvalues)

    def measure(self, tables: Sequence[Integers]) -> Integers:
        """The cells of all marginals, weighted."""
        weighted = [
            w * t.reshape(-1, t.shape[-1]) for w, t in zip(self.weights, tables, strict=True)
        ]
        return np.concatenate(weighted)

    def answer(self, workload: Workload, noisy: Integers | Values) -> Values:
        """Least squares, in each residual space by itself."""
        d, n_classes = len(self.domain), noisy.shape[-1]
        parts: dict[Attributes, Values] = {}
        start = 0
        for subset, weight in zip(self.subsets, self.weights, strict=True):
            shape = tuple(self.domain[i] for i in subset)
            stop = start + int(np.prod(shape))
            table = weight * noisy[start:stop].astype(np.float64).reshape(*shape, n_classes)
            start = stop
            for attributes, part in residual_parts(table, subset).items():
                scaled = part / self.eigenvalues[subset_index(attributes, d)]
                parts[attributes] = parts[attributes] + scaled if attributes in parts else scaled
        return workload.answer(Residuals(self.domain, parts))


class WeightedResiduals(_Weighted):
    """The residuals of the marginals, each multiplied by its number; for Gaussian noise.

    The rows for a subset U are its marginal times the Kronecker product of n_i I - J (J all ones)
    over its attributes: integers, and zero for everything but the residual space U. Only where
    noise is calibrated to L2 norms is this better than measuring the marginals themselves.
    """

    def norm(self, order: Order) -> int:
        """A column of n I - J has one entry n - 1 and n - 1 entries -1."""
        total = 0
        for subset, weight in zip(self.subsets, self.weights, strict=True):
            sizes = (self.domain[i] for i in subset)
            norms = [2 * (n - 1) if order == 1 else n * (n - 1) for n in sizes]
            total += weight**order * math.prod(norms)
        return total

    def error(self, workload: Workload) -> float:
        """The energies of W over the eigenvalues."""
        eigenvalues = np.zeros(2 ** len(self.domain))
        n = math.prod(self.domain)
        for subset, weight in zip(self.subsets, self.weights, strict=True):
            cells = math.prod(self.domain[i] for i in subset)
            eigenvalues[subset_index(subset, len(self.domain))] = float(weight**2 * cells * n)
        return _error_by_eigenvalues(workload, eigenvalues)

    def measure(self, tables: Sequence[Integers]) -> Integers:
        """Centre each marginal along each attribute, without leaving the integers."""
        rows = []
        for weight, table in zip(self.weights, tables, strict=True):
            for axis in range(table.ndim - 1):
                table = table.shape[axis] * table - table.sum(axis=axis, keepdims=True)
            rows.append(weight * table.reshape(-1, table.shape[-1]))
        return np.concatenate(rows)

    def answer(self, workload: Workload, noisy: Integers | Values) -> Values:
        """Each residual space is estimated by its own rows."""
        parts: dict[Attributes, Values] = {}
        start = 0
        for subset, weight in zip(self.subsets, self.weights, strict=True):
            shape = tuple(self.domain[i] for i in subset)
            stop = start + math.prod(shape)
            table = noisy[start:stop].astype(np.float64).reshape(*shape, noisy.shape[-1])
            start = stop
            residual = residual_parts(table, subset)[subset]
            parts[subset] = residual / (float(weight) * math.prod(self.domain))
        return workload.answer(Residuals(self.domain, parts))


def _error_by_eigenvalues(workload: Workload, eigenvalues: Values) -> float:
    energies = workload.energies()
    asked = energies > energies.max() * 1e-12
    if (eigenvalues[asked] == 0).any():
        return float("inf")
    return float((energies[asked] / eigenvalues[asked]).sum())
