"""Leaf values that never fall, or never rise, along a feature: compiled, a tree at a time."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def _chain(feature, right, depth, j, n_values, chain):
    """Write the answers of a feature's levels as it goes up through its bins; their bits, length.

    Answers are bits of leaf numbers, so a step of the chain is a step from leaf to leaf.
    """
    bits, length, latest = 0, 0, -1
    for k in range(depth):
        if feature[k] == j:
            bits |= 1 << k
    for b in range(n_values):
        answers = 0
        for k in range(depth):
            if feature[k] == j:
                answers |= np.int64(right[k, b]) << k
        if answers != latest:
            chain[length] = answers
            length += 1
            latest = answers
    return bits, length


@njit(nogil=True, cache=True)
def _envelope(values, bits, chain, length, upper):
    """The running maximum along the chain; or, from its end, the running minimum."""
    for other in range(values.shape[0]):
        if other & bits:
            continue
        for step in range(1, length):
            if upper:
                before, here = other | chain[step - 1], other | chain[step]
                values[here] = max(values[here], values[before])
            else:
                before, here = other | chain[length - step], other | chain[length - step - 1]
                values[here] = min(values[here], values[before])


@njit(nogil=True, cache=True)
def make_monotone(feature, right, depth, values, n_values, signs):
    """Change ``values[tree, output, leaf]`` so that they follow the signs of the features.

    The mean of two envelopes: running maxima from below and running minima from above. Either is
    monotone along all features at once, since a running maximum of functions that never fall along
    another feature does not fall along it, too; and so is their mean. Of two leaves in the wrong
    order both get their mean.
    """
    chain = np.empty(256, np.int64)
    for t in range(feature.shape[0]):
        n_leaves = 1 << depth[t]
        for c in range(values.shape[1]):
            above, below = values[t, c, :n_leaves].copy(), values[t, c, :n_leaves].copy()
            for k in range(depth[t]):
                j = feature[t, k]
                if signs[j] == 0:
                    continue
                bits, length = _chain(feature[t], right[t], depth[t], j, n_values[j], chain)
                if signs[j] < 0:
                    chain[:length] = chain[:length][::-1].copy()
                _envelope(above, bits, chain, length, True)
                _envelope(below, bits, chain, length, False)
            values[t, c, :n_leaves] = (above + below) / np.float32(2.0)
