"""The choice of one number for all records: a quantile of the target."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpforest.arrays import Integers, Values
from dpforest.privacy.accounts.spends import Price
from dpforest.privacy.desk import Desk
from dpforest.privacy.monotone_choice import pay_for_choice
from dpforest.records.statistics import TargetCells

EVEN_CELLS, NEAR_CELLS = 2048, 2048  # of the range, of which one is chosen: even, and near zero
OCTAVES = 20  # near zero cells halve so often: bounds may be a million times too wide
FINEST_QUANTILE = 1000  # the largest denominator of a quantile
MEASURE = 1 << 40  # of all cells together, in the whole numbers of the mechanism


def choose_quantile(desk: Desk, low: float, high: float, quantile: float, price: Price) -> float:
    """The middle of the cell of a range in which a quantile lies, as far as a choice tells.

    By the exponential mechanism, with `measure` for public weights of public `cells`; the utility
    of a cell is `depths`. A record more adds something from 0 to D to each of them, where D is the
    larger part of the quantile.

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
    edges = cells(low, high)
    utilities = depths(desk.total(TargetCells(edges[1:-1])), parts)
    chosen = paid.make(desk, utilities, measure(edges))
    return float(edges[chosen] + (edges[chosen + 1] - edges[chosen]) / 2.0)


def cells(low: float, high: float) -> Values:
    """The edges of cells of a range: even ones, and such that halve towards zero.

    Bounds are often far too wide, and then what is told lies near zero, or near the bound that
    zero lies beyond.

    Examples
    --------
    >>> edges = cells(0.0, 1e9)
    >>> int((edges < 100.0).sum()), int((edges > 1e8).sum())
    (461, 2070)
    """
    zero = _zero(low, high)
    sides = [side for side in (high - zero, low - zero) if side]
    n = NEAR_CELLS // len(sides)
    halving = 2.0 ** (-OCTAVES * np.arange(n) / n)
    near = [zero + side * halving for side in sides]
    edges = np.concatenate([np.linspace(low, high, EVEN_CELLS + 1), *near, [zero]])
    return np.unique(np.clip(edges, low, high))


def _zero(low: float, high: float) -> float:
    return min(max(0.0, low), high)


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


def measure(edges: Values) -> Integers:
    """Public weights of cells: half by their widths, half by those on a logarithmic scale.

    Examples
    --------
    >>> weights = measure(np.array([0.0, 1.0, 2.0, 4.0]))
    >>> bool(weights[0] > weights[1]), bool(weights[2] < 2 * weights[1])
    (True, True)
    """
    low, high = edges[0], edges[-1]
    places = (edges - _zero(low, high)) / (high - low)
    decades = np.sign(places) * np.log1p(np.abs(places) * 2.0**OCTAVES)
    shares = np.diff(places) / 2.0 + np.diff(decades) / (decades[-1] - decades[0]) / 2.0
    return np.asarray(np.maximum(np.rint(MEASURE * shares), 1), np.int64)
