"""The hot loop of choosing splits, compiled; `dpforest.privacy.splitting` says what it is for."""

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
