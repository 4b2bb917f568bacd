"""A source as blocks of the same number of rows: always the same blocks, in the same order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import narwhals.stable.v2 as nw

from dpforest.tables.sources import Source

BLOCK_ROWS = 1 << 17


def blocks_of(
    source: Source, columns: Sequence[str], n_rows: int = BLOCK_ROWS
) -> Iterator[nw.DataFrame[Any]]:
    """Some columns of a source, so many rows at a time; the last block has what is left."""
    yield from regrouped(source.batches(columns), n_rows)


def regrouped(batches: Iterable[Any], n_rows: int) -> Iterator[nw.DataFrame[Any]]:
    """Frames one after another, as frames of so many rows; the last has what is left."""
    waiting: list[nw.DataFrame[Any]] = []
    missing = n_rows
    for batch in batches:
        rest: nw.DataFrame[Any] = nw.from_native(batch, eager_only=True)
        while len(rest) >= missing:
            yield nw.concat([*waiting, rest[:missing]])
            rest, waiting, missing = rest[missing:], [], n_rows
        if len(rest):
            waiting.append(rest)
            missing -= len(rest)
    if waiting:
        yield nw.concat(waiting)
