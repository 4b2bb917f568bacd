"""The hot loops of counting: compiled, without the GIL.

Kernels work on the rows they are given and on arrays only; `dpforest.tables.threads` hands each
thread its own rows. Which leaf a record is in is found before, by `dpforest.tables.routing`: a
compiled function calls none of another file, since numba would keep running the old code after an
edit there. Indices are unsigned, which spares numba's test for negative ones.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def count_classes(leaves, times, codes, out):
    """Add to ``out[leaf, class]`` each record, in each tree as often as ``times`` says.

    ``leaves[tree, record]`` are those of the trees that see a record; no ``times`` at all stands
    for once.
    """
    if times.shape[0] > 0:
        for t in range(leaves.shape[0]):
            for i in range(leaves.shape[1]):
                out[leaves[t, i], np.uint32(codes[i])] += np.int64(times[i, t])
    else:
        for t in range(leaves.shape[0]):
            for i in range(leaves.shape[1]):
                out[leaves[t, i], np.uint32(codes[i])] += 1


@njit(nogil=True, cache=True)
def count_bins(column, out):
    """Add to ``out[bin]`` the number of records in each bin."""
    for i in range(column.shape[0]):
        out[np.uint64(column[i])] += 1


@njit(nogil=True, cache=True)
def count_tables(bins, codes, features, sizes, borders, offsets, out):
    """Add each record to its cell of each table.

    Table t is over ``features[borders[t]:borders[t + 1]]`` with so many values each; its cells
    start at row ``offsets[t]`` of ``out[cell, class]``.
    """
    for i in range(bins.shape[0]):
        for t in range(offsets.shape[0]):
            cell = 0
            for j in range(borders[t], borders[t + 1]):
                cell = cell * sizes[j] + bins[i, features[j]]
            out[offsets[t] + cell, codes[i]] += 1
