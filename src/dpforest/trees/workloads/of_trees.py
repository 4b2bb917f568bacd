"""The workloads of multi-way trees: their leaves, and their votes for a batch of records."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpforest.arrays import Values
from dpforest.trees.workloads.estimates import Estimate
from dpforest.trees.workloads.lattice import (
    Attributes,
    attributes_of,
    marginal_energies,
    product_over,
    projected,
    subset_index,
)
from dpforest.trees.workloads.linear import Domain

NUMBERS_AT_ONCE = 1 << 22  # held at a time while queries are projected or cells are tallied


@dataclass(frozen=True)
class Paths:
    """The leaves of multi-way trees (T of the paper): each is a cell of one marginal.

    Parameters
    ----------
    domain : tuple of int
    cells : ndarray of int, shape (n_leaves, d)
        The value that the way to a leaf asks of each attribute, -1 where it asks for none.

    Examples
    --------
    The two stumps of Figure 1 of the paper, on outlook (3 values) and windy (2):

    >>> cells = np.array([[0, -1], [1, -1], [2, -1], [-1, 0], [-1, 1]])
    >>> Paths((3, 2), cells).matrix().toarray().astype(int)
    array([[1, 1, 0, 0, 0, 0],
           [0, 0, 1, 1, 0, 0],
           [0, 0, 0, 0, 1, 1],
           [1, 0, 1, 0, 1, 0],
           [0, 1, 0, 1, 0, 1]])
    """

    domain: Domain
    cells: NDArray[np.int64]

    @property
    def n_queries(self) -> int:
        """The leaves."""
        return len(self.cells)

    @cached_property
    def subsets(self) -> NDArray[np.int64]:
        """The index of the marginal of each leaf."""
        return (self.cells >= 0) @ _bits(len(self.domain))

    @cached_property
    def asked(self) -> tuple[Attributes, ...]:
        """The marginals of the leaves."""
        return tuple(attributes_of(int(s), len(self.domain)) for s in np.unique(self.subsets))

    @property
    def whole(self) -> bool:
        """A cell is in a leaf or not."""
        return True

    def energies(self) -> Values:
        """Every leaf of a marginal has the same energy."""
        counts = np.bincount(self.subsets, minlength=2 ** len(self.domain)).astype(np.float64)
        return marginal_energies(self.domain, counts)

    def product_error(self, inverses: Sequence[Values]) -> float:
        """A leaf's error is a product of diagonal entries and of sums of all entries."""
        return float(np.prod(self._factors(inverses), axis=0).sum())

    def partial_gram(self, i: int, inverses: Sequence[Values]) -> Values:
        """A diagonal for the leaves that ask for the attribute, all ones for the others."""
        factors = self._factors(inverses)
        factors[i] = 1.0
        weight = np.prod(factors, axis=0)
        n, values = self.domain[i], self.cells[:, i]
        asked = values >= 0
        diagonal = np.bincount(values[asked], weight[asked], minlength=n)
        return np.asarray(np.diag(diagonal) + weight[~asked].sum())

    def column_norm(self) -> int:
        """The most leaves that one cell of the domain lies in: the trees, if these are trees."""
        return _largest_column(self.domain, self._tallies())

    def matrix(self) -> sparse.csr_array:
        """T."""
        rows = [np.zeros(0, np.int64)]
        columns = [np.zeros(0, np.int64)]
        grid = np.arange(np.prod(self.domain)).reshape(self.domain)
        for subset in self.asked:
            leaves = np.flatnonzero(self.subsets == subset_index(subset, len(self.domain)))
            order = [*subset, *(i for i in range(len(self.domain)) if i not in subset)]
            n_cells = math.prod(self.domain[i] for i in subset)
            by_cell = grid.transpose(order).reshape(n_cells, -1)
            covered = by_cell[_flat_cells(self.domain, subset, self.cells[leaves])]
            rows.append(np.repeat(leaves, covered.shape[1]))
            columns.append(covered.ravel())
        row, column = np.concatenate(rows), np.concatenate(columns)
        shape = (len(self.cells), int(np.prod(self.domain)))
        return sparse.csr_array((np.ones(len(row)), (row, column)), shape=shape)

    def answer(self, estimate: Estimate) -> Values:
        """Look each leaf up in its marginal."""
        answers: Values | None = None
        for subset in self.asked:
            table = estimate.marginal(subset)
            if answers is None:
                answers = np.empty((len(self.cells), table.shape[-1]))
            leaves = self.subsets == subset_index(subset, len(self.domain))
            answers[leaves] = table[tuple(self.cells[leaves][:, list(subset)].T)]
        assert answers is not None
        return answers

    def by_marginal(self) -> list[tuple[NDArray[np.int64], Paths]]:
        """The leaves of each marginal, and where they are."""
        positions = [np.flatnonzero(self.subsets == s) for s in np.unique(self.subsets)]
        return [(rows, Paths(self.domain, self.cells[rows])) for rows in positions]

    def _tallies(self) -> Iterator[tuple[Attributes, Values]]:
        """For each marginal, how many leaves are at each of its cells."""
        for subset in self.asked:
            leaves = self.subsets == subset_index(subset, len(self.domain))
            yield subset, _tally(self.domain, subset, self.cells[leaves], None)

    def _factors(self, inverses: Sequence[Values]) -> Values:
        """What each attribute contributes to the error of each leaf, shape (d, n_leaves)."""
        columns = zip(self.cells.T, inverses, strict=True)
        return np.array([np.where(c >= 0, x.diagonal()[c], x.sum()) for c, x in columns])


@dataclass(frozen=True)
class Votes:
    """The weighted votes for a batch of records (Q T^T T of the paper).

    Parameters
    ----------
    domain : tuple of int
    records : ndarray of int, shape (b, d)
        The cell of each record that is asked about.
    subsets : ndarray of int, shape (m,)
        The marginals in which leaves of these records lie, by index.
    weights : ndarray, shape (b, m)
        How many trees send a record to a leaf of that marginal.
    """

    domain: Domain
    records: NDArray[np.int64]
    subsets: NDArray[np.int64]
    weights: Values

    @property
    def n_queries(self) -> int:
        """The records."""
        return len(self.records)

    @property
    def asked(self) -> tuple[Attributes, ...]:
        """The marginals."""
        return tuple(attributes_of(int(s), len(self.domain)) for s in self.subsets)

    @property
    def whole(self) -> bool:
        """Whether the weights are."""
        return bool((self.weights == np.rint(self.weights)).all())

    def energies(self) -> Values:
        """The votes for a record point one way in each residual space: squares of sums."""
        total = np.zeros(2 ** len(self.domain))
        for rows in self._chunks():
            total += (projected(self.domain, self._lattice(rows)) ** 2).sum(axis=0)
        sizes = np.array(self.domain, np.float64)
        return total * product_over(list(sizes), list(1 - 1 / sizes))

    def product_error(self, inverses: Sequence[Values]) -> float:
        """A quadratic form in the weights, the Kronecker product of 2 by 2 matrices."""
        total = 0.0
        for rows in self._chunks():
            v = self._lattice(rows)
            total += float((v * self._multiply(v, rows, inverses, None)).sum())
        return total

    def partial_gram(self, i: int, inverses: Sequence[Values]) -> Values:
        """Leave one axis of the form open."""
        n = self.domain[i]
        gram = np.zeros((n, n))
        for rows in self._chunks():
            v = self._lattice(rows)
            u = self._multiply(v, rows, inverses, i)
            axes = (len(v), 2**i, 2, -1)
            open_form = np.einsum("qaxb,qayb->qxy", v.reshape(axes), u.reshape(axes))
            cell = self.records[rows, i]
            edge = np.bincount(cell, open_form[:, 0, 1], minlength=n)
            gram += open_form[:, 0, 0].sum() + edge[None, :] + edge[:, None]
            gram += np.diag(np.bincount(cell, open_form[:, 1, 1], minlength=n))
        return gram

    def column_norm(self) -> int:
        """The most that the votes for all records can count one cell of the domain."""
        tallies = (
            (subset, _tally(self.domain, subset, self.records, self.weights[:, j]))
            for j, subset in enumerate(self.asked)
        )
        return _largest_column(self.domain, tallies)

    def matrix(self) -> sparse.csr_array:
        """Q T^T T: the paths of each record, weighted and added up."""
        b, m = self.weights.shape
        cells = np.full((b, m, len(self.domain)), -1)
        for j, subset in enumerate(self.asked):
            cells[:, j, list(subset)] = self.records[:, list(subset)]
        paths = Paths(self.domain, cells.reshape(b * m, -1)).matrix()
        rows = np.repeat(np.arange(b), m)
        picks = sparse.csr_array((self.weights.ravel(), (rows, np.arange(b * m))))
        return sparse.csr_array(picks @ paths)

    def answer(self, estimate: Estimate) -> Values:
        """Add up the leaves of each record."""
        total: Values | None = None
        for j, subset in enumerate(self.asked):
            table = estimate.marginal(subset)
            found = table[tuple(self.records[:, list(subset)].T)]
            found = found.reshape(-1, table.shape[-1]) * self.weights[:, [j]]
            total = found if total is None else total + found
        assert total is not None
        return total

    def _chunks(self) -> list[slice]:
        step = max(1, NUMBERS_AT_ONCE >> len(self.domain))
        return [slice(a, a + step) for a in range(0, len(self.records), step)]

    def _lattice(self, rows: slice) -> Values:
        """The weights of some records, by subset."""
        weights = self.weights[rows]
        out = np.zeros((len(weights), 2 ** len(self.domain)))
        out[:, self.subsets] = weights
        return out

    def _multiply(
        self, v: Values, rows: slice, inverses: Sequence[Values], skip: int | None
    ) -> Values:
        """Multiply by the 2 by 2 matrix of each attribute but one."""
        out = v
        for i, x in enumerate(inverses):
            if i == skip:
                continue
            cell = self.records[rows, i]
            edge, corner = x.sum(axis=0)[cell, None, None], x.diagonal()[cell, None, None]
            halves = out.reshape(len(v), 2**i, 2, -1)
            without, with_it = halves[:, :, 0], halves[:, :, 1]
            new = np.stack(
                [x.sum() * without + edge * with_it, edge * without + corner * with_it], axis=2
            )
            out = new.reshape(v.shape)
        return out


def _bits(d: int) -> NDArray[np.int64]:
    return 1 << np.arange(d - 1, -1, -1, dtype=np.int64)


def _tally(
    domain: Domain, subset: Attributes, cells: NDArray[np.int64], weights: Values | None
) -> Values:
    """The number (or weight) of queries at each cell of a marginal."""
    shape = tuple(domain[i] for i in subset)
    flat = _flat_cells(domain, subset, cells)
    counts = np.bincount(flat, weights, minlength=int(np.prod(shape)))
    return counts.astype(np.float64).reshape(shape)


def _flat_cells(domain: Domain, subset: Attributes, cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of each cell in a marginal, counted row by row."""
    flat = np.zeros(len(cells), np.int64)
    for i in subset:
        flat = flat * domain[i] + cells[:, i]
    return flat


def _largest_column(domain: Domain, tallies: Iterable[tuple[Attributes, Values]]) -> int:
    """The largest column sum of queries at cells of marginals; an upper bound on large domains."""
    if np.prod(domain, dtype=np.float64) > NUMBERS_AT_ONCE:
        return int(np.ceil(sum(float(tally.max()) for _, tally in tallies)))
    total = np.zeros(domain)
    for subset, tally in tallies:
        total += tally.reshape([n if i in subset else 1 for i, n in enumerate(domain)])
    return int(np.ceil(total.max()))
