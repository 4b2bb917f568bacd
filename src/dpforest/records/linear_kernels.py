"""The hot loop of a linear model: gradients times rows, as integers of bounded norm, summed.

`dpforest.records.counting_kernels` says how kernels are written. The sensitivity of a linear
release is enforced here, record by record, whatever a loss or a design gave.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 256  # records whose rows stay in the first-level cache


@njit(nogil=True, cache=True)
def sum_directions(slopes, weights, columns, place, size, constant, limits, out):
    """Add to ``out[output, weight]`` the gradient of each record times its row, as integers.

    The product is shrunk to the norm ``clip``, weighed (a weight that is not from 0 to 1 drops the
    record; no ``weights`` are weights of 1) and cut off towards zero; the squares of all integers
    of a record add up to at most ``limit``, or the record is dropped. No comparison with NaN or
    infinity holds, and whole numbers in doubles are exact as far as the limit.
    """
    unit, clip, limit = limits
    n_features, n = columns.shape
    rows, scale, length = np.empty((n_features + 1, BLOCK)), np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        scales, lengths = scale[: stop - start], length[: stop - start]
        _find_rows(columns, start, size, constant, rows, scales)
        lengths[:] = 0.0
        for k in range(slopes.shape[0]):
            _add_squares(slopes[k, start:stop], lengths)
        _find_scales(lengths, weights[start:stop], unit, clip, scales)
        lengths[:] = 0.0
        for k in range(slopes.shape[0]):
            _add_lengths(slopes[k, start:stop], rows, scales, lengths)
        for k in range(slopes.shape[0]):
            slope = slopes[k, start:stop]
            out[k, 0] += _sum_kept(slope, rows[n_features], scales, lengths, limit)
            for j in range(n_features):
                column, places, row = columns[j, start:stop], place[j], rows[j]
                if _is_one(places):
                    out[k, places[0]] += _sum_kept(slope, row, scales, lengths, limit)
                else:
                    _add_kept(slope, row, scales, lengths, limit, column, places, out[k])


@njit(nogil=True, cache=True)
def _is_one(places):
    """Whether all bins have one weight, as those of a number."""
    others = 0
    for b in range(1, places.shape[0]):
        others += places[b] != places[0]
    return others == 0


@njit(nogil=True, cache=True)
def _find_rows(columns, start, size, constant, rows, squares):
    """Write what each weight would be multiplied by, the constant last, and the squares' sum."""
    n = squares.shape[0]
    rows[-1] = constant
    squares[:] = constant * constant
    for j in range(columns.shape[0]):
        column, sizes, row = columns[j, start : start + n], size[j], rows[j]
        for i in range(n):
            row[i] = sizes[np.uint64(column[i])]
        _add_squares(row[:n], squares)


@njit(nogil=True, cache=True)
def _add_squares(values, sums):
    for i in range(sums.shape[0]):
        sums[i] += values[i] * values[i]


@njit(nogil=True, cache=True, error_model="numpy")
def _find_scales(squares, weights, unit, clip, scales):
    """Turn the squares of rows into what shrinks records to the clip, and weighs them."""
    for i in range(scales.shape[0]):
        reach = np.sqrt(scales[i] * squares[i])
        shrunk = clip / reach
        scales[i] = unit * (shrunk if reach > clip else 1.0)
    for i in range(weights.shape[0]):
        scales[i] *= weights[i] if 0.0 <= weights[i] <= 1.0 else 0.0


@njit(nogil=True, cache=True)
def _add_lengths(slopes, rows, scales, lengths):
    """Add the squares of the integers of one output."""
    for j in range(-1, rows.shape[0] - 1):
        row = rows[j]
        for i in range(lengths.shape[0]):
            whole = np.trunc(scales[i] * slopes[i] * row[i])
            lengths[i] += whole * whole


@njit(nogil=True, cache=True)
def _sum_kept(slopes, row, scales, lengths, limit):
    """The sum of the integers that turn one weight, of the records that keep the limit."""
    total = np.int64(0)
    for i in range(lengths.shape[0]):
        whole = np.trunc(scales[i] * slopes[i] * row[i])
        total += np.int64(whole if lengths[i] <= limit else 0.0)
    return total


@njit(nogil=True, cache=True)
def _add_kept(slopes, row, scales, lengths, limit, column, places, out):
    """The same where every bin has a weight of its own."""
    for i in range(lengths.shape[0]):
        whole = np.trunc(scales[i] * slopes[i] * row[i])
        whole = np.int64(whole if lengths[i] <= limit else 0.0)
        out[places[np.uint64(column[i])]] += whole
