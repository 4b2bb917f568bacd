"""What is learnt from the released sums of a round, in small loops: compiled, as calls cost more.

A round has a few trees only, and what it adds to are arrays of a few numbers;
`tests/trees/test_learning_kernels.py` has the same in plain NumPy.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, error_model="numpy")
def transform(sums):
    """Walsh's transform of the second axis, in its place."""
    n_trees, n_leaves, n_outputs = sums.shape
    size = 1
    while size < n_leaves:
        for t in range(n_trees):
            for start in range(0, n_leaves, 2 * size):
                for i in range(start, start + size):
                    for k in range(n_outputs):
                        one, other = sums[t, i, k], sums[t, i + size, k]
                        sums[t, i, k], sums[t, i + size, k] = one + other, one - other
        size *= 2


@njit(nogil=True, cache=True, error_model="numpy")
def add_rows(thing, rows, seen, precision, pull):
    """Add the outer products of rows with themselves, and with what was seen, to their things."""
    n_weights, n_outputs = rows.shape[1], seen.shape[1]
    for i in range(thing.shape[0]):
        own, turned = precision[thing[i]], pull[thing[i]]
        for a in range(n_weights):
            for b in range(n_weights):
                own[a, b] += rows[i, a] * rows[i, b]
            for k in range(n_outputs):
                turned[a, k] += rows[i, a] * seen[i, k]


@njit(nogil=True, cache=True, error_model="numpy")
def pair_rows(feature, cut, end, contrasts, curves, number, which, rows, seen):
    """Write what each two levels of some trees ask and showed; how many pairs there are.

    Of each pair of cuts of two features: its ``which`` among the pairs, by ``number``; the products
    of the ``rows`` of curves, less those where a question ends; what was ``seen``.
    """
    n, n_curves = 0, curves.shape[2]
    for t in range(feature.shape[0]):
        for one in range(feature.shape[1]):
            for other in range(one + 1, feature.shape[1]):
                swapped = feature[t, one] > feature[t, other]
                a, b = (other, one) if swapped else (one, other)
                f, g, c, d = feature[t, a], feature[t, b], cut[t, a], cut[t, b]
                if c < 0 or d < 0 or f == g:
                    continue
                for i in range(n_curves):
                    first = curves[f, c, i] - (curves[f, end[t, a], i] if end[t, a] >= 0 else 0.0)
                    for j in range(n_curves):
                        at_end = curves[g, end[t, b], j] if end[t, b] >= 0 else 0.0
                        rows[n, i * n_curves + j] = first * (curves[g, d, j] - at_end)
                which[n] = number[f, g]
                for k in range(seen.shape[1]):
                    seen[n, k] = contrasts[t, (1 << one) | (1 << other), k]
                n += 1
    return n


@njit(nogil=True, cache=True, error_model="numpy")
def solve(precision, pull, noise, firm, firmest, means, covariances):
    """Write the means of weights, and the covariances of those things for which there is room.

    The precision, over the noise, of each weight of a thing is made firm: by a number, or by a
    part of what was seen where that is more.
    """
    n_weights = precision.shape[1]
    root, turned = np.zeros((n_weights, n_weights)), np.zeros(n_weights)
    for thing in range(precision.shape[0]):
        trace = 0.0
        for a in range(n_weights):
            trace += precision[thing, a, a]
        least = firmest * trace / (n_weights * noise)
        _find_root(precision[thing], noise, max(firm, least), root)
        for k in range(pull.shape[2]):
            for a in range(n_weights):
                turned[a] = pull[thing, a, k] / noise
            _divide(root, turned)
            for a in range(n_weights):
                means[thing, a, k] = turned[a]
        if thing < covariances.shape[0]:
            for a in range(n_weights):
                for b in range(n_weights):
                    covariances[thing, a, b] = 1.0 if a == b else 0.0
                _divide(root, covariances[thing, a])


@njit(nogil=True, cache=True, error_model="numpy")
def _find_root(precision, noise, firm, root):
    """Cholesky's root of a precision over the noise that was made firm, a row at a time."""
    for a in range(root.shape[0]):
        for b in range(a + 1):
            rest = precision[a, b] / noise + (firm if a == b else 0.0)
            for c in range(b):
                rest -= root[a, c] * root[b, c]
            root[a, b] = np.sqrt(rest) if a == b else rest / root[b, b]


@njit(nogil=True, cache=True, error_model="numpy")
def _divide(root, values):
    """Divide by the square of a root, in place."""
    n = root.shape[0]
    for a in range(n):
        for c in range(a):
            values[a] -= root[a, c] * values[c]
        values[a] /= root[a, a]
    for a in range(n - 1, -1, -1):
        for c in range(a + 1, n):
            values[a] -= root[c, a] * values[c]
        values[a] /= root[a, a]


@njit(nogil=True, cache=True, error_model="numpy")
def add_energies(weights, one, other, spread, signal, of_feature):
    """Write the energy of each pair of features; add up, for each feature, squares of its curves.

    The weights of a pair, (pairs, curves of one, curves of the other, outputs), are multiplied by
    themselves and by the mean products of the curves of its features, ``spread``.
    """
    n_curves = weights.shape[1]
    for pair in range(one.shape[0]):
        first, second = one[pair], other[pair]
        energy = 0.0
        for i in range(n_curves):
            for j in range(n_curves):
                by_one, by_other = 0.0, 0.0
                for a in range(n_curves):
                    for b in range(n_curves):
                        for k in range(weights.shape[3]):
                            both = weights[pair, i, a, k] * weights[pair, j, b, k]
                            by_one += spread[second, a, b] * both
                            both = weights[pair, a, i, k] * weights[pair, b, j, k]
                            by_other += spread[first, a, b] * both
                energy += by_one * spread[first, i, j]
                of_feature[first, i, j] += by_one
                of_feature[second, i, j] += by_other
        signal[first, second] = signal[second, first] = max(energy, 0.0)
