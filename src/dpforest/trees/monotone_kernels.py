"""Leaf values of trees that together never fall, or never rise, along a feature: compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

MOST_LEVELS = 8
MOST_LEAVES = 256


@njit(nogil=True, cache=True)
def _answer(feature, right, depth, j, b):
    """What a bin of a feature answers to the levels that ask it, as bits of leaf numbers."""
    answers = 0
    for k in range(depth):
        if feature[k] == j:
            answers |= np.int64(right[k, b]) << k
    return answers


@njit(nogil=True, cache=True)
def _find_chain(feature, right, depth, j, n_values, falls, chain, cut):
    """Write the answers of a feature as scores are to rise, and at which cut each of them begins.

    Cut b lies before bin b. Returns how many answers there are, and whether any comes twice.
    """
    length, again = 0, False
    for step in range(n_values):
        b = n_values - 1 - step if falls else step
        answers = _answer(feature, right, depth, j, b)
        if length == 0 or answers != chain[length - 1]:
            for earlier in range(length):
                again |= chain[earlier] == answers
            chain[length], cut[length] = answers, b + 1 if falls else b
            length += 1
    return length, again


@njit(nogil=True, cache=True)
def _find_reached(feature, right, depth, n_bins, reached):
    """Tell which leaves records may be in: every feature's answers must be those of one bin."""
    reached[:] = True
    possible = np.empty(len(reached), np.bool_)
    for k in range(depth):
        bits = 0
        for level in range(depth):
            if feature[level] == feature[k]:
                bits |= 1 << level
        if bits & ((1 << k) - 1):
            continue  # an earlier level asks the same feature
        possible[:] = False
        for b in range(n_bins[feature[k]]):
            possible[_answer(feature, right, depth, feature[k], b)] = True
        for leaf in range(len(reached)):
            reached[leaf] &= possible[leaf & bits]


@njit(nogil=True, cache=True)
def _even_out(table, weights, reached, bits, chain):
    """Where a step of the chain falls in some leaves, lean it on its mean, as far as that takes.

    The weighted mean over all other answers stays as it is, if it does not fall itself.
    """
    for s in range(1, len(chain)):
        whole, mean, least = 0.0, 0.0, np.inf
        for other in range(len(table)):
            low, high = other | chain[s - 1], other | chain[s]
            if other & bits == 0 and reached[high]:
                weight = weights[low] * weights[high] / (weights[low] + weights[high])
                step = table[high] - table[low]
                whole += weight
                mean += (step - mean) * weight / whole
                least = min(least, step)
        if least >= 0.0:
            continue
        part = mean / (mean - least) if mean > 0.0 else 0.0
        for other in range(len(table)):
            low, high = other | chain[s - 1], other | chain[s]
            if other & bits == 0 and reached[high]:
                step = table[high] - table[low]
                more = max(mean, 0.0) + part * (step - mean) - step
                share = weights[low] / (weights[low] + weights[high])
                table[high] += share * more
                table[low] -= (1.0 - share) * more


@njit(nogil=True, cache=True)
def _envelope(table, reached, bits, chain, passes, upper):
    """The running maximum along the chain; or, from its end, the running minimum."""
    for other in range(len(table)):
        if other & bits or not reached[other | chain[0]]:
            continue
        for _ in range(passes):
            for s in range(1, len(chain)):
                if upper:
                    before, here = other | chain[s - 1], other | chain[s]
                    table[here] = max(table[here], table[before])
                else:
                    before, here = other | chain[-s], other | chain[-s - 1]
                    table[here] = min(table[here], table[before])


@njit(nogil=True, cache=True)
def _lend(table, bits, chain, cut, slack, sign):
    """Add to each leaf, or take from it, the slack of all cuts that were passed on the chain."""
    offset = np.zeros(len(table))
    for s in range(1, len(chain)):
        offset[chain[s]] = offset[chain[s - 1]] + slack[cut[s]]
    for leaf in range(len(table)):
        table[leaf] += sign * offset[leaf & bits]


@njit(nogil=True, cache=True)
def _find_slack(table, reached, bits, chain, cut, slack):
    """The least step of each cut, over all other answers, is what is left of its slack."""
    for s in range(1, len(chain)):
        least = np.inf
        for other in range(len(table)):
            if other & bits == 0 and reached[other | chain[s]]:
                least = min(least, table[other | chain[s]] - table[other | chain[s - 1]])
        slack[cut[s]] = least


@njit(nogil=True, cache=True)
def _hold(table, weights, reached, bits, chain, cut, length, passes, features, slack, unit):
    """Hold the leaves of one tree; a row of bits, chain and cut for each feature to be followed."""
    n = len(features)
    before = np.zeros((n, slack.shape[1]))
    for i in range(n):
        if passes[i] == 1:
            before[i] = slack[features[i]]
        _lend(table, bits[i], chain[i, : length[i]], cut[i], before[i], 1.0)
    for i in range(n):
        if passes[i] == 1:
            _even_out(table, weights, reached, bits[i], chain[i, : length[i]])
    above, below = table.copy(), table.copy()
    for i in range(n):
        _envelope(above, reached, bits[i], chain[i, : length[i]], passes[i], True)
        _envelope(below, reached, bits[i], chain[i, : length[i]], passes[i], False)
    table[:] = (above + below) / 2.0
    if unit > 0.0:
        table[:] = np.rint(table / unit) * unit
    for i in range(n):
        if passes[i] == 1:
            steps = chain[i, : length[i]]
            _find_slack(table, reached, bits[i], steps, cut[i], slack[features[i]])
    for i in range(n):
        _lend(table, bits[i], chain[i, : length[i]], cut[i], before[i], -1.0)


@njit(nogil=True, cache=True)
def hold_trees(trees, values, weights, signs, n_values, n_bins, slack, unit):
    """Change ``values[tree, output, leaf]``, tree after tree, so that their sums follow the signs.

    ``slack[output, feature, cut]`` is what the trees so far guarantee across a cut, and is brought
    up to date; a slack of 0 where a feature's answers come twice in a tree. Where ``unit`` is
    positive, values become multiples of it, and slack has to be some.
    """
    feature, right, depth = trees
    chain = np.empty((MOST_LEVELS, MOST_LEAVES), np.int64)
    cut = np.empty((MOST_LEVELS, MOST_LEAVES), np.int64)
    features, bits = np.empty(MOST_LEVELS, np.int64), np.empty(MOST_LEVELS, np.int64)
    length, passes = np.empty(MOST_LEVELS, np.int64), np.empty(MOST_LEVELS, np.int64)
    for t in range(feature.shape[0]):
        n = 0
        asked = feature[t, : depth[t]]
        for k in range(depth[t]):
            j = asked[k]
            if signs[j] == 0 or j in asked[:k]:
                continue
            features[n], bits[n] = j, 0
            for level in range(depth[t]):
                bits[n] |= np.int64(asked[level] == j) << level
            rest = j, n_values[j], signs[j] < 0, chain[n], cut[n]
            length[n], again = _find_chain(asked, right[t], depth[t], *rest)
            passes[n] = length[n] if again else 1
            n += 1
        n_leaves = 1 << depth[t]
        reached = np.ones(n_leaves, np.bool_)
        if n:
            _find_reached(asked, right[t], depth[t], n_bins, reached)
        if n or unit > 0.0:
            for c in range(values.shape[1]):
                table = values[t, c, :n_leaves].astype(np.float64)
                found = bits[:n], chain[:n], cut[:n], length[:n], passes[:n], features[:n]
                _hold(table, weights[t], reached, *found, slack[c], unit)
                values[t, c, :n_leaves] = table
