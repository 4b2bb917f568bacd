"""The hot loops that send records down trees: compiled, without the GIL.

Kernels work on the rows they are given and on arrays only; `dpforest.tables.threads` hands each
thread its own rows. Routing goes level by level through a block of records that stays in the cache,
so that the processor overlaps the look-ups of many records. Indices are unsigned, which spares
numba's test for negative ones and halves the time.

A forest comes as its ``routing_arrays``, one tuple. A compiled function calls none of another file,
and reads no constant of it: numba looks for edits in the file of the caller only and would keep
running the old code (`tests/test_kernels.py`). So what is done with leaves elsewhere starts from
leaf numbers that were written here.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 1024  # records routed together; their nodes and counters stay in the first-level cache
WIDE_BLOCK = 4096  # records whose leaf numbers and gradients stay in the first-level cache


@njit(nogil=True, cache=True, inline="always")
def _child(links, right_bytes, node, b):
    """The child of a binary node for a bin; a leaf is its own child."""
    link = links[node]
    byte = np.uint32(right_bytes[np.uint64(node) * np.uint64(32) + np.uint64(b >> np.uint32(3))])
    return np.uint32(link >> np.uint64(32)) + ((byte >> (b & np.uint32(7))) & np.uint32(1))


@njit(nogil=True, cache=True, inline="always")
def _leaf(bins, i, root, links, right_bytes, n_children, multiway):
    """The leaf node of one record in a tree."""
    v = np.uint32(root)
    while n_children[v] > 0:
        b = np.uint32(bins[i, np.uint32(links[v])])
        if multiway:
            v = np.uint32(links[v] >> np.uint64(32)) + b
        else:
            v = _child(links, right_bytes, v, b)
    return v


@njit(nogil=True, cache=True)
def _route_block(bins, root, links, right_bytes, n_children, multiway, depth, node):
    """Write into ``node`` the leaf node of each record of a block."""
    for i in range(bins.shape[0]):
        node[i] = root
    for _ in range(depth):
        if multiway:
            for i in range(bins.shape[0]):
                v = node[i]
                if n_children[v] > 0:
                    b = np.uint32(bins[i, np.uint32(links[v])])
                    node[i] = np.uint32(links[v] >> np.uint64(32)) + b
        else:
            for i in range(bins.shape[0]):
                v = node[i]
                b = np.uint32(bins[i, np.uint32(links[v])])
                node[i] = _child(links, right_bytes, v, b)


@njit(nogil=True, cache=True)
def find_leaves(bins, forest, out):
    """Write into ``out[tree, record]`` the leaf of the record in each tree."""
    roots, links, right_bytes, n_children, leaf_id, multiway, depth = forest
    for start in range(0, bins.shape[0], BLOCK):
        block = bins[start : start + BLOCK]
        for t in range(roots.shape[0]):
            node = out[t, start : start + BLOCK]
            _route_block(block, roots[t], links, right_bytes, n_children, multiway, depth, node)
            for i in range(block.shape[0]):
                node[i] = leaf_id[node[i]]


@njit(nogil=True, cache=True)
def find_own_leaves(bins, part, forest, out):
    """Write into ``out[0, record]`` the leaf of the record in the one tree that is its own."""
    roots, links, right_bytes, n_children, leaf_id, multiway, _ = forest
    for i in range(bins.shape[0]):
        root = roots[part[i]]
        out[0, i] = leaf_id[_leaf(bins, i, root, links, right_bytes, n_children, multiway)]


@njit(nogil=True, cache=True)
def find_sampled_leaves(bins, times, forest, out):
    """Write into ``out[tree, record]`` the leaf of the record where ``times`` is not 0, else 0."""
    roots, links, right_bytes, n_children, leaf_id, multiway, _ = forest
    for i in range(bins.shape[0]):
        for t in range(roots.shape[0]):
            out[t, i] = 0
            if times[i, t] > 0:
                v = _leaf(bins, i, roots[t], links, right_bytes, n_children, multiway)
                out[t, i] = leaf_id[v]


@njit(nogil=True, cache=True)
def add_leaf_values(bins, forest, values, out):
    """Add to ``out[record]`` the values of the leaves that the record falls into."""
    roots, links, right_bytes, n_children, leaf_id, multiway, depth = forest
    node = np.empty(BLOCK, np.uint32)
    for start in range(0, bins.shape[0], BLOCK):
        block = bins[start : start + BLOCK]
        sums = out[start : start + BLOCK]
        for t in range(roots.shape[0]):
            _route_block(block, roots[t], links, right_bytes, n_children, multiway, depth, node)
            for i in range(block.shape[0]):
                leaf = leaf_id[node[i]]
                for j in range(values.shape[1]):
                    sums[i, j] += values[leaf, j]


@njit(nogil=True, cache=True)
def strongest_leaf(bins, forest, strength, out):
    """Write into ``out[record]`` the strongest of the leaves that the record falls into."""
    roots, links, right_bytes, n_children, leaf_id, multiway, depth = forest
    node = np.empty(BLOCK, np.uint32)
    for start in range(0, bins.shape[0], BLOCK):
        block = bins[start : start + BLOCK]
        best = out[start : start + BLOCK]
        for t in range(roots.shape[0]):
            _route_block(block, roots[t], links, right_bytes, n_children, multiway, depth, node)
            for i in range(block.shape[0]):
                leaf = leaf_id[node[i]]
                if t == 0 or strength[leaf] > strength[best[i]]:
                    best[i] = leaf


@njit(nogil=True, cache=True)
def _answer_by_interval(column, low, span, bit, leaf):
    """Set a bit of the leaf numbers where the bin lies in an interval; compiles to vector code."""
    for i in range(leaf.shape[0]):
        leaf[i] |= np.uint8(np.uint8(np.uint8(column[i] - low) <= span) * bit)


@njit(nogil=True, cache=True)
def _answer_by_table(column, table, level, leaf):
    for i in range(leaf.shape[0]):
        leaf[i] |= np.uint8(table[column[i]] << level)


@njit(nogil=True, cache=True)
def _oblivious_leaves(columns, start, feature, low, span, in_a_row, table, depth, leaf):
    """Write into ``leaf`` the leaf numbers, in one tree, of the records from ``start`` on."""
    leaf[:] = 0
    stop = start + leaf.shape[0]
    for k in range(depth):
        column = columns[feature[k], start:stop]
        if in_a_row[k]:
            _answer_by_interval(column, low[k], span[k], np.uint8(1 << k), leaf)
        else:
            _answer_by_table(column, table[k], np.uint8(k), leaf)


@njit(nogil=True, cache=True)
def find_oblivious_leaves(columns, trees, out):
    """Write into ``out[tree, record]`` the leaf numbers of the records in oblivious trees."""
    feature, low, span, in_a_row, table, depth = trees
    for start in range(0, columns.shape[1], WIDE_BLOCK):
        stop = min(start + WIDE_BLOCK, columns.shape[1])
        for t in range(feature.shape[0]):
            leaf = out[t, start:stop]
            _oblivious_leaves(
                columns, start, feature[t], low[t], span[t], in_a_row[t], table[t], depth[t], leaf
            )


@njit(nogil=True, cache=True)
def add_tree_values(columns, trees, values, scores):
    """Add to ``scores[output, record]`` the values of the leaves of all trees."""
    feature, low, span, in_a_row, table, depth = trees
    leaves = np.empty(WIDE_BLOCK, np.uint8)
    for start in range(0, columns.shape[1], WIDE_BLOCK):
        stop = min(start + WIDE_BLOCK, columns.shape[1])
        leaf = leaves[: stop - start]
        for t in range(feature.shape[0]):
            _oblivious_leaves(
                columns, start, feature[t], low[t], span[t], in_a_row[t], table[t], depth[t], leaf
            )
            for k in range(scores.shape[0]):
                _add_values(values[t, k], leaf, scores[k, start:stop])


@njit(nogil=True, cache=True)
def _add_values(values, leaf, scores):
    for i in range(leaf.shape[0]):
        scores[i] += values[np.uint64(leaf[i])]
