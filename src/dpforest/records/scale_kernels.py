"""The hot loop of counting on scales; `counting_kernels` says how kernels are written."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def count_cells(bins, codes, feature, steps, divisor, n_cells, out):
    """Add to ``out[scale, cell, class]`` each record, once a scale.

    The cell is the sum of the steps of its bins over the divisor, at most the last one.
    """
    for r in range(feature.shape[0]):
        for i in range(bins.shape[0]):
            total = np.int64(0)
            for k in range(feature.shape[1]):
                total += np.int64(steps[r, k, bins[i, feature[r, k]]])
            cell = min(total // divisor[r], n_cells[r] - 1)
            out[r, cell, np.int64(codes[i])] += 1
