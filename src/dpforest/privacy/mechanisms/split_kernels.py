"""The hot loop of choosing splits, compiled; see `splitting`."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def squares_over_size(numbers, class_step, out):
    """Write |S|^2 / n of each row into ``out``, rounded down.

    A row holds class counts, and S is ``class_step`` times them; or, when that is 0, the number of
    records and the sum of their targets. S = a n + b, so S^2 / n = a^2 n + 2 a b + b^2 / n, and no
    square is larger than n^2.
    """
    for i in range(numbers.shape[0]):
        size = np.int64(0)
        if class_step > 0:
            for k in range(numbers.shape[1]):
                size += numbers[i, k]
        else:
            size = numbers[i, 0]
        n = max(size, np.int64(1))
        whole = np.int64(0)
        rest = np.int64(0)
        for k in range(0 if class_step > 0 else 1, numbers.shape[1]):
            total = numbers[i, k] * class_step if class_step > 0 else numbers[i, k]
            a = total // n
            b = total - a * n
            whole += a * (a * n + 2 * b)
            rest += b * b
        out[i] = whole + rest // n


@njit(nogil=True, cache=True)
def minus_gini(counts, class_step, out):
    """Write ``class_step``^2 (sum of n_k^2 / n - n) of each row into ``out``, rounded down."""
    squares_over_size(counts, class_step, out)
    for i in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            out[i] -= class_step * class_step * counts[i, k]


@njit(nogil=True, cache=True)
def minus_entropy(counts, powers, out):
    """Write (sum of F(n_k)) - F(n) of each row into ``out``, with F(m) = ``powers[m]``.

    Beyond its last entry F goes on along the line through its last two.
    """
    last = len(powers) - 1
    slope = powers[last] - powers[last - 1]
    for i in range(counts.shape[0]):
        size = np.int64(0)
        total = np.int64(0)
        for k in range(counts.shape[1]):
            m = counts[i, k]
            size += m
            total += powers[m] if m <= last else powers[last] + slope * (m - last)
        whole = powers[size] if size <= last else powers[last] + slope * (size - last)
        out[i] = total - whole


@njit(nogil=True, cache=True)
def largest(counts, out):
    """Write the largest number of each row into ``out``."""
    for i in range(counts.shape[0]):
        best = counts[i, 0]
        for k in range(1, counts.shape[1]):
            best = max(best, counts[i, k])
        out[i] = best


@njit(nogil=True, cache=True)
def largest_square_over_size(counts, class_step, out):
    """Write (``class_step`` times the largest number)^2 / n of each row into ``out``, rounded down.

    Without overflow in the same way as `squares_over_size`.
    """
    for i in range(counts.shape[0]):
        n = np.int64(0)
        best = np.int64(0)
        for k in range(counts.shape[1]):
            n += counts[i, k]
            best = max(best, counts[i, k])
        n = max(n, np.int64(1))
        a = class_step * best // n
        b = class_step * best - a * n
        out[i] = a * (a * n + 2 * b) + b * b // n


@njit(nogil=True, cache=True)
def add_up(histograms, features, order, n_values, missing_first, alone, left, total):
    """Write the numbers on the left of every option into ``left``, and those of the node.

    Option c has the first c + 1 bins of the order of its feature on its left, and what is
    missing where that comes first; or, ``alone``, the bin c.
    """
    n_nodes, n_candidates, n_bins, n_numbers = histograms.shape
    for i in range(n_nodes):
        for c in range(n_candidates):
            feature = features[i, c]
            if feature < 0:
                continue
            values = min(n_values[feature], n_bins)
            for k in range(n_numbers):
                missing = np.int64(0)
                for b in range(values, n_bins):
                    missing += histograms[i, c, b, k]
                known = np.int64(0)
                for place in range(n_bins):
                    here = histograms[i, c, order[feature, place], k]
                    if place < values:
                        known += here
                    if alone[feature]:
                        left[i, c, place, k] = here
                    else:
                        left[i, c, place, k] = known + (missing if missing_first[feature] else 0)
                total[i, c, 0, k] = known + missing
