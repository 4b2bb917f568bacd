"""What a record says, as a number of 64 bits: mixed column by column, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def mix(values, hashes):
    """Mix the bits of a column of doubles into the numbers of the records.

    All NaN are one value, and so are 0 and -0. The finaliser is that of SplitMix64.
    """
    for i in range(values.shape[0]):
        value = values[i] + 0.0
        bits = np.float64(value).view(np.uint64) if value == value else np.uint64(0x7FF8 << 48)
        h = (hashes[i] ^ bits) + np.uint64(0x9E3779B97F4A7C15)
        h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        hashes[i] = h ^ (h >> np.uint64(31))
