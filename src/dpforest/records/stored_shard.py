"""A shard between visits: its arrays in a private file."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.records.blocks import Block
from dpforest.records.content import Frozen
from dpforest.records.private_file import PrivateFile
from dpforest.records.recipes import State
from dpforest.records.shards import Shard
from dpforest.records.statistics import Statistic
from dpforest.tables.frames import Frame

Field = Literal["bins", "target", "part", "scores", "members", "weight"]
Buffers = dict[str, NDArray[np.uint8]]
"""Memory that is used again from visit to visit, by field."""


class Stored(NamedTuple):
    """Where an array lies in the file, and what it is."""

    place: int
    n_bytes: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    by_column: bool

    def read(self, file: PrivateFile, buffer: NDArray[np.uint8]) -> NDArray[Any]:
        """The array, in the front of a buffer."""
        flat = buffer[: self.n_bytes].view(self.dtype)
        file.read(flat, self.place)
        return flat.reshape(self.shape, order="F" if self.by_column else "C")


class StoredShard:
    """Some records of a stream, in a private file but while they are visited.

    Parameters
    ----------
    file : PrivateFile
    target : ndarray
        Of all rows.
    first : int
        The place of the first row in the whole table.
    weight : ndarray of float64, optional
        From 0 to 1, of all rows.
    """

    def __init__(
        self,
        file: PrivateFile,
        target: NDArray[Any],
        first: int,
        weight: NDArray[np.float64] | None = None,
    ) -> None:
        self.frozen = Frozen(len(target), target, weight)
        self.first = first
        self._file = file
        self._stored: dict[Field, Stored] = {}
        self._save("target", target)
        if weight is not None:
            self._save("weight", weight)
        nothing = np.empty(0, target.dtype)
        self._shard = Shard(nothing, None, first, n_jobs=1)
        self._empty = self._shard.block

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Keep some of the rows only, where a person's records are bounded."""
        some = self._load({}).rows(rows)
        self._save("target", some.target)
        if some.weight is not None:
            self._save("weight", some.weight)
        self._shard = Shard(self._empty.target, rows, self.first, n_jobs=1)

    def needs_values(self, state: State) -> bool:
        """See `Shard`."""
        return self._shard.needs_values(state)

    def expect(self) -> None:
        """Have the system read ahead."""
        for stored in self._stored.values():
            self._file.expect(stored.n_bytes, stored.place)

    def add(
        self,
        state: State,
        statistic: Statistic,
        total: NDArray[np.int64],
        buffers: Buffers,
        frame: Frame | None = None,
    ) -> None:
        """Add the records to a total, and keep what was made for them."""
        shard, before = self._shard, self._shard.has
        try:
            shard.block = self._load(buffers)
            shard.add(state, statistic, total, frame)
            for field, old, new in zip(before._fields, before, shard.has, strict=True):
                if old != new:
                    self._save(field, getattr(shard.block, field))  # type: ignore[arg-type]
        except BaseException:
            shard.forget()
            raise
        finally:
            shard.block = self._empty

    def _load(self, buffers: Buffers) -> Block:
        arrays = {}
        for field, stored in self._stored.items():
            if field not in buffers or len(buffers[field]) < stored.n_bytes:
                buffers[field] = np.empty(stored.n_bytes, np.uint8)
            arrays[field] = stored.read(self._file, buffers[field])
        arrays.setdefault("bins", np.empty((len(arrays["target"]), 0), np.uint8))
        return Block(**arrays)

    def _save(self, field: Field, array: NDArray[Any]) -> None:
        old = self._stored.get(field)
        place = (
            old.place if old and old.n_bytes == array.nbytes else self._file.reserve(array.nbytes)
        )
        by_column = not array.flags.c_contiguous
        self._file.write(array, place)
        self._stored[field] = Stored(place, array.nbytes, array.dtype, array.shape, by_column)
