"""How far scores move when one feature does: compiled, over pairs of drawn points."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, inline="always")
def _next(forest, v, b):
    """The child of a node for a bin."""
    _, links, right_bytes, _, _, multiway, _ = forest
    first = np.int64(links[v] >> np.uint64(32))
    if multiway:
        return first + b
    return first + ((np.int64(right_bytes[v * 32 + (b >> 3)]) >> (b & 7)) & 1)


@njit(nogil=True, cache=True)
def _path(point, forest, root, path):
    """Write the inner nodes on a point's way; returns their number and the leaf."""
    _, links, _, n_children, leaf_id, _, _ = forest
    v, length = np.int64(root), 0
    while n_children[v] > 0:
        path[length] = v
        length += 1
        v = _next(forest, v, np.int64(point[np.uint32(links[v])]))
    return length, leaf_id[v]


@njit(nogil=True, cache=True)
def _elsewhere(point, other, forest, node, feature):
    """The leaf that is reached from a node when one feature has another value."""
    _, links, _, n_children, leaf_id, _, _ = forest
    while n_children[node] > 0:
        f = np.int64(np.uint32(links[node]))
        node = _next(forest, node, np.int64(other[f] if f == feature else point[f]))
    return leaf_id[node]


@njit(nogil=True, cache=True)
def moved_scores(points, others, forest, table, group, moves):
    """Add to ``moves[point, feature, group, output]`` how the score moves with a feature alone.

    Returns the squared moves of single trees, added up over points and outputs, shape
    (n_features, n_groups).
    """
    roots, links, _, _, _, _, depth = forest
    own = np.zeros((moves.shape[1], moves.shape[2]))
    path = np.empty(depth + 1, np.int64)
    # Tree after tree, as the leaves of one stay in the cache.
    for t in range(roots.shape[0]):
        for i in range(points.shape[0]):
            length, leaf = _path(points[i], forest, roots[t], path)
            for at in range(length):
                j = np.int64(np.uint32(links[path[at]]))
                seen = points[i, j] == others[i, j]
                for before in range(at):
                    seen = seen or np.int64(np.uint32(links[path[before]])) == j
                if seen:
                    continue
                there = _elsewhere(points[i], others[i], forest, path[at], j)
                for c in range(table.shape[1]):
                    move = table[leaf, c] - table[there, c]
                    moves[i, j, group[t], c] += move
                    own[j, group[t]] += move * move
    return own
