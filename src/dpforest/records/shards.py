"""The records of one partition, brought up to the recipes in force and added to totals."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.records.blocks import Block
from dpforest.records.coins import Addresses
from dpforest.records.recipes import Binning, NewTrees, Scoring, State
from dpforest.records.statistics import Statistic
from dpforest.tables.frames import Frame
from dpforest.tables.routing import add_tree_values
from dpforest.tables.threads import map_rows

NONE = -1  # the number of no recipe
LOST = -1  # the version of scores that must be made anew


class Has(NamedTuple):
    """The numbers of the recipes that a shard is up to, and the version of its scores."""

    bins: int = NONE
    part: int = NONE
    members: int = NONE
    scores: tuple[int, int] = (NONE, LOST)


class Shard:
    """Some records with what was made for them: a `Block`, and which recipes it has.

    Whatever is not up to date is made anew, from the values of the records where bins are needed.
    Scores are a cache: an update that breaks off marks them as lost, and the next one replays all
    released trees. So an addition to a total may be repeated, and always adds the same.

    Parameters
    ----------
    target : ndarray
        Class codes or bounded targets, of the rows that are kept.
    keep : ndarray of int64, optional
        The rows of the partition to keep, where a person's records are bounded; all otherwise.
    first : int
        The place of the first row of the partition in the whole table.
    n_jobs : int, optional
        Threads.
    weight : ndarray of float64, optional
        From 0 to 1, of the rows that are kept.
    """

    def __init__(
        self,
        target: NDArray[Any],
        keep: NDArray[np.int64] | None = None,
        first: int = 0,
        n_jobs: int | None = None,
        weight: NDArray[np.float64] | None = None,
    ) -> None:
        self.block = Block(np.empty((len(target), 0), np.uint8), target, weight=weight)
        self._keep, self._first = keep, first
        self.has = Has()
        self._binning: Binning | None = None
        self._n_jobs = n_jobs
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """All but the scores, which can be made anew."""
        with self._lock:  # an engine may send it away while it is added to a total
            kept = {name: value for name, value in vars(self).items() if name != "_lock"}
            block, has = self.block._replace(scores=None), self.has._replace(scores=(NONE, LOST))
            return kept | {"block": block, "has": has}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept, _lock=Lock())

    @property
    def addresses(self) -> Addresses:
        """Of the records, for their coins: their places in the whole table."""
        rows = np.arange(len(self.block.target)) if self._keep is None else self._keep
        return (rows + self._first).astype(np.uint64)

    def forget(self) -> None:
        """Drop all that was made for the records: it is made anew when it is needed."""
        self.has, self._binning = Has(), None

    def own_bins(self, state: State) -> None:
        """Copy bins that are about to be changed in their place, as others may be reading them."""
        if state.binning is not None and self.has.bins not in (NONE, state.binning.number):
            self.block = self.block._replace(bins=self.block.bins.copy(order="K"))

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Keep some of the rows only, where a person's records are bounded."""
        assert self._keep is None, "rows were chosen before"
        some = self.block.rows(rows)
        order: Literal["C", "F"] = "C" if self.block.bins.flags.c_contiguous else "F"
        self.block, self._keep = some._replace(bins=np.asarray(some.bins, order=order)), rows

    def needs_values(self, state: State) -> bool:
        """Whether bins must be made from the values of the records."""
        have = self._binning
        for binning in self._to_make(state):
            if have is None or binning.number != have.number:
                if binning.tables_from(have) is None:
                    return True
                have = binning
        return False

    def add(
        self,
        state: State,
        statistic: Statistic,
        total: NDArray[np.int64],
        frame: Frame | None = None,
    ) -> None:
        """Add the records to a total.

        Parameters
        ----------
        state : State
            The recipes in force.
        statistic : Statistic
        total : ndarray of int64
        frame : Frame, optional
            The values of all rows of the partition, where `needs_values` says so.
        """
        with self._lock:
            news = self._bring_up(state, frame)
            # Marked as lost before they change: an update that breaks off is never taken for one.
            self._mark_scores(state.scoring, LOST if news else None)

            def on_rows(rows: slice) -> NDArray[np.int64]:
                some = self.block.rows(rows)
                _add_trees(some, news)
                return total_of(statistic, some)

            for part in map_rows(on_rows, len(self.block.target), self._n_jobs):
                total += part
            self._mark_scores(state.scoring, None)

    def _bring_up(self, state: State, frame: Frame | None) -> tuple[NewTrees, ...]:
        """Make all that is not up to date but the trees, which are given, of the bins in force."""
        news = self._lacking(state.scoring)
        in_force = NONE if state.binning is None else state.binning.number
        if state.scoring is not None and self.has.scores != _scores_of(state.scoring, len(news)):
            shape = (state.scoring.n_outputs, len(self.block.target))
            self.block = self.block._replace(scores=np.zeros(shape, np.float32))
        while news and news[0].binning.number != in_force:
            self._mark_scores(state.scoring, LOST)
            self._bin(news[0].binning, frame)
            _add_trees(self.block, news[:1])
            news = news[1:]
        if state.sampling is not None and self.has.members != state.sampling.number:
            if state.sampling.binning is not None:
                self._bin(state.sampling.binning, frame)
            members = state.sampling.members(self.block, self.addresses, self._n_jobs)
            self.block = self.block._replace(members=members)
            self.has = self.has._replace(members=state.sampling.number)
        if state.dealing is not None and self.has.part != state.dealing.number:
            self.block = self.block._replace(part=state.dealing.part(self.addresses))
            self.has = self.has._replace(part=state.dealing.number)
        if state.binning is not None:
            self._bin(state.binning, frame)
        return news

    def _lacking(self, scoring: Scoring | None) -> tuple[NewTrees, ...]:
        """The trees that the scores lack: all of them where there are no scores."""
        if scoring is None:
            return ()
        number, version = self.has.scores
        return scoring.after(version if number == scoring.number and version != LOST else 0)

    def _mark_scores(self, scoring: Scoring | None, version: int | None) -> None:
        if scoring is not None:
            version = scoring.version if version is None else version
            self.has = self.has._replace(scores=(scoring.number, version))

    def _to_make(self, state: State) -> Iterator[Binning]:
        """The bins that `_bring_up` makes, one after another."""
        yield from (new.binning for new in self._lacking(state.scoring))
        if state.sampling is not None and self.has.members != state.sampling.number:
            yield from filter(None, [state.sampling.binning])
        yield from filter(None, [state.binning])

    def _bin(self, binning: Binning, frame: Frame | None) -> None:
        old = self._binning
        if old is not None and binning.number == old.number:
            return
        tables = binning.tables_from(old)
        self._binning = None  # while bins are changed in their place
        if tables is not None:
            bins = self.block.bins
            for j, table in enumerate(tables):
                bins[:, j] = table[bins[:, j]]
        else:
            assert frame is not None, "needs_values was not asked"
            bins = binning.bins(frame, self._n_jobs)
            if self._keep is not None:
                bins = np.asarray(bins[self._keep], order="F" if binning.by_feature else "C")
        self.block, self._binning = self.block._replace(bins=bins), binning
        self.has = self.has._replace(bins=binning.number)


def total_of(statistic: Statistic, block: Block) -> NDArray[np.int64]:
    """The total of a statistic over the records of one block."""
    total = np.zeros(statistic.shape, np.int64)
    statistic.add(block, total)
    return total


def _scores_of(scoring: Scoring, lacking: int) -> tuple[int, int]:
    """The mark of scores that lack so many trees."""
    return scoring.number, scoring.version - lacking


def _add_trees(block: Block, news: tuple[NewTrees, ...]) -> None:
    for new in news:
        assert block.scores is not None
        add_tree_values(new.trees, block.bins, new.values, block.scores, n_jobs=1)
