"""Strategies: integer matrices A whose noisy answers estimate a whole workload.

The matrix mechanism (Li et al. 2015) measures y = A x + noise, the noise calibrated to A, and
answers W x by W A^+ y. All matrices here are *integer*: optimised real weights are rounded to a
grid first, and everything (sensitivity, error, estimate) is that of the rounded matrix. So exact
integer noise gives an exact guarantee:

**Privacy.** Let x be the contingency table, cells by classes. An added or removed record changes
one cell of one class by 1, so A x changes, in that class, by one column of A: by at most
``norm(1)`` in L1, the largest column sum of absolute values, and by at most the root of
``norm(2)`` in L2. Both are integers computed exactly. Discrete Laplace noise of scale
norm(1) / epsilon on each entry of A x is then epsilon-DP, and discrete Gaussian noise of variance
sigma2 is mu-GDP with mu = sqrt(norm(2)) / sqrt(sigma2 - 4). The matrix depends on the workload
only, which is public; W A^+ y is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from scipy import linalg, sparse

from dpforest.arrays import Integers, Values
from dpforest.trees.workloads.estimates import FullTable, SomeTables
from dpforest.trees.workloads.lattice import Attributes
from dpforest.trees.workloads.linear import Domain, Workload, apply_along

Order = Literal[1, 2]


class Strategy(Protocol):
    """An integer matrix A over a domain, and how to answer workloads from A x + noise."""

    @property
    def domain(self) -> Domain:
        """The sizes of the attributes of x."""
        ...

    @property
    def tables(self) -> tuple[Attributes, ...]:
        """The marginals of x from which A x is computed."""
        ...

    def norm(self, order: Order) -> int:
        """The largest L1 norm of a column, or the largest squared L2 norm."""
        ...

    def error(self, workload: Workload) -> float:
        """The squared Frobenius norm of W A^+: the error for noise of variance 1."""
        ...

    def measure(self, tables: Sequence[Integers]) -> Integers:
        """A x from the exact tables, shape (rows of A, n_classes)."""
        ...

    def answer(self, workload: Workload, noisy: Integers | Values) -> Values:
        """W A^+ y."""
        ...


@dataclass(frozen=True)
class Identity:
    """Every cell by itself: A is the identity.

    Parameters
    ----------
    domain : tuple of int
    """

    domain: Domain

    @property
    def tables(self) -> tuple[Attributes, ...]:
        """The whole table."""
        return (tuple(range(len(self.domain))),)

    def norm(self, order: Order) -> int:
        """A record is in one cell."""
        return 1

    def error(self, workload: Workload) -> float:
        """The squared Frobenius norm of W."""
        return float(workload.energies().sum())

    def measure(self, tables: Sequence[Integers]) -> Integers:
        """The cells."""
        return tables[0].reshape(-1, tables[0].shape[-1])

    def answer(self, workload: Workload, noisy: Integers | Values) -> Values:
        """W y."""
        table = noisy.astype(np.float64).reshape(*self.domain, noisy.shape[-1])
        return workload.answer(FullTable(table))


@dataclass(frozen=True)
class Direct:
    """The queries themselves, with noise for all of them (plain Laplace): A = W.

    The noise is added to the answers and left as it is.

    Parameters
    ----------
    workload : Workload
    sensitivity : int, optional
        What one record changes at most, when a coarser bound than W's largest column sum is wanted.
    """

    workload: Workload
    sensitivity: int | None = None

    def __post_init__(self) -> None:
        # Rounding the answers of real-valued queries would change their sensitivity.
        if not self.workload.whole:
            raise ValueError(
                "queries with fractions cannot be asked directly: multiply them to whole numbers, "
                "or choose another strategy"
            )

    @property
    def domain(self) -> Domain:
        """That of the queries."""
        return self.workload.domain

    @property
    def tables(self) -> tuple[Attributes, ...]:
        """The marginals that are asked for."""
        return self.workload.asked

    def norm(self, order: Order) -> int:
        """The largest column sum; its square bounds the squared L2 norm."""
        bound = self.sensitivity or self.workload.column_norm()
        return bound if order == 1 else bound**2

    def error(self, workload: Workload) -> float:
        """Noise of variance 1 on each query."""
        return float(workload.n_queries)

    def measure(self, tables: Sequence[Integers]) -> Integers:
        """The exact answers."""
        found = dict(zip(self.tables, (t.astype(np.float64) for t in tables), strict=True))
        return np.rint(self.workload.answer(SomeTables(found))).astype(np.int64)

    def answer(self, workload: Workload, noisy: Integers | Values) -> Values:
        """The noisy answers."""
        return noisy.astype(np.float64)


@dataclass(frozen=True)
class Finer:
    """A strategy on a finer grid: everything is multiplied by a whole number.

    Gaussian noise of a few grid steps would cost more than it should (see `accounting`).

    Parameters
    ----------
    strategy : Strategy
    factor : int
    """

    strategy: Strategy
    factor: int

    @property
    def domain(self) -> Domain:
        """That of the strategy."""
        return self.strategy.domain

    @property
    def tables(self) -> tuple[Attributes, ...]:
        """Those of the strategy."""
        return self.strategy.tables

    def norm(self, order: Order) -> int:
        """Multiplied."""
        return int(self.factor**order) * self.strategy.norm(order)

    def error(self, workload: Workload) -> float:
        """Divided by the square."""
        return self.strategy.error(workload) / self.factor**2

    def measure(self, tables: Sequence[Integers]) -> Integers:
        """Multiplied."""
        return self.factor * self.strategy.measure(tables)

    def answer(self, workload: Workload, noisy: Integers | Values) -> Values:
        """From what was measured, divided."""
        return self.strategy.answer(workload, noisy / self.factor)


@dataclass(frozen=True)
class Kronecker:
    """A Kronecker product of small strategies, one for each attribute.

    Parameters
    ----------
    factors : tuple of ndarrays of int64
        Each of full column rank.
    """

    factors: tuple[Integers, ...]

    @property
    def domain(self) -> Domain:
        """The columns of the factors."""
        return tuple(f.shape[1] for f in self.factors)

    @property
    def tables(self) -> tuple[Attributes, ...]:
        """The whole table."""
        return (tuple(range(len(self.factors))),)

    def norm(self, order: Order) -> int:
        """The product of the norms of the factors, as columns multiply."""
        # In Python's integers: the product of many factors outgrows 64 bits.
        return math.prod(int((np.abs(f) ** order).sum(axis=0).max()) for f in self.factors)

    def error(self, workload: Workload) -> float:
        """By the inverses of the factors' Gram matrices, never of the whole."""
        return workload.product_error([linalg.inv((f.T @ f).astype(float)) for f in self.factors])

    def measure(self, tables: Sequence[Integers]) -> Integers:
        """Multiply the table by one factor after the other."""
        # Tensor products of integers stay integers.
        product = apply_along(self.factors, tables[0])  # type: ignore[arg-type]
        return product.reshape(-1, product.shape[-1]).astype(np.int64)

    def answer(self, workload: Workload, noisy: Integers | Values) -> Values:
        """Multiply by one pseudo-inverse after the other."""
        shape = tuple(len(f) for f in self.factors)
        y = noisy.astype(np.float64).reshape(*shape, noisy.shape[-1])
        inverses = [linalg.pinv(f.astype(np.float64)) for f in self.factors]
        return workload.answer(FullTable(apply_along(inverses, y)))


@dataclass(frozen=True)
class PIdentity:
    """A weighted identity with p more rows below it (McKenna et al. 2018), on small domains.

    Parameters
    ----------
    domain : tuple of int
    diagonal : ndarray of int64, shape (n_cells,)
        Positive.
    rows : sparse array of int64, shape (p, n_cells)
        Non-negative.
    """

    domain: Domain
    diagonal: Integers
    rows: sparse.csr_array

    @property
    def tables(self) -> tuple[Attributes, ...]:
        """The whole table."""
        return (tuple(range(len(self.domain))),)

    def norm(self, order: Order) -> int:
        """The largest column sum, or sum of squares."""
        below = self.rows.power(order).sum(axis=0)
        return int((self.diagonal**order + np.asarray(below).ravel()).max())

    def error(self, workload: Workload) -> float:
        """By the Woodbury identity: an inverse of size p only."""
        scaled = workload.matrix() @ sparse.diags_array(1.0 / self.diagonal)
        through = (self._scaled @ scaled.T).toarray()
        saved = linalg.cho_solve(self._small, through)
        return float(scaled.multiply(scaled).sum() - (through * saved).sum())

    def measure(self, tables: Sequence[Integers]) -> Integers:
        """The cells, weighted, and the rows."""
        x = tables[0].reshape(-1, tables[0].shape[-1])
        return np.concatenate([self.diagonal[:, None] * x, self.rows @ x])

    def answer(self, workload: Workload, noisy: Integers | Values) -> Values:
        """Least squares by the Woodbury identity."""
        y = noisy.astype(np.float64)
        n = len(self.diagonal)
        z = y[:n] + self._scaled.T @ y[n:]
        z = z - self._scaled.T @ linalg.cho_solve(self._small, self._scaled @ z)
        table = (z / self.diagonal[:, None]).reshape(*self.domain, y.shape[-1])
        return workload.answer(FullTable(table))

    @cached_property
    def _scaled(self) -> sparse.csr_array:
        """The rows over the diagonal."""
        return sparse.csr_array(self.rows @ sparse.diags_array(1.0 / self.diagonal))

    @cached_property
    def _small(self) -> tuple[Values, bool]:
        """The Cholesky factor of I + R D^-2 R^T."""
        p = self.rows.shape[0]
        factor: tuple[Values, bool] = linalg.cho_factor(
            np.eye(p) + (self._scaled @ self._scaled.T).toarray()
        )
        return factor
