"""Where records are kept, and how a total over all of them is taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.records.encode import Encoding
from dpforest.records.frames import Frame
from dpforest.records.statistics import Block, Statistic
from dpforest.records.threads import map_rows

DrawBelow = Callable[[int, int], NDArray[np.int64]]
"""``draw(m, size)``: that many independent uniform draws from 0, ..., m - 1."""


class RecordStore(Protocol):
    """Records that can be binned, dealt out to trees, and totalled; never looked at one by one."""

    def encode(self, encoding: Encoding) -> None:
        """Bin the records; totals are taken of binned records."""
        ...

    def deal(self, n_parts: int, draw: DrawBelow) -> None:
        """Give each record a part by a draw of its own: parts stay as others come and go."""
        ...

    def total(self, statistic: Statistic) -> NDArray[np.int64]:
        """The exact total of a statistic: for the curator's eyes only."""
        ...


class LocalStore:
    """Records in the memory of this machine.

    Parameters
    ----------
    frame : Frame
        The features, in the order of the schema.
    target : ndarray
        Class codes, or the bounded target.
    keep : ndarray of int64, optional
        The rows to keep, where a person's records are bounded; all rows otherwise.
    n_jobs : int, optional
        Threads.
    """

    def __init__(
        self,
        frame: Frame,
        target: NDArray[Any],
        keep: NDArray[np.int64] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self._frame = frame
        self._keep = keep
        self._target = target if keep is None else target[keep]
        self._n_jobs = n_jobs
        self._bins: NDArray[np.uint8] | None = None
        self._part: NDArray[np.int32] | None = None

    def encode(self, encoding: Encoding) -> None:
        """Bin the records as the encoding says."""
        bins = encoding.bins(self._frame, self._n_jobs)
        self._bins = bins if self._keep is None else bins[self._keep]

    def deal(self, n_parts: int, draw: DrawBelow) -> None:
        """Give each record one of the parts, independently and uniformly."""
        self._part = draw(n_parts, len(self._target)).astype(np.int32)

    def total(self, statistic: Statistic) -> NDArray[np.int64]:
        """Total the statistic over all records, a thread for each run of rows."""
        if self._bins is None:
            raise RuntimeError("records must be encoded before they are totalled")
        records = Block(self._bins, self._target, self._part)

        def total_rows(rows: slice) -> NDArray[np.int64]:
            total = np.zeros(statistic.shape, np.int64)
            statistic.add(records.rows(rows), total)
            return total

        totals = map_rows(total_rows, len(self._target), self._n_jobs)
        for other in totals[1:]:
            totals[0] += other
        return totals[0]
