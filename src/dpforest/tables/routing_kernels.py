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
WIDE_BLOCK = 8192  # records whose leaf numbers and scores stay near; a call costs as much as many
MANY_RUNS = 32  # of a tree: answering as many takes longer than a table
FEW_RECORDS = 8  # so many go down oblivious trees one by one


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
def _answer(column, low, span, bit, leaf):
    """Set a bit of the leaf numbers where the bin lies in a run; compiles to vector code."""
    for i in range(leaf.shape[0]):
        leaf[i] |= np.uint8(np.uint8(np.uint8(column[i] - low) <= span) * bit)


@njit(nogil=True, cache=True)
def _asks_one(feature, depth):
    """Whether all levels ask one feature, as those of a linear start do."""
    others = 0
    for k in range(depth):
        others += feature[k] != feature[0]
    return others == 0


@njit(nogil=True, cache=True)
def _look_up_leaves(column, first, low, span, depth, leaf):
    """The leaf numbers of a tree that asks one feature only: each of its bins has one."""
    bins, table = np.empty(256, np.uint8), np.zeros(256, np.uint8)
    for b in range(256):
        bins[b] = b
    for k in range(depth):
        for run in range(first[k], first[k + 1]):
            _answer(bins, low[run], span[run], np.uint8(1 << k), table)
    for i in range(leaf.shape[0]):
        leaf[i] = table[np.uint64(column[i])]


@njit(nogil=True, cache=True)
def _oblivious_leaves(columns, start, feature, first, low, span, depth, leaf):
    """Write into ``leaf`` the leaf numbers, in one tree, of the records from ``start`` on."""
    stop = start + leaf.shape[0]
    if first[depth] - first[0] > MANY_RUNS and _asks_one(feature, depth):
        _look_up_leaves(columns[feature[0], start:stop], first, low, span, depth, leaf)
        return
    leaf[:] = 0
    for k in range(depth):
        column = columns[feature[k], start:stop]
        for run in range(first[k], first[k + 1]):
            _answer(column, low[run], span[run], np.uint8(1 << k), leaf)


@njit(nogil=True, cache=True)
def find_oblivious_leaves(columns, trees, out):
    """Write into ``out[tree, record]`` the leaf numbers of the records in oblivious trees."""
    feature, first, low, span, _, depth = trees
    for start in range(0, columns.shape[1], WIDE_BLOCK):
        stop = min(start + WIDE_BLOCK, columns.shape[1])
        for t in range(feature.shape[0]):
            leaf = out[t, start:stop]
            _oblivious_leaves(columns, start, feature[t], first[t], low, span, depth[t], leaf)


@njit(nogil=True, cache=True)
def add_tree_values(columns, trees, values, scores):
    """Add to ``scores[output, record]`` the values of the leaves of all trees, in their order."""
    feature, first, low, span, table, depth = trees
    n_trees, n = feature.shape[0], columns.shape[1]
    if n <= FEW_RECORDS:
        _add_values_one_by_one(columns, feature, table, depth, values, scores)
        return
    leaves = np.empty((4, WIDE_BLOCK), np.uint8)
    for start in range(0, n, WIDE_BLOCK):
        stop = min(start + WIDE_BLOCK, n)
        for t in range(n_trees):
            leaf = leaves[t % 4, : stop - start]
            _oblivious_leaves(columns, start, feature[t], first[t], low, span, depth[t], leaf)
            if t % 4 == 3:
                for k in range(scores.shape[0]):
                    _add_four_values(values[t - 3 : t + 1], k, leaves, scores[k, start:stop])
        t, last = n_trees - n_trees % 4, n_trees - 1
        for k in range(scores.shape[0]):
            if n_trees % 4 >= 2:
                _add_two_values(values[t : t + 2], k, leaves, scores[k, start:stop])
            if n_trees % 2 == 1:
                _add_values(values[last, k], leaves[last % 4], scores[k, start:stop])


@njit(nogil=True, cache=True)
def _add_values_one_by_one(columns, feature, table, depth, values, scores):
    for i in range(columns.shape[1]):
        for t in range(feature.shape[0]):
            leaf = np.uint64(0)
            for k in range(depth[t]):
                leaf |= np.uint64(table[t, k, columns[feature[t, k], i]]) << np.uint64(k)
            for k in range(scores.shape[0]):
                scores[k, i] += values[t, k, leaf]


@njit(nogil=True, cache=True)
def _add_four_values(values, output, leaves, scores):
    """Add the values of four trees while a score is at hand; rounded as if added tree by tree."""
    a, b, c, d = values[0, output], values[1, output], values[2, output], values[3, output]
    in_a, in_b, in_c, in_d = leaves[0], leaves[1], leaves[2], leaves[3]
    for i in range(scores.shape[0]):
        score = scores[i] + a[np.uint64(in_a[i])]
        score += b[np.uint64(in_b[i])]
        score += c[np.uint64(in_c[i])]
        scores[i] = score + d[np.uint64(in_d[i])]


@njit(nogil=True, cache=True)
def _add_two_values(values, output, leaves, scores):
    """The same of two trees: rounds of boosting often have no more."""
    a, b = values[0, output], values[1, output]
    in_a, in_b = leaves[0], leaves[1]
    for i in range(scores.shape[0]):
        score = scores[i] + a[np.uint64(in_a[i])]
        scores[i] = score + b[np.uint64(in_b[i])]


@njit(nogil=True, cache=True)
def _add_values(values, leaf, scores):
    for i in range(scores.shape[0]):
        scores[i] += values[np.uint64(leaf[i])]
