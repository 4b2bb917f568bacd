"""The hot loops of encoding: values to bins, compiled, without the GIL."""

from __future__ import annotations

import numpy as np
from numba import njit

FEW_CUTS = 31  # as many as the default bins have: five comparisons find a value among them


@njit(nogil=True, cache=True, inline="always")
def _few_cuts_below(row, value, b):
    """Count the cuts below the value, when at least ``b`` and at most ``b + 31`` are.

    A search of fixed length, with no branch to mispredict. ``row`` holds -inf, the sorted cuts,
    then +inf, 257 entries in all.
    """
    b += np.uint64(row[b + np.uint64(16)] < value) << np.uint64(4)
    b += np.uint64(row[b + np.uint64(8)] < value) << np.uint64(3)
    b += np.uint64(row[b + np.uint64(4)] < value) << np.uint64(2)
    b += np.uint64(row[b + np.uint64(2)] < value) << np.uint64(1)
    b += np.uint64(row[b + np.uint64(1)] < value)
    return b


@njit(nogil=True, cache=True, inline="always")
def _cuts_below(row, value):
    b = np.uint64(row[np.uint64(128)] < value) << np.uint64(7)
    b += np.uint64(row[b + np.uint64(64)] < value) << np.uint64(6)
    b += np.uint64(row[b + np.uint64(32)] < value) << np.uint64(5)
    return _few_cuts_below(row, value, b)


@njit(nogil=True, cache=True, inline="always")
def _even_cuts_below(row, value, low, scale, n_cuts):
    """Count them when they are evenly spaced: a guess, off by one at most, and two comparisons."""
    guess = (value - low) * scale
    guess = guess if guess > 0.0 else 0.0
    k = np.uint64(np.int64(guess if guess < n_cuts else n_cuts))
    below = np.uint64(row[k] < value) + np.uint64(row[k + np.uint64(1)] < value)
    return k + below - np.uint64(1)


@njit(nogil=True, cache=True)
def bin_columns(values, sources, cuts, n_cuts, lows, scales, out, targets):
    """Write into ``out[:, targets]`` the bins of ``values[:, sources]``.

    The bin of a value is the number of cuts below it, after clipping at ``lows`` (clipping at the
    upper bound changes nothing: no cut lies there); NaN has the bin after the last. ``scales`` is
    the number of cuts in a unit where cuts are evenly spaced, 0 where they are not.
    """
    for j in range(sources.shape[0]):
        row, low, scale = cuts[j], lows[j], scales[j]
        source, target = sources[j], targets[j]
        missing = np.uint8(n_cuts[j] + 1)
        last = np.float64(n_cuts[j])
        if scale > 0.0:
            for i in range(values.shape[0]):
                raw = np.float64(values[i, source])
                value = raw if raw > low else low
                b = _even_cuts_below(row, value, low, scale, last)
                out[i, target] = np.uint8(b) if raw == raw else missing
        elif n_cuts[j] <= FEW_CUTS:
            for i in range(values.shape[0]):
                raw = np.float64(values[i, source])
                b = _few_cuts_below(row, raw, np.uint64(0))
                out[i, target] = np.uint8(b) if raw == raw else missing
        else:
            for i in range(values.shape[0]):
                raw = np.float64(values[i, source])
                b = _cuts_below(row, raw)
                out[i, target] = np.uint8(b) if raw == raw else missing


@njit(nogil=True, cache=True)
def match_numbers(values, numbers, places, missing, unseen, out):
    """Write into ``out`` the place of each value among the sorted ``numbers``, if it is there."""
    for i in range(values.shape[0]):
        value = values[i]
        low, high = 0, numbers.shape[0]
        while low < high:
            middle = (low + high) >> 1
            if numbers[middle] < value:
                low = middle + 1
            else:
                high = middle
        if value != value:
            out[i] = missing
        elif low < numbers.shape[0] and numbers[low] == value:
            out[i] = places[low]
        else:
            out[i] = unseen
