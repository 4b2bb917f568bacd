"""The choice of each person's records without holding all of them: by buckets of persons."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.records.coins import Addresses, Coins
from dpforest.records.groups import kept_rows, person_keys
from dpforest.records.private_file import PrivateFile
from dpforest.tables.sources import Source
from dpforest.tables.streams import blocks_of

N_BUCKETS = 256
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # ids that follow each other go to different buckets


class Buckets:
    """Persons, addresses and places of records, in private files; a person is in one bucket."""

    def __init__(self) -> None:
        self._file = PrivateFile()
        self._parts: list[list[tuple[int, int]]] = [[] for _ in range(N_BUCKETS)]
        self._n_rows = 0

    def add(self, persons: NDArray[np.uint64], addresses: Addresses) -> None:
        """Put the next records into the buckets of their persons."""
        places = np.arange(self._n_rows, self._n_rows + len(persons), dtype=np.uint64)
        rows = np.column_stack([persons, addresses, places])
        bucket = (persons * SPREAD) >> np.uint64(56)
        order = np.argsort(bucket, kind="stable")
        ends = np.searchsorted(bucket[order], np.arange(N_BUCKETS), side="right")
        for parts, part in zip(self._parts, np.split(rows[order], ends[:-1]), strict=True):
            if len(part):
                place = self._file.reserve(part.nbytes)
                self._file.write(part, place)
                parts.append((place, len(part)))
        self._n_rows += len(persons)

    def kept(self, most: int, coins: Coins) -> NDArray[np.uint8]:
        """A bit for each record, in the order of their places: whether it is kept."""
        bits = np.zeros(-(-self._n_rows // 8), np.uint8)
        for parts in self._parts:
            rows = np.empty((sum(n for _, n in parts), 3), np.uint64)
            start = 0
            for place, n in parts:
                self._file.read(rows[start : start + n], place)
                start += n
            chosen = rows[kept_rows(rows[:, 0], rows[:, 1], most, coins), 2]
            np.bitwise_or.at(bits, chosen >> np.uint64(3), _BIT[chosen & np.uint64(7)])
        self._file.close()
        return bits


def kept_of_stream(source: Source, groups: str, most: int, coins: Coins) -> NDArray[np.uint8]:
    """A bit for each record of a source: of each person at most so many, by their places."""
    buckets, n_rows = Buckets(), 0
    for block in blocks_of(source, [groups]):
        places = np.arange(n_rows, n_rows + len(block), dtype=np.uint64)
        buckets.add(person_keys(block[groups].to_native()), places)
        n_rows += len(block)
    return buckets.kept(most, coins)


_BIT = (1 << np.arange(8)).astype(np.uint8)


def rows_of(bits: NDArray[np.uint8], first: int, n_rows: int) -> NDArray[np.int64]:
    """The rows that are kept of a block of the table, counted from its first."""
    start = first // 8
    some = np.unpackbits(bits[start : (first + n_rows + 7) // 8], bitorder="little")
    return np.flatnonzero(some[first - 8 * start :][:n_rows])
