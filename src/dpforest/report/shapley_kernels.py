"""Exact Shapley values of oblivious trees: compiled, once a tree, then looked up a record."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def _features_of(feature, depth, found, bits):
    """Write the different features of a tree and the bits of a leaf number that each answers."""
    n = 0
    for k in range(depth):
        at = 0
        while at < n and found[at] != feature[k]:
            at += 1
        if at == n:
            found[n], bits[n] = feature[k], 0
            n += 1
        bits[at] |= 1 << k
    return n


@njit(nogil=True, cache=True)
def _chances(feature, right, depth, j, bits, shares, chance):
    """Write how often the levels of a feature answer so, for every row of answers."""
    chance[:] = 0.0
    for b in range(shares.shape[0]):
        answers = 0
        for k in range(depth):
            if feature[k] == j:
                answers |= np.int64(right[k, b]) << k
        chance[answers & bits] += shares[b]


@njit(nogil=True, cache=True)
def _average(values, bits, chance, out):
    """Write the values of leaves with one feature averaged out."""
    for leaf in range(values.shape[0]):
        total, answers = 0.0, bits
        while True:  # all subsets of the bits
            total += chance[answers] * values[(leaf & ~bits) | answers]
            if answers == 0:
                break
            answers = (answers - 1) & bits
        out[leaf] = total


@njit(nogil=True, cache=True)
def tree_contributions(feature, right, depth, values, shares, table, asked, means):
    """Write what each feature contributes in each leaf of each tree.

    With the features of a tree independent, what is expected of a record when some of its features
    are known depends on its leaf alone, so Shapley's weighted sum over sets of features is
    computed once a leaf. ``table[tree, leaf, place, output]`` is for the feature
    ``asked[tree, place]`` (-1 for none); ``means[tree, output]`` is what is expected of anybody.
    """
    most = 1 << depth.max()
    found, bits = np.empty(8, np.int64), np.empty(8, np.int64)
    chance, known = np.empty((8, most)), np.empty((most, most))
    factorial = np.ones(10)
    for i in range(1, 10):
        factorial[i] = i * factorial[i - 1]
    for t in range(feature.shape[0]):
        n_leaves = 1 << depth[t]
        m = _features_of(feature[t], depth[t], found, bits)
        for p in range(m):
            j = found[p]
            asked[t, p] = j
            _chances(feature[t], right[t], depth[t], j, bits[p], shares[j], chance[p])
        for c in range(values.shape[1]):
            everything = (1 << m) - 1
            known[everything, :n_leaves] = values[t, c, :n_leaves]
            for inside in range(everything - 1, -1, -1):
                p = 0
                while inside >> p & 1:
                    p += 1
                more = known[inside | (1 << p), :n_leaves]
                _average(more, bits[p], chance[p], known[inside, :n_leaves])
            means[t, c] = known[0, 0]
            for inside in range(everything):
                size = 0
                for p in range(m):
                    size += inside >> p & 1
                weight = factorial[size] * factorial[m - size - 1] / factorial[m]
                for p in range(m):
                    if not inside >> p & 1:
                        for leaf in range(n_leaves):
                            gain = known[inside | (1 << p), leaf] - known[inside, leaf]
                            table[t, leaf, p, c] += weight * gain


@njit(nogil=True, cache=True)
def add_contributions(leaf, asked, table, out):
    """Add to ``out[record, feature, output]`` what the leaves of the record say."""
    for t in range(leaf.shape[0]):
        for i in range(leaf.shape[1]):
            for p in range(asked.shape[1]):
                if asked[t, p] < 0:
                    break
                for c in range(out.shape[2]):
                    out[i, asked[t, p], c] += table[t, leaf[t, i], p, c]
