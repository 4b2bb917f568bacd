"""Where the target of a regression lies, from two noisy histograms of it.

The first covers the declared bounds, the second the part of them where the first found records.
All else here is post-processing of noisy counts. Cells that do not stand out of the noise are left
out: over bounds far too wide, their noise alone would widen the target.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpforest.arrays import Values
from dpforest.forests.binning import nearest_shares
from dpforest.privacy.accounts.spends import Price
from dpforest.privacy.counts import target_counts
from dpforest.privacy.desk import Desk

CELLS = 64
BULK = 0.02  # of the records may lie on either side of what the second histogram covers
STANDS_OUT = 2.0  # deviations of the noise
CLEAR, FEWEST_CELLS = 4.0, 8  # deviations that an average cell is to hold, where quantiles are read
NARROWEST = 0.01  # the least deviation, of the range that was looked at


class TargetLook(NamedTuple):
    """Mean and standard deviation of a target, and its shares in equal cells of a range.

    ``clear`` are shares as well, in cells wide enough to stand out of the noise.
    """

    mean: float
    deviation: float
    shares: Values
    low: float
    high: float
    clear: Values

    def within(self, reach: float) -> float:
        """The share of the records that lie no further than that from the mean.

        Examples
        --------
        >>> shares = np.array([0.5, 0.0, 0.0, 0.5])
        >>> TargetLook(0.5, 0.5, shares, 0.0, 1.0, shares).within(0.25)
        0.0
        >>> TargetLook(0.5, 0.3, np.full(4, 0.25), 0.0, 1.0, shares).within(0.25)
        0.5
        """
        edges = np.linspace(0.0, 1.0, len(self.shares) + 1)
        width = self.high - self.low
        sides = (self.mean - self.low) / width + reach / width * np.array([-1.0, 1.0])
        below, above = np.interp(sides, edges, np.append(0.0, np.cumsum(self.shares)))
        return float(above - below)

    def quantile(self, q: float) -> float:
        """Below which a share q lies, as if a cell's records lay evenly in it.

        Examples
        --------
        >>> shares = np.array([0.5, 0.0, 0.25, 0.25])
        >>> TargetLook(1.5, 1.0, shares, 0.0, 4.0, shares).quantile(0.75)
        3.0
        """
        edges = np.arange(len(self.clear) + 1) / len(self.clear)
        place = float(np.interp(q, np.append(0.0, np.cumsum(self.clear)), edges))
        return self.low + (self.high - self.low) * place


def look_at_target(
    desk: Desk, low: float, high: float, n_records: float, price: Price
) -> TargetLook:
    """What two looks, at the price each, show of a target.

    Parameters
    ----------
    desk : Desk
    low, high : float
        The declared bounds.
    n_records : float
        Noisy, or a public hint.
    price : Pure or Gaussian
        Of one look.
    """
    first = target_counts(desk, low, high, CELLS, price)
    from_, to = bulk(standing_out(first.values, first.deviation, n_records))
    width = (high - low) / CELLS
    low, high = low + width * from_, low + width * to
    label = "histogram of the target, where it lies"
    second = target_counts(desk, low, high, CELLS, price, label)
    shares = standing_out(second.values, second.deviation, n_records)
    clear = standing_out(*joined(second.values, second.deviation, n_records), n_records)
    return TargetLook(*moments(shares, low, high), shares, low, high, clear)


def joined(counts: Values, deviation: float, n_records: float) -> tuple[Values, float]:
    """Join cells in pairs until an average cell is clear of the noise; counts and their deviation.

    Examples
    --------
    >>> joined(np.ones(64), 1.0, 64.0)
    (array([8., 8., 8., 8., 8., 8., 8., 8.]), 2.82...)
    """
    while len(counts) > FEWEST_CELLS and n_records < CLEAR * deviation * len(counts):
        counts, deviation = counts.reshape(-1, 2).sum(axis=1), deviation * math.sqrt(2.0)
    return counts, deviation


def standing_out(counts: Values, deviation: float, n_records: float) -> Values:
    """The share of the records in each cell, 0 where a count could be noise; all, if all could."""
    clear = np.where(counts > STANDS_OUT * deviation, counts, 0.0)
    return nearest_shares(clear if clear.any() else counts, n_records)


def bulk(shares: Values) -> tuple[int, int]:
    """The cells that hold all but a few records on each side, and one more each; from, to.

    Examples
    --------
    >>> bulk(np.array([0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0]))
    (1, 5)
    """
    up_to = np.cumsum(shares)
    first = int(np.searchsorted(up_to, BULK))
    last = int(np.searchsorted(up_to, up_to[-1] - BULK))
    return max(first - 1, 0), min(last + 2, len(shares))


def moments(shares: Values, low: float, high: float) -> tuple[float, float]:
    """Mean and standard deviation, from the shares of equal cells of a range."""
    # In units of the range, so that no square leaves the range of doubles.
    middles = (np.arange(len(shares)) + 0.5) / len(shares)
    mean = float(shares @ middles)
    deviation = float(np.sqrt(shares @ (middles - mean) ** 2))
    return low + (high - low) * mean, (high - low) * max(deviation, NARROWEST)
