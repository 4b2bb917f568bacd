"""Points drawn from released shares of bins: every feature by itself, evenly spread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values


def draw_points(shares: tuple[Values, ...], n: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw bins of all features, shape (n, n_features), as if features were independent.

    A Latin hypercube: of a bin with a share s, each column has s * n, give or take one.

    Examples
    --------
    >>> points = draw_points((np.array([0.5, 0.0, 0.5]),), 4, np.random.default_rng(0))
    >>> sorted(points[:, 0].tolist())
    [0, 0, 2, 2]
    """
    points = np.empty((n, len(shares)), np.uint8)
    for column, of_bins in zip(points.T, shares, strict=True):
        below = np.cumsum(of_bins) / of_bins.sum()
        heights = (rng.permutation(n) + rng.random(n)) / n
        column[:] = np.minimum(np.searchsorted(below, heights, side="right"), len(below) - 1)
    return points
