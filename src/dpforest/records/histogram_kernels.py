"""The hot loops of growing level by level: histograms and sums of the nodes that records are in.

`dpforest.records.kernels` says how kernels are written. A shared forest shows every record to every
tree; of a forest with disjoint records, ``part`` gives each record its tree; of one whose trees
draw samples, ``members`` says how often a tree counts a record.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dpforest.tables.routing_kernels import _child


@njit(nogil=True, cache=True, inline="always")
def _leaf(bins, i, root, links, right_bytes, n_children, multiway):
    """The leaf node of a record in a tree."""
    v = np.uint32(root)
    while n_children[v] > 0:
        b = np.uint32(bins[i, np.uint32(links[v])])
        if multiway:
            v = np.uint32(links[v] >> np.uint64(32)) + b
        else:
            v = _child(links, right_bytes, v, b)
    return v


@njit(nogil=True, cache=True, inline="always")
def _steps(value, low, scale, most):
    """A target in steps of 1 / scale above ``low``, at least 0 and at most ``most``."""
    return np.int64(np.rint(min(max((value - low) * scale, 0.0), float(most))))


@njit(nogil=True, cache=True)
def node_histograms(
    bins, target, part, members, roots, links, right_bytes, n_children, leaf_id, multiway, depth,
    candidates, first, low, scale, most, out,
):  # fmt: skip
    """Add each record to ``out[leaf - first, candidate, bin]``: in its class, or (1, its target).

    Only leaves from ``first`` on, as many as ``out`` has room for; a candidate of -1 is none.
    Classes when ``scale`` is 0, else the target in steps.
    """
    disjoint = part.shape[0] > 0
    sampled = members.shape[0] > 0
    for i in range(bins.shape[0]):
        start = part[i] if disjoint else 0
        stop = start + 1 if disjoint else roots.shape[0]
        steps = _steps(target[i], low, scale, most) if scale > 0.0 else np.int64(0)
        for t in range(start, stop):
            times = np.int64(members[i, t]) if sampled else np.int64(1)
            if times == 0:
                continue
            v = _leaf(bins, i, roots[t], links, right_bytes, n_children, multiway)
            leaf = np.int64(leaf_id[v]) - first
            if leaf < 0 or leaf >= out.shape[0]:
                continue
            for k in range(candidates.shape[1]):
                feature = candidates[leaf + first, k]
                if feature < 0:
                    continue
                b = np.uint64(bins[i, feature])
                if scale > 0.0:
                    out[leaf, k, b, 0] += times
                    out[leaf, k, b, 1] += times * steps
                else:
                    out[leaf, k, b, np.uint64(target[i])] += times


@njit(nogil=True, cache=True)
def leaf_sums(
    bins, target, part, members, roots, links, right_bytes, n_children, leaf_id, multiway, depth,
    low, scale, most, out,
):  # fmt: skip
    """Add to ``out[leaf]`` of each record 1 and its target in steps."""
    disjoint = part.shape[0] > 0
    sampled = members.shape[0] > 0
    for i in range(bins.shape[0]):
        start = part[i] if disjoint else 0
        stop = start + 1 if disjoint else roots.shape[0]
        steps = _steps(target[i], low, scale, most)
        for t in range(start, stop):
            times = np.int64(members[i, t]) if sampled else np.int64(1)
            leaf = leaf_id[_leaf(bins, i, roots[t], links, right_bytes, n_children, multiway)]
            out[leaf, 0] += times
            out[leaf, 1] += times * steps
