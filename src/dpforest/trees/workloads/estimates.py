"""Estimates of a contingency table, of which any marginal can be asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from dpforest.arrays import Values
from dpforest.trees.workloads.lattice import Attributes


class Estimate(Protocol):
    """A table over a domain, one column a class, seen through its marginals."""

    def marginal(self, attributes: Attributes) -> Values:
        """The table summed over all other attributes, shape (sizes of these..., n_classes)."""
        ...


class FullTable:
    """A table kept whole.

    Parameters
    ----------
    table : ndarray, shape (n_1, ..., n_d, n_classes)
    """

    def __init__(self, table: Values) -> None:
        self._table = table

    def marginal(self, attributes: Attributes) -> Values:
        """Sum the other attributes out."""
        others = set(range(self._table.ndim - 1)) - set(attributes)
        return self._table.sum(axis=tuple(others))  # type: ignore[no-any-return]


class SomeTables:
    """The marginals that are there, and no others.

    Parameters
    ----------
    tables : mapping from attributes to tables
    """

    def __init__(self, tables: Mapping[Attributes, Values]) -> None:
        self._tables = tables

    def marginal(self, attributes: Attributes) -> Values:
        """The table of these attributes; KeyError when it was not measured."""
        return self._tables[attributes]


class Residuals:
    """A table as the sum of its parts in the residual spaces (see `lattice`).

    Parameters
    ----------
    sizes : sequence of int
    parts : mapping from attributes to arrays
        For each subset U a table over its attributes, constant along all others.
    """

    def __init__(self, sizes: Sequence[int], parts: Mapping[Attributes, Values]) -> None:
        self._sizes = tuple(sizes)
        self._parts = parts

    def marginal(self, attributes: Attributes) -> Values:
        """Add up the parts within these attributes, and multiply by the cells summed over."""
        n_classes = next(iter(self._parts.values())).shape[-1]
        total = np.zeros((*(self._sizes[i] for i in attributes), n_classes))
        for subset, part in self._parts.items():
            if set(subset) <= set(attributes):
                total += spread(part, subset, attributes)
        others = set(range(len(self._sizes))) - set(attributes)
        return total * float(np.prod([self._sizes[i] for i in others]))


def spread(part: Values, subset: Attributes, attributes: Attributes) -> Values:
    """Give a table over a subset the axes of a larger set of attributes, of length 1."""
    shape = [1] * len(attributes)
    for i, size in zip(subset, part.shape, strict=False):
        shape[attributes.index(i)] = size
    return part.reshape(*shape, part.shape[-1])


def residual_parts(table: Values, attributes: Attributes) -> dict[Attributes, Values]:
    """Split a table into its parts in the residual spaces of all subsets of its attributes.

    Examples
    --------
    >>> parts = residual_parts(np.array([[3.0], [5.0]]), (0,))
    >>> parts[()].tolist(), parts[(0,)].tolist()
    ([4.0], [[-1.0], [1.0]])
    """
    parts: dict[Attributes, Values] = {(): table}
    for i in attributes:
        split: dict[Attributes, Values] = {}
        for subset, part in parts.items():
            # Attributes are taken in order, so this one is the first axis not yet split.
            axis = len(subset)
            mean = part.mean(axis=axis)
            split[subset] = mean
            split[(*subset, i)] = part - np.expand_dims(mean, axis)
        parts = split
    return parts
