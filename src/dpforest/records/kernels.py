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
                v = first_child[v] + np.int32(
                    (word >> np.uint64(b & np.uint8(63))) & np.uint64(1)
                )
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
