"""What a round of boosting learns from and draws by, in small loops: compiled, as calls cost more.

A round has a few trees only, and arrays of a few numbers. All is rounded as the plain NumPy that it
stands for (`tests/trees/test_learning_kernels.py`), so that models stay the same.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def transform(sums):
    """Walsh's transform of the second axis, in its place."""
    n_trees, n_leaves, n_outputs = sums.shape
    size = 1
    while size < n_leaves:
        for t in range(n_trees):
            for start in range(0, n_leaves, 2 * size):
                for i in range(start, start + size):
                    for k in range(n_outputs):
                        one, other = sums[t, i, k], sums[t, i + size, k]
                        sums[t, i, k], sums[t, i + size, k] = one + other, one - other
        size *= 2


@njit(nogil=True, cache=True)
def add_rows(thing, rows, seen, precision, pull):
    """Add the outer products of rows with themselves, and with what was seen, to their things."""
    n_weights, n_outputs = rows.shape[1], seen.shape[1]
    for i in range(thing.shape[0]):
        own, turned = precision[thing[i]], pull[thing[i]]
        for a in range(n_weights):
            for b in range(n_weights):
                own[a, b] += rows[i, a] * rows[i, b]
            for k in range(n_outputs):
                turned[a, k] += rows[i, a] * seen[i, k]


@njit(nogil=True, cache=True)
def find_cuts(shares, last_cut, feature, uniform):
    """The first cut of each feature by which its shares add up to a uniform draw, or its last."""
    out = np.zeros(feature.shape, np.int64)
    for t in range(feature.shape[0]):
        for level in range(feature.shape[1]):
            row, most = shares[feature[t, level]], last_cut[feature[t, level]]
            cut, up_to = 0, row[0]
            while cut < most and up_to < uniform[t, level]:
                cut += 1
                up_to += row[cut]
            out[t, level] = cut
    return out


@njit(nogil=True, cache=True)
def pair_rows(feature, cut, end, contrasts, curves, number, which, rows, seen):
    """Write what each two levels of some trees ask and showed; how many pairs there are.

    Of each pair of cuts of two features: its ``which`` among the pairs, by ``number``; the products
    of the ``rows`` of curves, less those where a question ends; what was ``seen``.
    """
    n, n_curves = 0, curves.shape[2]
    for t in range(feature.shape[0]):
        for one in range(feature.shape[1]):
            for other in range(one + 1, feature.shape[1]):
                swapped = feature[t, one] > feature[t, other]
                a, b = (other, one) if swapped else (one, other)
                f, g, c, d = feature[t, a], feature[t, b], cut[t, a], cut[t, b]
                if c < 0 or d < 0 or f == g:
                    continue
                for i in range(n_curves):
                    first = curves[f, c, i] - (curves[f, end[t, a], i] if end[t, a] >= 0 else 0.0)
                    for j in range(n_curves):
                        at_end = curves[g, end[t, b], j] if end[t, b] >= 0 else 0.0
                        rows[n, i * n_curves + j] = first * (curves[g, d, j] - at_end)
                which[n] = number[f, g]
                seen[n] = contrasts[t, (1 << one) | (1 << other)]
                n += 1
    return n
