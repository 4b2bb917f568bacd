"""Finished cells survive whatever happens to the run."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.reproduce.cache import CellCache

CELLS = st.dictionaries(
    st.text("abcdef0123456789", min_size=4, max_size=8),
    st.dictionaries(st.sampled_from(["MV", "TA"]), st.floats(0, 100), min_size=1),
    max_size=6,
)


@settings(max_examples=50, deadline=None)
@given(CELLS, st.integers(0, 400))
def test_a_file_cut_anywhere_keeps_all_whole_lines_and_goes_on(cells, cut):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cells" / "table.jsonl"
        cache = CellCache(path)
        for key, values in cells.items():
            cache.add(key, values)
        text = path.read_text() if cells else ""
        path.parent.mkdir(exist_ok=True)
        path.write_text(text[:cut])
        again = CellCache(path)
        assert len(again) >= text[:cut].count("\n")
        for key, values in cells.items():
            if key not in again:
                again.add(key, values)
        whole = CellCache(path)
        assert {key: whole[key] for key in cells} == cells
        assert len(whole) == len(cells)
