"""The hot loop of calibration: how sure a model is of each record, beside whether it is right.

`dpforest.records.counting_kernels` says how kernels are written. The sensitivity of the release is
enforced here, record by record, whatever the scores are.
"""

from __future__ import annotations

import numpy as np
from numba import njit

DRAWN_OUT = 2.0  # times their scores, models are surer


@njit(nogil=True, cache=True, error_model="numpy")
def sum_confidence(scores, target, weights, unit, limit, out):
    """Add to ``out`` how much surer than right the model is, and how much surer yet drawn out.

    Both are shrunk to a norm of 1, weighed (a weight that is not from 0 to 1 drops the record; no
    ``weights`` are weights of 1) and cut off towards zero; the squares of both integers add up to
    at most ``limit``, or the record is dropped. No comparison with NaN or infinity holds.
    """
    for i in range(scores.shape[1]):
        best = _best(scores[:, i])
        sure, surer = _sure(scores[:, i], best, 1.0), _sure(scores[:, i], best, DRAWN_OUT)
        excess = sure - (1.0 if target[i] == best else 0.0)
        gain = DRAWN_OUT * (surer - sure)
        reach = np.sqrt(excess * excess + gain * gain)
        scale = unit * (1.0 / reach if reach > 1.0 else 1.0)
        if weights.shape[0] > 0:
            scale *= weights[i] if 0.0 <= weights[i] <= 1.0 else 0.0
        excess, gain = np.trunc(scale * excess), np.trunc(scale * gain)
        if excess * excess + gain * gain <= limit:
            out[0] += np.int64(excess)
            out[1] += np.int64(gain)


@njit(nogil=True, cache=True, error_model="numpy")
def _best(scores):
    """The class that scores speak for; a single one is that of the second of two classes."""
    if scores.shape[0] == 1:
        return 1 if scores[0] > 0.0 else 0
    return np.argmax(scores)


@njit(nogil=True, cache=True, error_model="numpy")
def _sure(scores, best, times):
    """The probability of the best class: by the clipped logistic link, or by softmax."""
    if scores.shape[0] == 1:
        return 0.5 / (1.5 - 1.0 / (1.0 + np.exp(-times * abs(np.float64(scores[0])))))
    total = 0.0
    for score in scores:
        total += np.exp(times * (np.float64(score) - np.float64(scores[best])))
    return 1.0 / total
