"""Records in the memory of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.records.store import Records, RecordStore
from dpforest.tables.frames import Frame


class LocalStore(RecordStore):
    """Records in the memory of this machine, as one block.

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
        super().__init__(n_jobs)
        if weight is not None and keep is not None:
            weight = weight[keep]
        self._records = Records(frame, target if keep is None else target[keep], keep, weight)

    def blocks(self) -> Iterator[Records]:
        """All records, once."""
        yield self._records
