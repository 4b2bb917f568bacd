"""Workloads: many counting queries over a product domain, kept implicit.

A domain is the product of attributes with ``domain[i]`` values each; its cells are never listed
when they are many. A workload W answers what strategies need to know of it: its energy in the
residual spaces, its error under a product strategy, and, for small domains only, its matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpforest.arrays import Values
from dpforest.trees.workloads.estimates import Estimate
from dpforest.trees.workloads.lattice import Attributes, product_over

Domain = tuple[int, ...]


class Workload(Protocol):
    """Counting queries over a domain, the rows of a matrix W with non-negative entries."""

    @property
    def domain(self) -> Domain:
        """The number of values of each attribute."""
        ...

    @property
    def n_queries(self) -> int:
        """The rows of W."""
        ...

    @property
    def asked(self) -> tuple[Attributes, ...]:
        """The marginals from which every query can be answered."""
        ...

    @property
    def whole(self) -> bool:
        """Whether all entries of W are whole numbers."""
        ...

    def energies(self) -> Values:
        """The squared Frobenius norm of W within each residual space, shape (2^d,)."""
        ...

    def product_error(self, inverses: Sequence[Values]) -> float:
        """The trace of W (X_1 x ... x X_d) W^T, for symmetric X_i."""
        ...

    def partial_gram(self, i: int, inverses: Sequence[Values]) -> Values:
        """The matrix G for which `product_error` is trace(G X_i), all other X_j held fixed."""
        ...

    def column_norm(self) -> int:
        """A bound on the largest column sum of W: what one record can change, at most."""
        ...

    def matrix(self) -> sparse.csr_array:
        """W itself, for small domains."""
        ...

    def answer(self, estimate: Estimate) -> Values:
        """W times the estimated table, shape (n_queries, n_classes)."""
        ...


@dataclass(frozen=True)
class KroneckerUnion:
    """Several Kronecker products of small matrices, one below the other.

    Parameters
    ----------
    domain : tuple of int
    terms : tuple of tuples of ndarrays
        Each term has one matrix an attribute, with ``domain[i]`` columns.

    Examples
    --------
    The totals of an attribute with two values, and the cells of one with three:

    >>> union = KroneckerUnion((2, 3), ((np.ones((1, 2)), np.eye(3)),))
    >>> union.matrix().toarray().astype(int).tolist()
    [[1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1]]
    """

    domain: Domain
    terms: tuple[tuple[Values, ...], ...]

    def __post_init__(self) -> None:
        for term in self.terms:
            if tuple(matrix.shape[1] for matrix in term) != self.domain:
                raise ValueError(
                    "the matrices of a term do not fit the domain: expected one matrix an "
                    f"attribute, with {self.domain} columns"
                )

    @property
    def n_queries(self) -> int:
        """The rows of all terms."""
        return sum(int(np.prod([len(matrix) for matrix in term])) for term in self.terms)

    @property
    def asked(self) -> tuple[Attributes, ...]:
        """The whole table."""
        return (tuple(range(len(self.domain))),)

    @property
    def whole(self) -> bool:
        """Whether those of all factors are."""
        return all(bool((m == np.rint(m)).all()) for term in self.terms for m in term)

    def energies(self) -> Values:
        """Products of the energies of the factors."""
        total = np.zeros(2 ** len(self.domain))
        for term in self.terms:
            constant = [(m.sum(axis=1) ** 2).sum() / m.shape[1] for m in term]
            rest = [(m**2).sum() - c for m, c in zip(term, constant, strict=True)]
            total += product_over(constant, rest)
        return total

    def product_error(self, inverses: Sequence[Values]) -> float:
        """Products of the traces of the factors."""
        return sum(float(np.prod(self._traces(term, inverses))) for term in self.terms)

    def partial_gram(self, i: int, inverses: Sequence[Values]) -> Values:
        """The factors' own Gram matrices, weighted by the traces of the others."""
        total = np.zeros((self.domain[i],) * 2)
        for term in self.terms:
            traces = self._traces(term, inverses)
            total += np.prod(traces[:i] + traces[i + 1 :]) * (term[i].T @ term[i])
        return total

    def column_norm(self) -> int:
        """The sum of the column norms of the terms."""
        norms = (np.prod([np.abs(m).sum(axis=0).max() for m in term]) for term in self.terms)
        return int(np.ceil(sum(norms)))

    def matrix(self) -> sparse.csr_array:
        """The products, multiplied out."""
        return sparse.vstack(
            [reduce(sparse.kron, map(sparse.csr_array, term)) for term in self.terms], format="csr"
        )

    def answer(self, estimate: Estimate) -> Values:
        """Multiply the table by one factor after the other."""
        table = estimate.marginal(tuple(range(len(self.domain))))
        answers = [apply_along(term, table) for term in self.terms]
        return np.concatenate([a.reshape(-1, table.shape[-1]) for a in answers])

    @staticmethod
    def _traces(term: tuple[Values, ...], inverses: Sequence[Values]) -> list[float]:
        return [float(((m @ x) * m).sum()) for m, x in zip(term, inverses, strict=True)]


def marginals(domain: Domain, subsets: Sequence[Attributes]) -> KroneckerUnion:
    """All cells of some marginals.

    Examples
    --------
    >>> marginals((2, 3), [(0,), (1,)]).n_queries
    5
    """
    return KroneckerUnion(
        domain,
        tuple(
            tuple(np.eye(n) if i in subset else np.ones((1, n)) for i, n in enumerate(domain))
            for subset in subsets
        ),
    )


@dataclass(frozen=True)
class Rows:
    """Any queries over a flat domain, as a sparse matrix: Q T^T over the leaves, for instance.

    Parameters
    ----------
    rows : sparse array, shape (n_queries, n_cells)
    """

    rows: sparse.csr_array

    @property
    def domain(self) -> Domain:
        """One attribute, the columns."""
        return (int(self.rows.shape[1]),)

    @property
    def n_queries(self) -> int:
        """The rows."""
        return int(self.rows.shape[0])

    @property
    def asked(self) -> tuple[Attributes, ...]:
        """The whole table."""
        return ((0,),)

    @property
    def whole(self) -> bool:
        """Whether all entries are whole."""
        return bool((self.rows.data == np.rint(self.rows.data)).all())

    def energies(self) -> Values:
        """The part that is constant, and the rest."""
        constant = float((self.rows.sum(axis=1) ** 2).sum()) / self.domain[0]
        return np.array([constant, float(self.rows.multiply(self.rows).sum()) - constant])

    def product_error(self, inverses: Sequence[Values]) -> float:
        """The trace, row by row."""
        return float(((self.rows @ inverses[0]) * self.rows.toarray()).sum())

    def partial_gram(self, i: int, inverses: Sequence[Values]) -> Values:
        """The Gram matrix."""
        gram: Values = (self.rows.T @ self.rows).toarray()
        return gram

    def column_norm(self) -> int:
        """The largest column sum, of absolute values."""
        return int(np.ceil(abs(self.rows).sum(axis=0).max()))

    def matrix(self) -> sparse.csr_array:
        """The rows."""
        return self.rows

    def answer(self, estimate: Estimate) -> Values:
        """Multiply."""
        answers: Values = self.rows @ estimate.marginal((0,))
        return answers


def apply_along(matrices: Sequence[NDArray[np.int64] | Values], table: Values) -> Values:
    """Multiply a table by one matrix along each of its first axes."""
    for i, matrix in enumerate(matrices):
        table = np.moveaxis(np.tensordot(matrix, table, axes=(1, i)), 0, i)
    return table
