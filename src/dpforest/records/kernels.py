"""The hot loops: everything that runs over records is here, compiled, without the GIL.

Kernels work on the rows they are given and on arrays only; `records.threads` hands each thread
its own rows. Routing goes level by level through a block of records that stays in the cache, so
that the processor overlaps the look-ups of many records. Indices are unsigned, which spares
numba's test for negative ones and halves the time.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dpforest.tables.routing_kernels import (
    BLOCK,
    WIDE_BLOCK,
    _child,
    _oblivious_leaves,
    _route_block,
)


@njit(nogil=True, cache=True)
def count_leaves(bins, codes, roots, links, right_bytes, n_children, leaf_id, multiway, depth, out):
    """Add to ``out[leaf, class]`` the records of each class in each leaf of each tree."""
    node = np.empty(BLOCK, np.uint32)
    for start in range(0, bins.shape[0], BLOCK):
        block = bins[start : start + BLOCK]
        labels = codes[start : start + BLOCK]
        for t in range(roots.shape[0]):
            _route_block(block, roots[t], links, right_bytes, n_children, multiway, depth, node)
            for i in range(block.shape[0]):
                out[leaf_id[node[i]], np.uint32(labels[i])] += 1


@njit(nogil=True, cache=True)
def count_own_leaves(
    bins, codes, part, roots, links, right_bytes, n_children, leaf_id, multiway, depth, out
):
    """Add to ``out[leaf, class]`` each record in the one tree that ``part`` gives it."""
    for i in range(bins.shape[0]):
        v = np.uint32(roots[part[i]])
        while n_children[v] > 0:
            b = np.uint32(bins[i, np.uint32(links[v])])
            if multiway:
                v = np.uint32(links[v] >> np.uint64(32)) + b
            else:
                v = _child(links, right_bytes, v, b)
        out[leaf_id[v], np.uint32(codes[i])] += 1


@njit(nogil=True, cache=True)
def count_sampled_leaves(
    bins, codes, members, roots, links, right_bytes, n_children, leaf_id, multiway, depth, out
):
    """Add to ``out[leaf, class]`` each record as often as ``members`` says, tree by tree."""
    node = np.empty(BLOCK, np.uint32)
    for start in range(0, bins.shape[0], BLOCK):
        block = bins[start : start + BLOCK]
        labels = codes[start : start + BLOCK]
        times = members[start : start + BLOCK]
        for t in range(roots.shape[0]):
            _route_block(block, roots[t], links, right_bytes, n_children, multiway, depth, node)
            for i in range(block.shape[0]):
                out[leaf_id[node[i]], np.uint32(labels[i])] += np.int64(times[i, t])


# --- boosting: oblivious trees, gradients, leaf sums ---------------------------------------------

HESSIAN_BITS = 32  # a gradient and its Hessian share a word, so that one addition serves both
LEAVES = 256


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


@njit(nogil=True, cache=True)
def sum_gradients(
    columns, target, scores, kind, gradient_unit, hessian_unit, limit, norm, clip, center, width,
    feature, low, span, in_a_row, table, depth, out,
):  # fmt: skip
    """Add to ``out[tree, leaf, output]`` the gradients and Hessians of the records, as integers."""
    n_outputs = scores.shape[0]
    leaves = np.empty(WIDE_BLOCK, np.uint8)
    packed = np.empty((n_outputs, WIDE_BLOCK), np.int64)
    totals = np.empty(4 * LEAVES, np.int64)
    for start in range(0, columns.shape[1], WIDE_BLOCK):
        stop = min(start + WIDE_BLOCK, columns.shape[1])
        leaf = leaves[: stop - start]
        block = packed[:, : stop - start]
        pack_gradients(
            scores[:, start:stop], target[start:stop], kind, gradient_unit, hessian_unit, limit,
            norm, clip, center, width, block,
        )  # fmt: skip
        for t in range(feature.shape[0]):
            _oblivious_leaves(
                columns, start, feature[t], low[t], span[t], in_a_row[t], table[t], depth[t], leaf
            )
            for k in range(n_outputs):
                totals[:] = 0
                _add_by_leaf(block[k], leaf, totals)
                _unpack_totals(totals, out[t, :, k])


@njit(nogil=True, cache=True)
def pack_gradients(
    scores, target, kind, gradient_unit, hessian_unit, limit, norm, clip, center, width, packed
):
    """Write the integer gradients of each record, and its Hessian with that of the first output.

    All are cut off towards zero. Whatever floating point did before, the integers are held to
    the limit here: the L1 norm (``norm`` 1) or the squared L2 norm (``norm`` 2) of all integers
    of a record is at most ``limit``, or they are dropped.
    """
    n_outputs = scores.shape[0]
    slope = np.empty(n_outputs, np.float64)
    integers = np.empty(n_outputs, np.int64)
    for i in range(scores.shape[1]):
        if kind == 0:
            p = 1.0 / (1.0 + np.exp(-np.float64(scores[0, i])))
            slope[0] = p - target[i]
            curvature = p * (1.0 - p)
        elif kind == 1:
            curvature = _softmax_slopes(scores, i, np.int64(target[i]), slope)
        else:
            slope[0] = scores[0, i] - (target[i] - center) / width
            curvature = 1.0
        reach = 0.0
        for k in range(n_outputs):
            reach += abs(slope[k]) if norm == 1 else slope[k] * slope[k]
        reach = reach if norm == 1 else np.sqrt(reach)
        # NaN and infinity make integers that could slip through the limit.
        finite = reach < np.inf and curvature < np.inf
        unit = gradient_unit * (clip / reach if reach > clip else 1.0)
        hessian = np.int64(curvature * hessian_unit)
        # In doubles, which are exact as far as the limit and do not wrap around beyond it.
        length = np.float64(hessian)
        size = abs(length) if norm == 1 else length * length
        for k in range(n_outputs):
            integers[k] = np.int64(slope[k] * unit)
            length = np.float64(integers[k])
            size += abs(length) if norm == 1 else length * length
        for k in range(n_outputs):
            word = (integers[k] << HESSIAN_BITS) + (hessian if k == 0 else 0)
            packed[k, i] = word if finite and size <= limit else 0


@njit(nogil=True, cache=True)
def _softmax_slopes(scores, i, label, slope):
    """Write the gradients of a record's scores; returns its Hessian."""
    largest = scores[0, i]
    for k in range(1, scores.shape[0]):
        largest = max(largest, scores[k, i])
    total = 0.0
    for k in range(scores.shape[0]):
        slope[k] = np.exp(np.float64(scores[k, i] - largest))
        total += slope[k]
    squares = 0.0
    for k in range(scores.shape[0]):
        slope[k] /= total
        squares += slope[k] * slope[k]
    slope[label] -= 1.0
    return 0.5 * (1.0 - squares)


@njit(nogil=True, cache=True)
def count_bins(column, out):
    """Add to ``out[bin]`` the number of records in each bin."""
    for i in range(column.shape[0]):
        out[np.uint64(column[i])] += 1


# --- multi-way domains: leaves one by one, and tables of several features ------------------------


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
