"""Contingency tables of some features by class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpforest.records import counting_kernels
from dpforest.records.blocks import Block

Features = tuple[int, ...]


@dataclass(frozen=True)
class TableCounts:
    """1 for each record at its cell of each of several tables, by class.

    Parameters
    ----------
    tables : tuple of tuples of int
        The features of each table.
    n_bins : tuple of int
        The bins of every feature.
    n_classes : int
    """

    tables: tuple[Features, ...]
    n_bins: tuple[int, ...]
    n_classes: int

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The bins of the features of each table."""
        return tuple(tuple(self.n_bins[j] for j in features) for features in self.tables)

    @cached_property
    def _borders(self) -> NDArray[np.int64]:
        return np.cumsum([0, *(int(np.prod(shape, dtype=np.int64)) for shape in self.shapes)])

    @property
    def shape(self) -> tuple[int, ...]:
        """The cells of all tables, by classes."""
        return (int(self._borders[-1]), self.n_classes)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the records at each cell."""
        features = np.array([j for table in self.tables for j in table], np.int64)
        sizes = np.array([n for shape in self.shapes for n in shape], np.int64)
        ends = np.cumsum([0, *(len(table) for table in self.tables)])
        counting_kernels.count_tables(
            block.bins, block.target, features, sizes, ends, self._borders[:-1], total
        )

    def split(self, total: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The total as one array a table, shape (bins of its features..., n_classes)."""
        parts = np.split(total, self._borders[1:-1])
        return [p.reshape(*s, self.n_classes) for p, s in zip(parts, self.shapes, strict=True)]


@dataclass(frozen=True)
class CellCounts:
    """1 for each record at its cell of one table, whatever its target.

    Parameters
    ----------
    features : tuple of int
        Those of the table.
    n_bins : tuple of int
        The bins of every feature.
    """

    features: Features
    n_bins: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The bins of the features of the table."""
        return tuple(self.n_bins[j] for j in self.features)

    def add(self, block: Block, total: NDArray[np.int64]) -> None:
        """Add the records at each cell."""
        one_class = block._replace(target=np.zeros(len(block.bins), np.int32))
        counts = TableCounts((self.features,), self.n_bins, n_classes=1)
        counts.add(one_class, total.reshape(-1, 1))
