"""Scores averaged over the bins of all features but one or two: compiled, a tree at a time."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def _cell(feature, answers, depth, wanted):
    """The answers to all questions of one feature, as digits; ``answers`` has one a level."""
    cell, digit = 0, 0
    for level in range(depth):
        if feature[level] == wanted:
            cell |= np.int64(answers[level]) << digit
            digit += 1
    return cell


@njit(nogil=True, cache=True)
def _chances(feature, goes_right, depth, kept, shares, digits):
    """The chance of each leaf that the features not kept lead there."""
    chances, cells = np.ones(1 << depth), np.empty(1 << depth)
    for level in range(depth):
        f = feature[level]
        if f == kept[0] or f == kept[1] or (feature[:level] == f).any():
            continue
        cells[:] = 0.0
        for b in range(shares.shape[1]):
            if shares[f, b] > 0.0:
                cells[_cell(feature, goes_right[:, b], depth, f)] += shares[f, b]
        for leaf in range(1 << depth):
            chances[leaf] *= cells[_cell(feature, digits[leaf], depth, f)]
    return chances


@njit(nogil=True, cache=True)
def add_mean_scores(trees, leaf_values, shares, kept, scores):
    """Add to ``scores[output, bin, other bin]`` what trees say there, all else averaged.

    Parameters are the features, answers and depths of oblivious trees; what leaves add, shape
    (n_trees, n_outputs, n_leaves); the shares of the bins of each feature; and the two features
    that are kept, of which the second may be -1, for none.
    """
    n_outputs, n_bins, n_others = scores.shape
    n_levels = trees[0].shape[1]
    digits = np.empty((1 << n_levels, n_levels), np.bool_)
    for leaf in range(1 << n_levels):
        for level in range(n_levels):
            digits[leaf, level] = leaf >> level & 1
    for t in range(len(leaf_values)):
        feature, goes_right, depth = trees[0][t], trees[1][t], trees[2][t]
        chances = _chances(feature, goes_right, depth, kept, shares, digits)
        sums = np.zeros((1 << depth, 1 << depth if kept[1] >= 0 else 1, n_outputs))
        for leaf in range(1 << depth):
            row = _cell(feature, digits[leaf], depth, kept[0])
            column = _cell(feature, digits[leaf], depth, kept[1])
            for o in range(n_outputs):
                sums[row, column, o] += chances[leaf] * leaf_values[t, o, leaf]
        for a in range(n_bins):
            row = _cell(feature, goes_right[:, a], depth, kept[0])
            for b in range(n_others):
                column = _cell(feature, goes_right[:, b], depth, kept[1])
                for o in range(n_outputs):
                    scores[o, a, b] += sums[row, column, o]
