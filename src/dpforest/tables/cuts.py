"""Where a numeric feature is cut, by its declaration alone."""

import math

import numpy as np
from numpy.typing import NDArray

from dpforest.schema import NumericFeature


def public_cuts(feature: NumericFeature, max_bins: int) -> NDArray[np.float64]:
    """Return the cuts of a feature that follow from the schema alone."""
    if feature.cuts is not None:
        return np.array(feature.cuts, dtype=np.float64)
    low, high = feature.low, feature.high
    if feature.integer and high - low + 1 <= max_bins:
        return np.arange(low, high) + 0.5
    cuts = np.linspace(low, high, max_bins + 1)[1:-1]
    if feature.integer:
        cuts = np.floor(cuts) + 0.5
    # Bounds a few units in the last place apart leave no room for so many cuts.
    cuts = np.unique(cuts)
    return cuts[(cuts >= low) & (cuts < high)]


def bin_middles(cuts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where the bins between cuts lie, in units of the largest cut.

    The outermost bins are open: they count as wide as those next to them.

    Examples
    --------
    >>> bin_middles(np.array([1.0, 2.0, 4.0])).tolist()
    [0.125, 0.375, 0.75, 1.25]
    """
    if cuts.size < 2:
        return np.arange(cuts.size + 1.0)
    cuts = cuts / np.abs(cuts).max()
    widths = np.diff(cuts)
    inner = cuts[:-1] + widths / 2.0
    return np.concatenate([[cuts[0] - widths[0] / 2.0], inner, [cuts[-1] + widths[-1] / 2.0]])


def even_scale(cuts: NDArray[np.float64], feature: NumericFeature) -> float:
    """Cuts in a unit, if a guess of the bin by it is off by at most one; else 0."""
    scale = (cuts.size + 1) / (feature.high - feature.low)
    if not cuts.size or not math.isfinite(scale):
        return 0.0
    guesses = (cuts - feature.low) * scale
    return scale if np.abs(guesses - np.arange(1, cuts.size + 1)).max() < 0.99 else 0.0
