"""What belongs to a record beside its values, as recipes: bins, its tree, samples, scores.

All of it follows from the record, its address, and what is public, released or a key of coins.
So it can be made anew wherever the record is, after a loss too, and always comes out the same.
Recipes are small, can be pickled, and are told apart by their numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.records.blocks import Block, Members
from dpforest.records.coins import Addresses, Coins
from dpforest.tables.encode import Encoding
from dpforest.tables.frames import Frame
from dpforest.tables.routing import add_leaf_values
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.structure import Forest

Trained = tuple[Forest, NDArray[np.float64]]
"""Released trees and the votes of their leaves, shape (n_leaves, n_classes)."""


@dataclass(frozen=True)
class Binning:
    """How records are binned.

    Parameters
    ----------
    number : int
    encoding : Encoding
    by_feature : bool
        Keep the bins of a feature together, as oblivious trees like them.
    only : tuple of int, optional
        The features to bin; the bins of others are not looked at.
    """

    number: int
    encoding: Encoding
    by_feature: bool = False
    only: tuple[int, ...] | None = None

    def bins(self, frame: Frame, n_jobs: int | None) -> NDArray[np.uint8]:
        """The bins of some records."""
        order: Literal["C", "F"] = "F" if self.by_feature else "C"
        return self.encoding.bins(frame, n_jobs, order=order, only=self.only)

    def tables_from(self, old: Binning | None) -> NDArray[np.uint8] | None:
        """The bin that each old bin is part of, a row a feature; None where that does not follow.

        It does where every cut is one of the old cuts, as when neighbouring bins are joined.
        """
        if old is None or old.only is not None or old.by_feature != self.by_feature:
            return None
        if not type(old.encoding) is type(self.encoding) is Encoding:
            return None
        if old.encoding.schema != self.encoding.schema:
            return None
        tables = np.tile(np.arange(256, dtype=np.uint8), (len(self.encoding.cuts), 1))
        for table, fine, coarse in zip(tables, old.encoding.cuts, self.encoding.cuts, strict=True):
            if fine is None or coarse is None:
                continue  # categories: the same bins, as the schema is the same
            if not np.isin(coarse, fine).all():
                return None
            table[: fine.size] = np.searchsorted(coarse, fine)
            table[fine.size], table[fine.size + 1] = coarse.size, coarse.size + 1
        return tables


@dataclass(frozen=True)
class Dealing:
    """Which part, of so many, each record is given to: by a draw of its own."""

    number: int
    n_parts: int
    coins: Coins

    def part(self, addresses: Addresses) -> NDArray[np.int32]:
        """The parts of some records."""
        return self.coins.below(self.n_parts, addresses).astype(np.int32)


class Drawing(Protocol):
    """Which samples records are in."""

    @property
    def number(self) -> int:
        """What tells it from others."""
        ...

    @property
    def binning(self) -> Binning | None:
        """The bins it looks at; None where it looks at none."""
        ...

    def members(self, block: Block, addresses: Addresses, n_jobs: int | None) -> Members:
        """How often each tree counts some records, shape (n, n_trees)."""
        ...


@dataclass(frozen=True)
class Sampling:
    """Each record joins each tree with the probability ``share``, by coins of its own.

    A record that the trees already ``known`` classify well joins half as often.
    """

    number: int
    n_trees: int
    share: Fraction
    coins: Coins
    known: Trained | None = None
    binning: Binning | None = None

    def members(self, block: Block, addresses: Addresses, n_jobs: int | None) -> Members:
        """Who joins; 0 or 1."""
        out_of, chances = self.share.denominator, np.full(len(addresses), self.share.numerator)
        if self.known is not None:
            forest, votes = self.known
            says = add_leaf_values(forest, block.bins, votes, n_jobs).argmax(axis=1)
            out_of, chances = 2 * out_of, 2 * chances
            chances[says == block.target] //= 2
        return self.coins.joins(chances, out_of, addresses, self.n_trees)


class NewTrees(NamedTuple):
    """Released oblivious trees, what their leaves add to scores, and the bins they ask about."""

    binning: Binning
    trees: ObliviousTrees
    values: NDArray[np.float32]


@dataclass(frozen=True)
class Scoring:
    """What released trees say of each record, summed up from 0.

    Parameters
    ----------
    number : int
    n_outputs : int
    news : tuple of NewTrees
        The trees, but for the first ``skipped`` that were left out to save a message.
    skipped : int
    """

    number: int
    n_outputs: int
    news: tuple[NewTrees, ...] = ()
    skipped: int = 0

    @property
    def version(self) -> int:
        """How often trees were added."""
        return self.skipped + len(self.news)

    def since(self, version: int) -> Scoring:
        """The same without the trees that scores of a version have: shorter to send."""
        return replace(self, news=self.news[version - self.skipped :], skipped=version)

    def after(self, version: int) -> tuple[NewTrees, ...]:
        """What scores of a version lack; BehindError when some of it was left out."""
        if version < self.skipped:
            raise BehindError("scores are older than the trees that were sent: send all of them")
        return self.news[version - self.skipped :]


class BehindError(RuntimeError):
    """Scores were lost, and the trees to make them anew were left out of the message."""


@dataclass(frozen=True)
class State:
    """All recipes in force; None for what is not."""

    binning: Binning | None = None
    dealing: Dealing | None = None
    sampling: Drawing | None = None
    scoring: Scoring | None = None

    def since(self, old: State) -> State:
        """The same without the trees that scores under an old state have: shorter to send."""
        if self.scoring is None or old.scoring is None or self.scoring.number != old.scoring.number:
            return self
        return replace(self, scoring=self.scoring.since(old.scoring.version))
