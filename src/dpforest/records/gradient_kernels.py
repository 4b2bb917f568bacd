"""The hot loops of boosting: derivatives to integers of bounded norm, and their sums by leaf.

`dpforest.records.counting_kernels` says how kernels are written. `pack_gradients` is where the
sensitivity of every gradient release is enforced, record by record, whatever a loss gave.
"""

from __future__ import annotations

import numpy as np
from numba import njit

HESSIAN_BITS = 32  # a gradient and its Hessian share a word, so that one addition serves both
LEAVES = 256
WIDE_BLOCK = 4096  # records whose integers stay in the first-level cache, and their sum in a word


@njit(nogil=True, cache=True)
def sum_gradients(slopes, curvatures, weights, limits, norm, leaves, out):
    """Add to ``out[tree, leaf, output]`` the gradients and Hessians of the records, as integers.

    Derivatives are overwritten; ``leaves[tree, record]`` are leaf numbers; no ``weights`` are
    weights of 1.
    """
    n_outputs, n = slopes.shape
    packed = np.empty((n_outputs, WIDE_BLOCK), np.int64)
    totals = np.empty(4 * LEAVES, np.int64)
    for start in range(0, n, WIDE_BLOCK):
        stop = min(start + WIDE_BLOCK, n)
        own = weights[start:stop]
        pack_gradients(slopes, start, curvatures[start:stop], own, limits, norm, packed)
        for t in range(leaves.shape[0]):
            for k in range(n_outputs):
                totals[:] = 0
                _add_by_leaf(packed[k], leaves[t, start:stop], totals)
                _unpack_totals(totals, out[t, :, k])


@njit(nogil=True, cache=True, error_model="numpy")
def pack_gradients(slopes, start, curvatures, weights, limits, norm, packed):
    """Write the integer gradients of each record, and its Hessian with that of the first output.

    The records are those from ``start`` on for which there are ``curvatures``. A part of a row is
    in one piece, and of a table not: loops over the former compile to vector code.

    Weights shrink what clipping left; a record whose weight is not from 0 to 1 is dropped. All are
    cut off towards zero. Whatever floating point did before, the integers are held to the limit
    here: the L1 norm (``norm`` 1) or the squared L2 norm (``norm`` 2) of all integers of a record
    is at most ``limit``, or they are dropped. Whole numbers in doubles are exact as far as the
    limit, do not wrap around beyond it, and no comparison with NaN or infinity holds.
    """
    gradient_unit, hessian_unit, clip, limit = limits
    n_outputs, n = slopes.shape[0], curvatures.shape[0]
    stop = start + n
    unit, size = np.zeros(n), np.zeros(n)
    for k in range(n_outputs):
        _add_lengths(slopes[k, start:stop], norm, unit)
    for i in range(weights.shape[0]):
        curvatures[i] *= weights[i] if 0.0 <= weights[i] <= 1.0 else 0.0
    for i in range(n):
        reach = unit[i] if norm == 1 else np.sqrt(unit[i])
        shrunk = clip / reach
        unit[i] = gradient_unit * (shrunk if reach > clip else 1.0)
        curvatures[i] = np.trunc(curvatures[i] * hessian_unit)
        size[i] = 0.0 if reach < np.inf else np.inf
    for i in range(weights.shape[0]):
        unit[i] *= weights[i] if 0.0 <= weights[i] <= 1.0 else 0.0
    _add_lengths(curvatures, norm, size)
    for k in range(n_outputs):
        gradients = slopes[k, start:stop]
        for i in range(n):
            gradients[i] = np.trunc(gradients[i] * unit[i])
        _add_lengths(gradients, norm, size)
    for k in range(n_outputs):
        gradients, words = slopes[k, start:stop], packed[k]
        for i in range(n):
            words[i] = np.int64(gradients[i] if size[i] <= limit else 0.0) << HESSIAN_BITS
    for i in range(n):
        packed[0, i] += np.int64(curvatures[i] if size[i] <= limit else 0.0)


@njit(nogil=True, cache=True)
def _add_lengths(values, norm, size):
    """Add the absolute values, or the squares, to the sizes of the records."""
    if norm == 1:
        for i in range(values.shape[0]):
            size[i] += abs(values[i])
    else:
        for i in range(values.shape[0]):
            size[i] += values[i] * values[i]


@njit(nogil=True, cache=True)
def _add_by_leaf(values, leaf, totals):
    """Add each value to the total of its leaf; four totals a leaf, so that additions overlap."""
    n = leaf.shape[0]
    for quarter in range(n >> 2):
        i = np.uint64(quarter) << np.uint64(2)
        for lane in range(4):
            j = i + np.uint64(lane)
            totals[np.uint64(lane * LEAVES) + np.uint64(leaf[j])] += values[j]
    for i in range((n >> 2) << 2, n):
        totals[np.uint64(leaf[i])] += values[i]


@njit(nogil=True, cache=True)
def _unpack_totals(totals, out):
    """Add the halves of the packed totals to ``out[leaf, 0]`` and ``out[leaf, 1]``."""
    for leaf in range(out.shape[0]):
        word = np.int64(0)
        for lane in range(4):
            word += totals[lane * LEAVES + leaf]
        hessian = word & np.int64((1 << HESSIAN_BITS) - 1)
        out[leaf, 0] += (word - hessian) >> HESSIAN_BITS
        out[leaf, 1] += hessian
