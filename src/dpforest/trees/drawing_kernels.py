"""How the questions of a round are drawn from what was learnt: compiled, as calls cost more.

A round has a few trees only. Random numbers come from outside, so that they come in one order;
`tests/trees/test_drawing_kernels.py` has the same in plain NumPy.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, error_model="numpy")
def draw_features(promise, usable, learnt, focus, together, gumbel):
    """Draw different features for the levels of trees, each after those before it.

    A feature joins by its promise and what it does ``together`` with those before; the largest sum
    of the logarithm of its share and of ``gumbel[level, tree, feature]`` joins.
    """
    n_levels, n_trees, n_features = gumbel.shape
    drawn, weights = np.empty((n_trees, n_levels), np.int64), np.empty(n_features)
    for t in range(n_trees):
        left, adds = usable.copy(), promise.copy()
        for level in range(n_levels):
            best, total, n_left = 0.0, 0.0, 0
            for j in range(n_features):
                if left[j]:
                    best = max(best, adds[j])
            for j in range(n_features):
                if left[j]:
                    # In units of the best that is left: its power cannot vanish.
                    weights[j] = (adds[j] / best) ** focus
                    total += weights[j]
                    n_left += 1
            chosen, highest = -1, 0.0
            for j in range(n_features):
                if left[j]:
                    share = (1.0 - learnt) / n_left + learnt * (weights[j] / total)
                    key = np.log(share) + gumbel[level, t, j]
                    if chosen < 0 or key > highest:
                        chosen, highest = j, key
            drawn[t, level], left[chosen] = chosen, False
            for j in range(n_features):
                adds[j] += together[chosen, j]
    return drawn


@njit(nogil=True, cache=True)
def find_cuts(shares, last_cut, feature, uniform):
    """The first cut of each feature by which its shares add up to a uniform draw, or its last."""
    out = np.zeros(feature.shape, np.int64)
    for t in range(feature.shape[0]):
        for level in range(feature.shape[1]):
            row, most = shares[feature[t, level]], last_cut[feature[t, level]]
            cut, up_to = 0, row[0]
            while cut < most and up_to < uniform[t, level]:
                cut += 1
                up_to += row[cut]
            out[t, level] = cut
    return out


@njit(nogil=True, cache=True)
def squares_between(curves, turned, squares, feature, cut):
    """The square of what curves come to between a cut and every other, shape (n, n_cuts).

    The ``squares`` of curves at single cuts are given, and curves ``turned`` by their matrix.
    """
    out = np.empty((feature.shape[0], curves.shape[1]))
    for i in range(feature.shape[0]):
        f, c = feature[i], cut[i]
        for place in range(curves.shape[1]):
            both = 0.0
            for weight in range(curves.shape[2]):
                both += turned[f, place, weight] * curves[f, c, weight]
            out[i, place] = squares[f, place] + squares[f, c] - 2.0 * both
    return out


@njit(nogil=True, cache=True)
def find_ends(weights, alone, between, focus, uniform):
    """The place drawn by weights times powers of promises, the last of which has weight 1; or -1.

    Shape (n, places) of ``weights`` and of what is promised ``between``; what is promised by the
    last place, nowhere, is ``alone``.
    """
    n, n_places = between.shape
    out, up_to = np.full(n, -1), np.empty(n_places + 1)
    for i in range(n):
        best = max(alone[i], 1e-300)
        for place in range(n_places):
            best = max(best, between[i, place])
        total = 0.0
        for place in range(n_places):
            # In units of the best: powers cannot vanish.
            total += weights[i, place] * (max(between[i, place], 0.0) / best) ** focus
            up_to[place] = total
        total += (alone[i] / best) ** focus
        for place in range(n_places):
            if up_to[place] > uniform[i] * total:
                out[i] = place
                break
    return out


@njit(nogil=True, cache=True)
def ask(cut, end, goes_right):
    """Write which bins lie beyond a cut; or, where there is an end, between it and the cut."""
    for t in range(cut.shape[0]):
        for level in range(cut.shape[1]):
            low, high = cut[t, level], goes_right.shape[2] - 1
            if end[t, level] >= 0:
                low, high = min(low, end[t, level]), max(low, end[t, level])
            goes_right[t, level, : low + 1] = False
            goes_right[t, level, low + 1 : high + 1] = True
            goes_right[t, level, high + 1 :] = False


@njit(nogil=True, cache=True)
def toss(n_values, coin, goes_right):
    """Let a coin answer for all bins that are no values."""
    for t in range(coin.shape[0]):
        for level in range(coin.shape[1]):
            goes_right[t, level, n_values[t, level] :] = coin[t, level]


@njit(nogil=True, cache=True)
def share_cuts(weights, promise, learnt, focus):
    """How often each feature is to be cut at each place: by weights alone, and by promises too."""
    out = np.zeros(weights.shape)
    for j in range(weights.shape[0]):
        best, known = 0.0, 0.0
        for place in range(promise.shape[1]):
            if weights[j, place] > 0.0:
                best = max(best, promise[j, place])
        for place in range(promise.shape[1]):
            power = (promise[j, place] / best) ** focus if best > 0.0 else 1.0
            out[j, place] = power * weights[j, place]
            known += out[j, place]
        for place in range(weights.shape[1]):
            by_promise = out[j, place] / known if known > 0.0 else 0.0
            out[j, place] = (1.0 - learnt) * weights[j, place] + learnt * by_promise
    return out
