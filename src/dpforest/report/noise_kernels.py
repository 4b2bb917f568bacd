"""A step of boosting on noise: compiled, a tree at a time."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def noise_step(leaf, chance, gains, hessians, variance, heard, noise, errors, steps):
    """Write into ``steps[leaf, run]`` what leaves make of noise, and add it to the errors.

    Parameters are the leaf of each point and its share in chance, a run; the gain and the Hessian
    of each leaf; the variance of a gradient by chance, relative to its Hessian; the share of
    records whose gradients are not clipped, and hear of errors; the noise in the sum of each leaf;
    and the errors of the scores so far, shape (n_points, n_runs).
    """
    n_leaves, n_runs = steps.shape
    drift, luck = np.zeros((n_leaves, n_runs)), np.zeros((n_leaves, n_runs))
    count = np.zeros(n_leaves)
    for i in range(leaf.shape[0]):
        k = leaf[i]
        count[k] += 1.0
        for r in range(n_runs):
            drift[k, r] += errors[i, r]
            luck[k, r] += chance[i, r]
    for k in range(n_leaves):
        # The leaf has the Hessian that was released, however many points fall into it.
        pull = heard * hessians[k] / max(count[k], 1.0)
        spread = np.sqrt(variance * hessians[k] / max(count[k], 1.0))
        for r in range(n_runs):
            gradient = pull * drift[k, r] + spread * luck[k, r] + noise[k, r]
            steps[k, r] = -gains[k] * gradient
    for i in range(leaf.shape[0]):
        for r in range(n_runs):
            errors[i, r] += steps[leaf[i], r]
