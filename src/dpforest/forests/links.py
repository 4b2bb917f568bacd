"""From scores to probabilities, when gradients were clipped on the way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

Values = NDArray[np.float64]


def clipped_logistic(scores: Values) -> Values:
    """The probability of the second class at which clipped gradients balance.

    Where a share q of the records has the second class, boosting with gradients p - y clipped to
    [-1/2, 1/2] comes to rest at the p where ``(1 - q) min(p, 1/2) = q min(1 - p, 1/2)``. Solved
    for q: ``1/2 / (3/2 - p)`` above one half, and the mirror image below.

    Examples
    --------
    >>> clipped_logistic(np.array([-np.inf, 0.0, np.inf])).tolist()
    [0.0, 0.5, 1.0]
    """
    p = expit(scores)
    return np.asarray(np.where(p > 0.5, 0.5 / (1.5 - p), 1.0 - 0.5 / (0.5 + p)))


def plain_softmax(scores: Values) -> Values:
    """The probabilities of the classes, shape (n, n_classes)."""
    return np.asarray(softmax(scores, axis=1))
