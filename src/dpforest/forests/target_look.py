"""Where the target of a regression lies, from two noisy histograms of it.

The first covers the declared bounds, the second the part of them where the first found records.
All else here is post-processing of noisy counts. Cells that do not stand out of the noise are left
out: over bounds far too wide, their noise alone would widen the target.
"""

from __future__ import annotations

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
NARROWEST = 0.01  # the least deviation, of the range that was looked at


class TargetLook(NamedTuple):
    """Mean and standard deviation of a target, and its shares in equal cells of a range."""

    mean: float
    deviation: float
    shares: Values
    low: float
    high: float

    def within(self, reach: float) -> float:
        """The share of the records that lie no further than that from the mean.

        Examples
        --------
        >>> TargetLook(0.5, 0.5, np.array([0.5, 0.0, 0.0, 0.5]), 0.0, 1.0).within(0.25)
        0.0
        >>> TargetLook(0.5, 0.3, np.full(4, 0.25), 0.0, 1.0).within(0.25)
        0.5
        """
        edges = np.linspace(0.0, 1.0, len(self.shares) + 1)
        width = self.high - self.low
        sides = (self.mean - self.low) / width + reach / width * np.array([-1.0, 1.0])
        below, above = np.interp(sides, edges, np.append(0.0, np.cumsum(self.shares)))
        return float(above - below)


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
    return TargetLook(*moments(shares, low, high), shares, low, high)


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
