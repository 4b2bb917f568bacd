"""Blocks of a stream: the same rows, so many at a time, however they come."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.tables.sources import Source
from dpforest.tables.streams import blocks_of


class Batches(Source):
    """Rows 0, 1, ... in batches of given sizes."""

    names = ("row", "other")
    types = {"row": "integer"}  # noqa: RUF012

    def __init__(self, sizes):
        self.sizes = sizes

    def batches(self, columns):
        first = 0
        for size in self.sizes:
            yield pa.table({name: np.arange(first, first + size) for name in columns})
            first += size

    def map(self, function, columns, like):
        raise NotImplementedError


@settings(max_examples=60, deadline=None)
@given(sizes=st.lists(st.integers(0, 12), max_size=8), n_rows=st.integers(1, 10))
def test_all_rows_come_once_in_order_and_in_equal_blocks(sizes, n_rows):
    blocks = [block["row"].to_list() for block in blocks_of(Batches(sizes), ["row"], n_rows)]
    assert [row for block in blocks for row in block] == list(range(sum(sizes)))
    assert [len(block) for block in blocks[:-1]] == [n_rows] * (len(blocks) - 1)
    assert all(0 < len(block) <= n_rows for block in blocks)


def test_only_what_is_asked_for_is_read():
    (block,) = blocks_of(Batches([3]), ["other"])
    assert block.columns == ["other"]
