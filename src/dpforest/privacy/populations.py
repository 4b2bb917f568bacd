"""What the matrix mechanism is asked about: populations of records, as contingency tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpforest.arrays import Integers
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.strategies import ONE_COUNT, TWO_HALVES, Change
from dpforest.records.contingency import TableCounts
from dpforest.records.statistics import LeafClassCounts
from dpforest.trees.structure import Forest
from dpforest.trees.workloads.lattice import Attributes

SMALL_DOMAIN = 1 << 16  # cells that are counted once and summed out, rather than table by table


class Population(Protocol):
    """A contingency table of the records: cells by classes, never shown outside the desk.

    ``change`` is what one added or removed record changes in one cell, where the table counts
    ``unit`` for 1.
    """

    @property
    def change(self) -> Change:
        """What one record changes."""
        ...

    @property
    def unit(self) -> int:
        """What the table has for 1."""
        ...

    @property
    def times(self) -> int:
        """How many trees count a record."""
        ...

    def tables(self, desk: Desk, n_classes: int, wanted: Sequence[Attributes]) -> list[Integers]:
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
    times : int
        How many trees count a record in one of their leaves.
    """

    features: tuple[int, ...]
    n_bins: tuple[int, ...]
    times: int = 1

    @property
    def change(self) -> Change:
        """One cell of one class."""
        return ONE_COUNT

    @property
    def unit(self) -> int:
        """Records."""
        return 1

    def tables(self, desk: Desk, n_classes: int, wanted: Sequence[Attributes]) -> list[Integers]:
        """Count the whole domain and sum out, or count table by table when it is large."""
        everything = tuple(range(len(self.features)))
        n_cells = np.prod([self.n_bins[j] for j in self.features], dtype=np.float64)
        counted = [everything] if n_cells <= SMALL_DOMAIN else list(wanted)
        statistic = TableCounts(
            tuple(tuple(self.features[i] for i in table) for table in counted),
            self.n_bins,
            n_classes,
        )
        tables = statistic.split(desk.total(statistic))
        if n_cells > SMALL_DOMAIN:
            return tables
        return [tables[0].sum(axis=tuple(set(everything) - set(table))) for table in wanted]


@dataclass(frozen=True)
class OwnLeaves:
    """The leaves of trees that see disjoint records; one record is in one leaf of one tree.

    A record's tree is fixed by a draw of its own. With ``labels`` a leaf counts 1 for its largest
    class, a half for each of two that are equally large, and nothing when there are more than two
    or no records at all. So an added record changes the entries by 1 in all, and a removed one
    undoes that:

    - an only largest class can be caught up with, and gives a half away: (1, 0) to (1/2, 1/2);
    - of two equals one is raised and gains a half that the other loses; or a third class catches
      up, and both lose their half;
    - of more equals, or of none, one is raised from 0 to 1; or another catches up: nothing changes.

    (Were equals settled for one of the two, a record could move a whole vote: a change of 2.) The
    table counts in halves, in whole numbers then: a change of 2 in all, of one entry at worst.

    Parameters
    ----------
    forest : Forest
    labels : bool
    """

    forest: Forest
    labels: bool

    @property
    def change(self) -> Change:
        """One count, or two halves."""
        return TWO_HALVES if self.labels else ONE_COUNT

    @property
    def unit(self) -> int:
        """Records, or halves of votes."""
        return 2 if self.labels else 1

    @property
    def times(self) -> int:
        """One tree."""
        return 1

    def tables(self, desk: Desk, n_classes: int, wanted: Sequence[Attributes]) -> list[Integers]:
        """Deal the records out and count them; the marginal over nothing adds up all leaves."""
        desk.deal_anew(self.forest.n_trees)
        counts = desk.total(LeafClassCounts(self.forest, n_classes, "disjoint"))
        if self.labels:
            counts = half_votes(counts)
        return [counts if table else counts.sum(axis=0) for table in wanted]


def half_votes(counts: Integers) -> Integers:
    """Two halves of a vote for the largest class, or one each for two equals; see `OwnLeaves`.

    Examples
    --------
    >>> half_votes(np.array([[3, 1, 0], [2, 2, 1], [1, 1, 1], [0, 0, 0]])).tolist()
    [[2, 0, 0], [1, 1, 0], [0, 0, 0], [0, 0, 0]]
    """
    largest = (counts == counts.max(axis=1, keepdims=True)) & (counts > 0)
    n_largest = largest.sum(axis=1, keepdims=True)
    halves = np.where(n_largest == 1, 2, np.where(n_largest == 2, 1, 0))
    return np.asarray(largest * halves, np.int64)
