"""The runs of bins that go right at each level of oblivious trees: compiled."""

from __future__ import annotations

from numba import njit


@njit(nogil=True, cache=True)
def find_runs(goes_right, first, low, span):
    """Write each run's first bin, and how many follow; and the number of each level's first run.

    A level's row of ``first`` has one number more, of the run after its last. How many runs there
    are is returned; ``low`` and ``span`` have room for one of every two bins.
    """
    n, n_bins = 0, goes_right.shape[2]
    for t in range(goes_right.shape[0]):
        for level in range(goes_right.shape[1]):
            first[t, level] = n
            b = 0
            while b < n_bins:
                if goes_right[t, level, b]:
                    low[n] = b
                    while b + 1 < n_bins and goes_right[t, level, b + 1]:
                        b += 1
                    span[n] = b - low[n]
                    n += 1
                b += 1
        first[t, goes_right.shape[1]] = n
    return n
