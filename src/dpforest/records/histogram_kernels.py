"""The hot loops of growing level by level: histograms and sums of the leaves that records are in.

`dpforest.records.counting_kernels` says how kernels are written, and what ``leaves`` and ``times``
are. ``grid`` is a lower bound of the target, the steps in a unit above it, and the most steps;
with 0 steps in a unit the target is a class.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, inline="always")
def _steps(value, grid):
    """A target in steps above the lower bound, at least 0 and at most the most."""
    low, scale, most = grid
    return np.int64(np.rint(min(max((value - low) * scale, 0.0), most)))


@njit(nogil=True, cache=True)
def node_histograms(leaves, times, bins, target, candidates, first, grid, out):
    """Add each record to ``out[leaf - first, candidate, bin]``: in its class, or (1, its target).

    Only leaves from ``first`` on, as many as ``out`` has room for; a candidate of -1 is none.
    """
    sampled = times.shape[0] > 0
    numbers = grid[1] > 0.0
    for i in range(bins.shape[0]):
        steps = _steps(target[i], grid) if numbers else np.int64(0)
        for t in range(leaves.shape[0]):
            often = np.int64(times[i, t]) if sampled else np.int64(1)
            leaf = np.int64(leaves[t, i]) - first
            if often == 0 or leaf < 0 or leaf >= out.shape[0]:
                continue
            for k in range(candidates.shape[1]):
                feature = candidates[leaf + first, k]
                if feature < 0:
                    continue
                b = np.uint64(bins[i, feature])
                if numbers:
                    out[leaf, k, b, 0] += often
                    out[leaf, k, b, 1] += often * steps
                else:
                    out[leaf, k, b, np.uint64(target[i])] += often


@njit(nogil=True, cache=True)
def leaf_sums(leaves, times, target, grid, out):
    """Add to ``out[leaf]`` of each record 1 and its target in steps."""
    sampled = times.shape[0] > 0
    for i in range(target.shape[0]):
        steps = _steps(target[i], grid)
        for t in range(leaves.shape[0]):
            often = np.int64(times[i, t]) if sampled else np.int64(1)
            out[leaves[t, i], 0] += often
            out[leaves[t, i], 1] += often * steps
