"""The hot loop of a linear model: gradients times rows, as integers of bounded norm, summed.

`dpforest.records.counting_kernels` says how kernels are written. The sensitivity of a linear
release is enforced here, record by record, whatever a loss or a design gave.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, error_model="numpy")
def sum_directions(slopes, weights, bins, place, size, constant, limits, out):
    """Add to ``out[output, weight]`` the gradient of each record times its row, as integers.

    The product is shrunk to the norm ``clip``, weighed (a weight that is not from 0 to 1 drops the
    record; no ``weights`` are weights of 1) and cut off towards zero; the squares of all integers
    of a record add up to at most ``limit``, or the record is dropped. No comparison with NaN or
    infinity holds, and whole numbers in doubles are exact as far as the limit.
    """
    unit, clip, limit = limits
    n_outputs, n = slopes.shape
    n_features = bins.shape[1]
    for i in range(n):
        squares = constant * constant
        for j in range(n_features):
            squares += size[j, bins[i, j]] * size[j, bins[i, j]]
        slope = 0.0
        for k in range(n_outputs):
            slope += slopes[k, i] * slopes[k, i]
        reach = np.sqrt(squares * slope)
        scale = unit * (clip / reach if reach > clip else 1.0)
        if weights.shape[0] > 0:
            scale *= weights[i] if 0.0 <= weights[i] <= 1.0 else 0.0
        length = 0.0
        for k in range(n_outputs):
            whole = np.trunc(scale * slopes[k, i] * constant)
            length += whole * whole
            for j in range(n_features):
                whole = np.trunc(scale * slopes[k, i] * size[j, bins[i, j]])
                length += whole * whole
        if length <= limit:
            for k in range(n_outputs):
                out[k, 0] += np.int64(np.trunc(scale * slopes[k, i] * constant))
                for j in range(n_features):
                    whole = np.trunc(scale * slopes[k, i] * size[j, bins[i, j]])
                    out[k, place[j, bins[i, j]]] += np.int64(whole)
