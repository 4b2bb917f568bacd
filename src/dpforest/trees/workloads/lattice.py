"""Sums over the lattice of attribute subsets, the algebra behind marginals.

A function of the subsets of d attributes is an array of 2^d numbers. Attribute 0 is the highest
bit of the index, so that reshaping to ``(2,) * d`` gives attribute i its own axis i.

For each subset U there is a *residual* space: the functions of the domain that depend on the
attributes of U only and average to zero along each of them. These spaces are orthogonal and span
everything, and every matrix of marginals maps each of them to itself or to zero; so sums, traces
and inverses of 2^d numbers replace those of matrices of the size of the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dpforest.arrays import Values

Attributes = tuple[int, ...]


def subset_index(attributes: Sequence[int], n_attributes: int) -> int:
    """The index of a subset of attributes.

    Examples
    --------
    >>> subset_index((0, 2), 3)
    5
    """
    return sum(1 << (n_attributes - 1 - i) for i in attributes)


def attributes_of(index: int, n_attributes: int) -> Attributes:
    """The attributes of a subset, in order.

    Examples
    --------
    >>> attributes_of(5, 3)
    (0, 2)
    """
    return tuple(i for i in range(n_attributes) if index >> (n_attributes - 1 - i) & 1)


def product_over(absent: Sequence[float], present: Sequence[float]) -> Values:
    """For every subset, the product of ``present[i]`` for its members and ``absent[i]`` for others.

    Examples
    --------
    >>> product_over([1, 1], [2, 3])
    array([1., 3., 2., 6.])
    """
    out: Values = np.ones(1)
    for pair in zip(absent, present, strict=True):
        out = np.outer(out, np.array(pair, np.float64)).ravel()
    return out


def superset_sums(values: Values) -> Values:
    """For every U, the sum of the values of the sets that contain U."""
    return _along_axes(values, lambda without, with_it, _: (without + with_it, with_it))


def subset_sums(values: Values) -> Values:
    """For every S, the sum of the values of the sets within S."""
    return _along_axes(values, lambda without, with_it, _: (without, without + with_it))


def superset_differences(values: Values) -> Values:
    """The inverse of `superset_sums`."""
    return _along_axes(values, lambda without, with_it, _: (without - with_it, with_it))


def marginal_energies(sizes: Sequence[int], counts: Values) -> Values:
    """The energy of marginal queries in each residual space.

    A query that counts one cell of the marginal S is a product of unit vectors (attributes in S)
    and all-ones vectors. Its squared length within the residual space U is the product of
    1 - 1/n_i (in both), 1/n_i (in S only), n_i (in neither) and 0 (in U only).

    Parameters
    ----------
    sizes : sequence of int
        The number of values of each attribute.
    counts : ndarray, shape (2^d,)
        How many queries ask for a cell of each marginal.
    """

    def step(without: Values, with_it: Values, i: int) -> tuple[Values, Values]:
        n = sizes[i]
        return without * n + with_it / n, with_it * (1 - 1 / n)

    return _along_axes(counts, step)


def projected(sizes: Sequence[int], coefficients: Values) -> Values:
    """What a sum of marginal queries through one cell is worth in each residual space.

    ``coefficients[..., S]`` is how often the cell of marginal S is counted. All of these queries
    point the same way within U, so their lengths there add up; in S only costs 1/n_i.
    """

    def step(without: Values, with_it: Values, i: int) -> tuple[Values, Values]:
        return without + with_it / sizes[i], with_it

    return _along_axes(coefficients, step)


def _along_axes(
    values: Values, step: Callable[[Values, Values, int], tuple[Values, Values]]
) -> Values:
    """Apply a step to the two halves of each axis in turn; the subsets are the last axis."""
    d = values.shape[-1].bit_length() - 1
    out = values.astype(np.float64, copy=True).reshape((*values.shape[:-1], *(2,) * d))
    first = values.ndim - 1
    for i in range(d):
        halves = np.moveaxis(out, first + i, 0)
        without, with_it = step(halves[0].copy(), halves[1].copy(), i)
        halves[0], halves[1] = without, with_it
    return out.reshape(values.shape)
