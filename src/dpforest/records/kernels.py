"""The hot loops: everything that runs over records is here, compiled, without the GIL.

Kernels work on the rows they are given and on arrays only; `records.threads` hands each thread
its own rows. Routing goes level by level through a block of records that stays in the cache, so
that the processor overlaps the look-ups of many records.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 1024  # records routed together; their nodes and counters stay in the first-level cache


@njit(nogil=True, cache=True)
def _route_block(
    bins, start, stop, root, feature, first_child, n_children, goes_right, multiway, depth, node
):
    """Write into ``node`` the leaf node of each record from ``start`` to ``stop``."""
    for i in range(stop - start):
        node[i] = root
    for _ in range(depth):
        if multiway:
            for i in range(stop - start):
                v = node[i]
                if n_children[v] > 0:
                    node[i] = first_child[v] + bins[start + i, feature[v]]
        else:
            for i in range(stop - start):
                v = node[i]
                b = bins[start + i, feature[v]]
                word = goes_right[v, b >> 6]
                right = (word >> np.uint64(b & np.uint8(63))) & np.uint64(1)
                node[i] = first_child[v] + np.int32(right)


@njit(nogil=True, cache=True)
def count_leaves(
    bins, codes, roots, feature, first_child, n_children, goes_right, leaf_id, multiway, depth, out
):
    """Add to ``out[leaf, class]`` the records of each class in each leaf of each tree."""
    node = np.empty(BLOCK, np.int32)
    n = bins.shape[0]
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        for t in range(roots.shape[0]):
            _route_block(
                bins, start, stop, roots[t], feature, first_child, n_children, goes_right,
                multiway, depth, node,
            )  # fmt: skip
            for i in range(stop - start):
                out[leaf_id[node[i]], codes[start + i]] += 1


@njit(nogil=True, cache=True)
def count_own_leaves(
    bins, codes, part, roots, feature, first_child, n_children, goes_right, leaf_id, multiway,
    depth, out,
):  # fmt: skip
    """Add to ``out[leaf, class]`` each record in the one tree that ``part`` gives it."""
    for i in range(bins.shape[0]):
        v = roots[part[i]]
        while n_children[v] > 0:
            b = bins[i, feature[v]]
            if multiway:
                v = first_child[v] + b
            else:
                word = goes_right[v, b >> 6]
                v = first_child[v] + np.int32((word >> np.uint64(b & np.uint8(63))) & np.uint64(1))
        out[leaf_id[v], codes[i]] += 1


@njit(nogil=True, cache=True)
def add_leaf_values(
    bins, roots, feature, first_child, n_children, goes_right, leaf_id, multiway, depth, values,
    out,
):  # fmt: skip
    """Add to ``out[record]`` the values of the leaves that the record falls into."""
    node = np.empty(BLOCK, np.int32)
    n = bins.shape[0]
    k = values.shape[1]
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        for t in range(roots.shape[0]):
            _route_block(
                bins, start, stop, roots[t], feature, first_child, n_children, goes_right,
                multiway, depth, node,
            )  # fmt: skip
            for i in range(stop - start):
                leaf = leaf_id[node[i]]
                for j in range(k):
                    out[start + i, j] += values[leaf, j]


@njit(nogil=True, cache=True)
def strongest_leaf(
    bins, roots, feature, first_child, n_children, goes_right, leaf_id, multiway, depth, strength,
    out,
):  # fmt: skip
    """Write into ``out[record]`` the strongest of the leaves that the record falls into."""
    node = np.empty(BLOCK, np.int32)
    n = bins.shape[0]
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        for t in range(roots.shape[0]):
            _route_block(
                bins, start, stop, roots[t], feature, first_child, n_children, goes_right,
                multiway, depth, node,
            )  # fmt: skip
            for i in range(stop - start):
                leaf = leaf_id[node[i]]
                if t == 0 or strength[leaf] > strength[out[start + i]]:
                    out[start + i] = leaf


# --- encoding: values to bins -------------------------------------------------------------------


@njit(nogil=True, cache=True, inline="always")
def _cuts_below(row, value):
    """Count the cuts below the value by a search of fixed length, with no branch to mispredict.

    ``row`` holds -inf, the sorted cuts, then +inf, 257 entries in all.
    """
    b = np.uint64(row[np.uint64(128)] < value) << np.uint64(7)
    b += np.uint64(row[b + np.uint64(64)] < value) << np.uint64(6)
    b += np.uint64(row[b + np.uint64(32)] < value) << np.uint64(5)
    b += np.uint64(row[b + np.uint64(16)] < value) << np.uint64(4)
    b += np.uint64(row[b + np.uint64(8)] < value) << np.uint64(3)
    b += np.uint64(row[b + np.uint64(4)] < value) << np.uint64(2)
    b += np.uint64(row[b + np.uint64(2)] < value) << np.uint64(1)
    b += np.uint64(row[b + np.uint64(1)] < value)
    return b


@njit(nogil=True, cache=True, inline="always")
def _even_cuts_below(row, value, low, scale, n_cuts):
    """Count them when they are evenly spaced: a guess, off by one at most, and two comparisons."""
    guess = (value - low) * scale
    guess = guess if guess > 0.0 else 0.0
    k = np.uint64(np.int64(guess if guess < n_cuts else n_cuts))
    below = np.uint64(row[k] < value) + np.uint64(row[k + np.uint64(1)] < value)
    return k + below - np.uint64(1)


@njit(nogil=True, cache=True)
def bin_columns(values, sources, cuts, n_cuts, lows, scales, out, targets):
    """Write into ``out[:, targets]`` the bins of ``values[:, sources]``.

    The bin of a value is the number of cuts below it, after clipping at ``lows`` (clipping at the
    upper bound changes nothing: no cut lies there); NaN has the bin after the last. ``scales`` is
    the number of cuts in a unit where cuts are evenly spaced, 0 where they are not.
    """
    for j in range(sources.shape[0]):
        row, low, scale = cuts[j], lows[j], scales[j]
        source, target = sources[j], targets[j]
        missing = np.uint8(n_cuts[j] + 1)
        last = np.float64(n_cuts[j])
        if scale > 0.0:
            for i in range(values.shape[0]):
                raw = np.float64(values[i, source])
                value = raw if raw > low else low
                b = _even_cuts_below(row, value, low, scale, last)
                out[i, target] = np.uint8(b) if raw == raw else missing
        else:
            for i in range(values.shape[0]):
                raw = np.float64(values[i, source])
                b = _cuts_below(row, raw)
                out[i, target] = np.uint8(b) if raw == raw else missing


@njit(nogil=True, cache=True)
def match_numbers(values, numbers, places, missing, unseen, out):
    """Write into ``out`` the place of each value among the sorted ``numbers``, if it is there."""
    for i in range(values.shape[0]):
        value = values[i]
        low, high = 0, numbers.shape[0]
        while low < high:
            middle = (low + high) >> 1
            if numbers[middle] < value:
                low = middle + 1
            else:
                high = middle
        if value != value:
            out[i] = missing
        elif low < numbers.shape[0] and numbers[low] == value:
            out[i] = places[low]
        else:
            out[i] = unseen


# --- multi-way domains: leaves one by one, and tables of several features ------------------------


@njit(nogil=True, cache=True)
def find_leaves(bins, roots, feature, first_child, n_children, goes_right, leaf_id, multiway,
                depth, out):  # fmt: skip
    """Write into ``out[record, tree]`` the leaf of the record in each tree."""
    node = np.empty(BLOCK, np.int32)
    n = bins.shape[0]
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        for t in range(roots.shape[0]):
            _route_block(
                bins, start, stop, roots[t], feature, first_child, n_children, goes_right,
                multiway, depth, node,
            )  # fmt: skip
            for i in range(stop - start):
                out[start + i, t] = leaf_id[node[i]]


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
