"""The choice of one number for all records: a quantile of the target."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpforest.arrays import Integers
from dpforest.privacy.accounts.spends import Price
from dpforest.privacy.desk import Desk
from dpforest.privacy.monotone_choice import pay_for_choice
from dpforest.records.statistics import TargetCounts

CELLS = 4096  # of the range; one of them is chosen
FINEST_QUANTILE = 1000  # the largest denominator of a quantile
MEASURE = 1 << 40  # of all cells together, in the whole numbers of the mechanism


def choose_quantile(desk: Desk, low: float, high: float, quantile: float, price: Price) -> float:
    """The middle of the cell of a range in which a quantile lies, as far as a choice tells.

    By the exponential mechanism, with `measure` for public weights; the utility of a cell is
    `depths`. A record more adds something from 0 to D to each of them, where D is the larger part
    of the quantile.

    Parameters
    ----------
    desk : Desk
        With a numeric target.
    low, high : float
        Public, or released.
    quantile : float
        Above 0 and below 1; 0.5 for the median.
    price : Pure or Gaussian
    """
    parts = parts_of(quantile)
    paid = pay_for_choice(desk, "choice of a number", price, sensitivity=max(parts))
    utilities = depths(desk.total(TargetCounts(low, high, CELLS)), parts)
    chosen = paid.make(desk, utilities, measure(low, high))
    return low + (high - low) * (chosen + 0.5) / CELLS


def parts_of(quantile: float) -> tuple[int, int]:
    """What a record counts that lies below a cell, and one above: small whole numbers.

    Examples
    --------
    >>> parts_of(0.5), parts_of(0.9)
    ((1, 1), (1, 9))
    """
    nearest = Fraction(quantile).limit_denominator(FINEST_QUANTILE)
    share = min(max(nearest, Fraction(1, FINEST_QUANTILE)), 1 - Fraction(1, FINEST_QUANTILE))
    return share.denominator - share.numerator, share.numerator


def depths(counts: Integers, parts: tuple[int, int]) -> Integers:
    """How deep each cell lies among the records: the lesser of what lies on either side of it.

    Records in the cell count on both sides. The records up to the cell count the first part each,
    those from it on the second, so the lesser is largest where the quantile lies. A record more
    adds its part to one of both, or to each the part of it, and so to the lesser from 0 to the
    larger part.

    Examples
    --------
    >>> depths(np.array([1, 1, 2]), (1, 1)).tolist()
    [1, 2, 2]
    """
    up_to = np.cumsum(counts)
    from_here = up_to[-1] - up_to + counts
    return np.asarray(np.minimum(parts[0] * up_to, parts[1] * from_here))


def measure(low: float, high: float) -> Integers:
    """Public weights of the cells: half of all evenly, half by the distance from zero.

    Bounds are often far too wide, and then what is told lies near zero, or near the bound that
    zero lies beyond: cells weigh as much as their share of a logarithmic scale there.

    Examples
    --------
    >>> weights = measure(0.0, 4096.0)
    >>> bool(weights[0] > weights[1] > weights[-1])
    True
    """
    zero = min(max(0.0, low), high)
    edges = np.abs(np.linspace(low, high, CELLS + 1) - zero) * CELLS / (high - low)
    near = 1.0 / (1.0 + (edges[:-1] + edges[1:]) / 2.0)
    shares = 0.5 / CELLS + 0.5 * near / near.sum()
    return np.asarray(np.maximum(np.rint(MEASURE * shares), 1), np.int64)
