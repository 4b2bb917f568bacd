"""What records say, as the schema reads it: to tell equal ones, and to see that none changed.

The hash of a record follows from its values and the schema alone, whatever container, partition or
order it comes in. It is private, like the record.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SourceChangedError
from dpforest.records.coins import Addresses
from dpforest.records.content_kernels import mix
from dpforest.schema import CategoricalFeature, Schema
from dpforest.tables.encode import match_categories
from dpforest.tables.frames import Frame

CHANGED = (
    "the source changed during the fit: a part of it has other records than when it was first "
    "read. Write it to a place where nothing changes it, leave random and current values out of "
    "lazy queries, and fit again"
)


def content_hashes(
    frame: Frame,
    schema: Schema,
    target: NDArray[Any],
    n_jobs: int | None = None,
    weight: NDArray[np.float64] | None = None,
) -> Addresses:
    """A number for each record: equal where records say the same.

    Parameters
    ----------
    frame : Frame
        The features, in the order of the schema.
    schema : Schema
    target : ndarray
        Class codes, or the bounded target.
    n_jobs : int, optional
    weight : ndarray of float64, optional
        From 0 to 1, where records have weights: part of what they say.
    """
    hashes = np.zeros(frame.n_rows, np.uint64)
    mix(target.astype(np.float64), hashes)
    if weight is not None:
        mix(weight, hashes)
    table = frame.number_table
    for j, feature in enumerate(schema.features):
        if isinstance(feature, CategoricalFeature):
            values = match_categories(frame.series(j), feature.categories, n_jobs=n_jobs)
        elif table is not None:
            values = table[0][:, table[1][j]]
        else:
            values = frame.series(j).numbers()
        mix(np.asarray(values, np.float64), hashes)
    return hashes


def fingerprint(*columns: NDArray[Any] | None) -> bytes:
    """The digest of a partition: of what its records say, or of some columns, in their order."""
    digest = blake2b(digest_size=16)
    for values in columns:
        digest.update(b"" if values is None else values.tobytes())
    return digest.digest()


class Frozen:
    """What a partition was when it was first read; whatever is read later must be the same.

    Parameters
    ----------
    n_rows : int
        How many records it has.
    target, weight : ndarray, optional
        Their targets and weights, where these were read before the rest.
    """

    def __init__(
        self,
        n_rows: int,
        target: NDArray[Any] | None = None,
        weight: NDArray[np.float64] | None = None,
    ) -> None:
        self.n_rows = n_rows
        self._before = None if target is None else fingerprint(target, weight)
        self._print: bytes | None = None

    def check(
        self,
        n_rows: int,
        hashes: Addresses | None = None,
        target: NDArray[Any] | None = None,
        weight: NDArray[np.float64] | None = None,
    ) -> None:
        """SourceChangedError unless the records are those of the first time."""
        found = None if hashes is None else fingerprint(hashes)
        same = n_rows == self.n_rows and (not self._print or not found or found == self._print)
        if target is not None and self._before is not None:
            same = same and fingerprint(target, weight) == self._before
        if not same:
            raise SourceChangedError(CHANGED)
        self._print = self._print or found

    def agree(self, other: Frozen) -> None:
        """SourceChangedError unless another reading of the partition found the same."""
        if (other.n_rows, other._print) != (self.n_rows, self._print):
            raise SourceChangedError(CHANGED)
