"""Where the target of a regression lies, from two noisy histograms of it, or a few more.

The first covers the declared bounds, the second the part of them where the first found records.
Where a few cells of that hold nearly all records, bounds are far too wide: these cells are looked
at again, and so on. All else here is post-processing of noisy counts. Cells that do not stand out
of the noise are left out: over bounds far too wide, their noise alone would widen the target.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpforest.arrays import Values
from dpforest.forests.binning import nearest_shares
from dpforest.privacy.accounts.spends import Gaussian, Price
from dpforest.privacy.counts import target_counts
from dpforest.privacy.desk import Desk

CELLS, FEWEST_CELLS = 64, 8
BULK = 0.02  # of the records may lie on either side of what the second histogram covers
STANDS_OUT = 2.0  # deviations of the noise
CLEAR = 4.0  # deviations of the noise that an average cell is to hold, where quantiles are read
HEARD = 1.0  # the same for all looks
FAR_TOO_WIDE = 8  # times the cells that hold nearly all records: look again
FEWEST_OF_CORE = 2  # cells that may hold them: an edge may part them
BEYOND_CORE = 0.01  # of the records, which these cells may miss
MARGIN = 0.5  # of a cell, on either side of them
SURE = 3.0  # deviations of the noise
MOST_DOUBT = 0.25  # of the records, whatever the noise: with more, chance would make a core
MOST_LOOKS = 10
TOLD_APART = 1e-9  # a range this narrow, of the numbers in it, is not looked at again
NARROWEST = 0.01  # the least deviation, of the range that was looked at


class TargetLook(NamedTuple):
    """What is known of a target: the share of the records in equal cells of a range.

    ``clear`` are the same in cells wide enough to stand out of the noise.
    """

    low: float
    high: float
    shares: Values
    clear: Values

    def moments(self) -> tuple[float, float]:
        """Mean and standard deviation.

        Examples
        --------
        >>> TargetLook(0.0, 2.0, np.full(64, 1 / 64), np.full(8, 1 / 8)).moments()
        (1.0, 0.57...)
        """
        # In units of the range, so that no square leaves the range of doubles.
        middles = (np.arange(len(self.shares)) + 0.5) / len(self.shares)
        mean = float(self.shares @ middles)
        deviation = float(np.sqrt(self.shares @ (middles - mean) ** 2))
        return self._at(mean), (self.high - self.low) * max(deviation, NARROWEST)

    def quantile(self, q: float) -> float:
        """Below which a share q lies, as if a cell's records lay evenly in it.

        Examples
        --------
        >>> TargetLook(0.0, 4.0, np.zeros(8), np.array([0.5, 0.0, 0.25, 0.25])).quantile(0.75)
        3.0
        """
        edges = np.arange(len(self.clear) + 1) / len(self.clear)
        return self._at(float(np.interp(q, np.append(0.0, np.cumsum(self.clear)), edges)))

    def within(self, reach: float) -> float:
        """The share of the records that lie no further than that from the mean.

        Examples
        --------
        >>> at_the_ends = np.array([0.5, 0.0, 0.0, 0.5])
        >>> TargetLook(0.0, 1.0, at_the_ends, at_the_ends).within(0.25)
        0.0
        >>> TargetLook(0.0, 1.0, np.full(4, 0.25), np.full(4, 0.25)).within(0.25)
        0.5
        """
        edges = np.linspace(0.0, 1.0, len(self.shares) + 1)
        width = self.high - self.low
        sides = (self.moments()[0] - self.low) / width + reach / width * np.array([-1.0, 1.0])
        below, above = np.interp(sides, edges, np.append(0.0, np.cumsum(self.shares)))
        return float(above - below)

    def _at(self, place: float) -> float:
        return self.low + (self.high - self.low) * place


def look_at_target(
    desk: Desk, low: float, high: float, n_records: float, price: Price
) -> tuple[TargetLook, int]:
    """Look at a target twice, or more often where bounds are far too wide, at the price each.

    Whether there is another look, and where, follows from the counts that were released.

    Parameters
    ----------
    desk : Desk
    low, high : float
        The declared bounds.
    n_records : float
        Noisy, or a public hint.
    price : Pure or Gaussian
        Of one look.

    Returns
    -------
    look : TargetLook
    n_looks : int
        How many were paid for.
    """
    cells, label = cells_for(n_records, price, desk.steps), "histogram of the target"
    found = target_counts(desk, low, high, cells, price, label)
    nearer: tuple[float, float] | None
    nearer = bulk(standing_out(found.values, found.deviation, n_records))
    n_looks = 1
    while nearer is not None and n_looks < MOST_LOOKS:
        low, high = (low + (high - low) / cells * place for place in nearer)
        found = target_counts(desk, low, high, cells, price, f"{label}, where it lies")
        n_looks += 1
        nearer = core(found.values, found.deviation, n_records)
        if high - low < TOLD_APART * max(abs(low), abs(high)):
            break
    shares = standing_out(found.values, found.deviation, n_records)
    clear = standing_out(*joined(found.values, found.deviation, n_records), n_records)
    return TargetLook(low, high, shares, clear), n_looks


def core(counts: Values, deviation: float, n_records: float) -> tuple[float, float] | None:
    """From which cell to which nearly all records lie, half a cell more on each side.

    None where that is no small part of all. Noise may stand out anywhere, so cells side by side are
    taken together, as few as will do. Where a hint of the number is far too low, counts say so.

    Examples
    --------
    >>> core(np.array([0.0, 2.0, -3.0, 500.0, 490.0, 4.0, -2.0, 1.0]), 3.0, 1_000.0)
    (2.5, 5.5)
    >>> core(np.full(8, 125.0), 3.0, 1_000.0) is None
    True
    """
    cells = len(counts)
    total = max(n_records, float(counts.sum()) - SURE * deviation * math.sqrt(cells))
    up_to = np.append(0.0, np.cumsum(counts))
    for n_cells in range(1, max(cells // FAR_TOO_WIDE, FEWEST_OF_CORE) + 1):
        within = up_to[n_cells:] - up_to[:-n_cells]
        first = int(within.argmax())
        noise = deviation * math.sqrt(n_cells + 1)  # that of the total too
        doubt = min(SURE * noise, MOST_DOUBT * total)
        if within[first] >= (1.0 - BEYOND_CORE) * total - doubt:
            return max(first - MARGIN, 0.0), min(first + n_cells + MARGIN, float(cells))
    return None


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


def cells_for(n_records: float, price: Price, steps: int) -> int:
    """How many cells a histogram has: fewer where the noise would drown what they hold.

    Examples
    --------
    >>> cells_for(100_000, Gaussian(0.1), 1), cells_for(1_000, Gaussian(0.03), 1)
    (64, 16)
    """
    noise = steps / price.mu if isinstance(price, Gaussian) else 1.5 * steps / float(price.epsilon)
    cells = FEWEST_CELLS
    while cells < CELLS and n_records >= HEARD * noise * 2 * cells:
        cells *= 2
    return cells


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
