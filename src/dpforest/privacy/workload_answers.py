"""What the matrix mechanism is asked about: populations of records, and questions of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy.randomness import RandomBits
from dpforest.privacy.strategies import Strategy, Workload
from dpforest.privacy.strategies.lattice import Attributes
from dpforest.records.statistics import LeafClassCounts
from dpforest.records.store import RecordStore
from dpforest.records.tables import TableCounts
from dpforest.trees.structure import Forest

Integers = NDArray[np.int64]

SMALL_DOMAIN = 1 << 16  # cells that are counted once and summed out, rather than table by table


class Population(Protocol):
    """A contingency table of the records: cells by classes, never shown to anyone but the curator.

    ``changes`` is the number of entries that one added or removed record changes, by 1 each.
    """

    @property
    def changes(self) -> int:
        """Entries that one record changes."""
        ...

    def tables(
        self, store: RecordStore, bits: RandomBits, n_classes: int, wanted: Sequence[Attributes]
    ) -> list[Integers]:
        """The exact marginals of the table."""
        ...


@dataclass(frozen=True)
class Cells:
    """All records by the bins of some features; one record is in one cell.

    Parameters
    ----------
    features : tuple of int
        The features that are the attributes of the domain.
    n_bins : tuple of int
        The bins of every feature of the schema.
    """

    features: tuple[int, ...]
    n_bins: tuple[int, ...]

    @property
    def changes(self) -> int:
        """One cell of one class."""
        return 1

    def tables(
        self, store: RecordStore, bits: RandomBits, n_classes: int, wanted: Sequence[Attributes]
    ) -> list[Integers]:
        """Count the whole domain and sum out, or count table by table when it is large."""
        everything = tuple(range(len(self.features)))
        n_cells = np.prod([self.n_bins[j] for j in self.features], dtype=np.float64)
        counted = [everything] if n_cells <= SMALL_DOMAIN else list(wanted)
        statistic = TableCounts(
            tuple(tuple(self.features[i] for i in table) for table in counted),
            self.n_bins,
            n_classes,
        )
        tables = statistic.split(store.total(statistic))
        if n_cells > SMALL_DOMAIN:
            return tables
        return [tables[0].sum(axis=tuple(set(everything) - set(table))) for table in wanted]


@dataclass(frozen=True)
class OwnLeaves:
    """The leaves of trees that see disjoint records; one record is in one leaf of one tree.

    A record's tree is fixed by a draw of its own. With ``labels`` a leaf counts 1 for its largest
    class and 0 for the others (the first of equals, so an empty leaf is of the first class): one
    record can move that 1, which changes two entries.

    Parameters
    ----------
    forest : Forest
    labels : bool
    """

    forest: Forest
    labels: bool

    @property
    def changes(self) -> int:
        """One class of one leaf, or two."""
        return 2 if self.labels else 1

    def tables(
        self, store: RecordStore, bits: RandomBits, n_classes: int, wanted: Sequence[Attributes]
    ) -> list[Integers]:
        """Deal the records out and count them."""
        store.deal(self.forest.n_trees, bits.uniform_below)
        counts = store.total(LeafClassCounts(self.forest, n_classes, "disjoint"))
        if self.labels:
            counts = np.eye(n_classes, dtype=np.int64)[counts.argmax(axis=1)]
        return [counts for _ in wanted]


@dataclass(frozen=True)
class Question:
    """A workload, and the strategy to answer it with, about a population.

    Parameters
    ----------
    label : str
        For the ledger.
    workload : Workload
    strategy : Strategy
    population : Population
    """

    label: str
    workload: Workload
    strategy: Strategy
    population: Population
