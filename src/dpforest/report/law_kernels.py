"""Latent classes of records, a step of expectation maximisation at a time: compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

TINY = 1e-12  # no cell is impossible, so that nothing is divided by 0
SAFE_DEVIATIONS = 3.0  # steps so small that noise hardly ever makes a leaf negative


@njit(nogil=True, cache=True, error_model="numpy")
def _cells(tree, chances, asked, codes, bit, cells, taken):
    """Which features a tree asks, into which cell each bin falls, and the chance of cells.

    A cell is a row of answers to all questions of one feature. Returns the number of features;
    ``bit`` says of each level which feature it asks, and which digit of the cell it sets; of
    these cells nothing is ``taken`` yet.
    """
    feature, goes_right, depth = tree
    n_asked = 0
    for level in range(depth):
        f = feature[level]
        place = 0
        while place < n_asked and asked[place, 0] != f:
            place += 1
        if place == n_asked:
            asked[place, 0], asked[place, 1] = f, 0
            codes[place] = 0
            n_asked += 1
        digit = asked[place, 1]
        bit[level, 0], bit[level, 1] = place, digit
        for b in range(codes.shape[1]):
            codes[place, b] |= np.int64(goes_right[level, b]) << digit
        asked[place, 1] += 1
    for place in range(n_asked):
        cells[place, : 1 << asked[place, 1]] = TINY
        taken[place, : 1 << asked[place, 1]] = 0.0
        for b in range(codes.shape[1]):
            cell, chance = cells[place, codes[place, b]], chances[asked[place, 0], b]
            for z in range(len(cell)):
                cell[z] += chance[z]
    return n_asked


@njit(nogil=True, cache=True, error_model="numpy")
def _hand_out(leaf, mass, n_asked, bit, depth, weights, cells, joint, where, taken, members):
    """Hand what a leaf holds to the classes, by their chance to be there.

    ``mass`` is the sum of the leaf, that of all leaves, the variance of its noise, what chance
    adds to it for each record, and by how much all is to count. A step goes only part of the way
    from what is expected to what was released, the less the louder the noise.
    """
    found, whole, variance, chance, scale = mass
    where[:n_asked] = 0
    for level in range(depth):
        where[bit[level, 0]] |= (leaf >> level & 1) << bit[level, 1]
    total = 0.0
    for z in range(weights.shape[0]):
        joint[z] = weights[z]
    for place in range(n_asked):
        for z in range(weights.shape[0]):
            joint[z] *= cells[place, where[place], z]
    for z in range(weights.shape[0]):
        total += joint[z]
    expected = total * whole
    way = min(1.0, expected / ((variance + chance * expected) * scale + TINY))
    held = max(expected + way * (found - expected), 0.0) * scale
    if total <= 0.0:
        return
    for z in range(weights.shape[0]):
        joint[z] *= held / total
        members[z] += joint[z]
    for place in range(n_asked):
        for z in range(weights.shape[0]):
            taken[place, where[place], z] += joint[z]


@njit(nogil=True, cache=True, error_model="numpy")
def latent_step(trees, sums, whole, variances, chance, weights, chances, members, counts):
    """Add to ``members[class]`` and ``counts[feature, bin, class]`` what classes hold of leaves.

    Parameters are the features, answers and depths of oblivious trees; the sums of their leaves,
    those of all leaves, and the variance of their noise, a tree at a time; what chance adds to the
    variance for each record; the weights of the classes; and the chances of bins in each,
    shape (n_features, n_bins, n_classes).
    """
    feature, goes_right, depth = trees
    n_levels, n_leaves, n_classes = feature.shape[1], sums.shape[1], len(weights)
    asked, bit = np.zeros((n_levels, 2), np.int64), np.zeros((n_levels, 2), np.int64)
    codes, where = np.zeros((n_levels, chances.shape[1]), np.int64), np.zeros(n_levels, np.int64)
    cells = np.zeros((n_levels, n_leaves, n_classes))
    taken = np.zeros_like(cells)
    joint = np.zeros(n_classes)
    for t in range(feature.shape[0]):
        tree = feature[t], goes_right[t], depth[t]
        n_asked = _cells(tree, chances, asked, codes, bit, cells, taken)
        scale = 1.0 / chance
        if variances[t] > 0.0:
            scale = min(scale, SAFE_DEVIATIONS / np.sqrt(variances[t]))
        for leaf in range(1 << depth[t]):
            mass = sums[t, leaf], whole[t], variances[t], chance, scale
            of_tree = n_asked, bit, depth[t], weights, cells, joint, where, taken, members
            _hand_out(leaf, mass, *of_tree)
        for place in range(n_asked):
            f = asked[place, 0]
            for cell in range(1 << asked[place, 1]):
                for z in range(n_classes):
                    taken[place, cell, z] /= cells[place, cell, z]
            for b in range(codes.shape[1]):
                held, chance_of, count = taken[place, codes[place, b]], chances[f, b], counts[f, b]
                for z in range(n_classes):
                    count[z] += held[z] * chance_of[z]
