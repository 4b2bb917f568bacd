"""Records in the memory of this machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.records.shards import Shard
from dpforest.records.statistics import Statistic
from dpforest.records.store import RecordStore
from dpforest.tables.frames import Frame


class LocalStore(RecordStore):
    """Records in the memory of this machine, as one shard.

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
    weight : ndarray of float64, optional
        Of each row, from 0 to 1.
    """

    def __init__(
        self,
        frame: Frame,
        target: NDArray[Any],
        keep: NDArray[np.int64] | None = None,
        n_jobs: int | None = None,
        weight: NDArray[np.float64] | None = None,
    ) -> None:
        super().__init__(weight is not None)
        self._frame = frame
        if weight is not None and keep is not None:
            weight = weight[keep]
        kept = target if keep is None else target[keep]
        self._shard = Shard(kept, keep, n_jobs=n_jobs, weight=weight)

    def total(self, statistic: Statistic) -> NDArray[np.int64]:
        """The exact total of a statistic, for the desk only: a thread a run of rows."""
        total = np.zeros(statistic.shape, np.int64)
        self._shard.add(self._state, statistic, total, self._frame)
        return total
