"""The choice of one number for all records: a quantile of the target."""

from __future__ import annotations

import math

import numpy as np

from dpforest.arrays import Integers, Values
from dpforest.privacy.accounts.spends import Price
from dpforest.privacy.desk import Desk
from dpforest.privacy.monotone_choice import pay_for_choice
from dpforest.records.statistics import TargetCells

EVEN_CELLS, NEAR_CELLS = 2048, 2048  # of the range, of which one is chosen: even, and near zero
OCTAVES = 20  # near zero cells halve so often: bounds may be a million times too wide
MEASURE = 1 << 40  # of all cells together, in the whole numbers of the mechanism


def choose_median(desk: Desk, low: float, high: float, price: Price) -> float:
    """The middle of the cell of a range in which the median lies, as far as a choice tells.

    By the exponential mechanism, with `measure` for public weights of public `cells`; the utility
    of a cell is `depths`. A record more adds 0 or 1 to each.

    Parameters
    ----------
    desk : Desk
        With a numeric target.
    low, high : float
        Public, or released.
    price : Pure or Gaussian
    """
    paid = pay_for_choice(desk, "choice of a number", price, sensitivity=1)
    edges = cells(low, high)
    counts = desk.total(TargetCells(edges[1:-1]))
    return _middle(edges, paid.make(desk, depths(counts), measure(edges)))


def choose_quantile(desk: Desk, low: float, high: float, quantile: float, price: Price) -> float:
    """The same of the cell in which any quantile lies.

    The utility of a cell is `nearness`. A record more adds something from -1 to 1 to each: but for
    1, which is the same for all and moves no choice, something from 0 to 2. So does a record in the
    place of another, which is two steps: of two persons the larger has at most as many records as
    there are pairs of steps.

    Parameters
    ----------
    desk, low, high, price
        As in `choose_median`.
    quantile : float
        Above 0 and below 1.
    """
    replaced = desk.ledger.protection.neighbors == "replace_one"
    paid = pay_for_choice(desk, "choice of a number", price, sensitivity=1 if replaced else 2)
    edges = cells(low, high)
    counts = desk.total(TargetCells(edges[1:-1]))
    return _middle(edges, paid.make(desk, nearness(counts, quantile), measure(edges)))


def _middle(edges: Values, cell: int) -> float:
    return float(edges[cell] + (edges[cell + 1] - edges[cell]) / 2.0)


def cells(low: float, high: float) -> Values:
    """The edges of cells of a range: even ones, and such that halve towards zero.

    Bounds are often far too wide, and then what is told lies near zero, or near the bound that
    zero lies beyond.

    Examples
    --------
    >>> edges = cells(0.0, 1e9)
    >>> int((edges < 1e5).sum()), int((edges > 1e8).sum())
    (688, 2184)
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


def depths(counts: Integers) -> Integers:
    """How deep each cell lies among the records: the lesser of what lies on either side of it.

    Records in the cell count on both sides. A record more adds 1 to one of both, or to each, and so
    0 or 1 to the lesser.

    Examples
    --------
    >>> depths(np.array([1, 1, 2])).tolist()
    [1, 2, 2]
    """
    up_to = np.cumsum(counts)
    return np.asarray(np.minimum(up_to, up_to[-1] - up_to + counts))


def nearness(counts: Integers, quantile: float) -> Integers:
    """How near each cell lies to a quantile: 0 at the best, less by one for each record further.

    Records up to the cell are counted, or those from it on, whichever the quantile has fewer of; a
    share of all records is wanted there, rounded down. A record more adds 0 or 1 to what is counted
    and 0 or 1 to what is wanted, so their distance changes by 1 at most.

    Examples
    --------
    >>> nearness(np.array([1, 1, 2, 6]), 0.2).tolist()
    [-1, 0, -2, -8]
    >>> nearness(np.array([6, 2, 1, 1]), 0.75).tolist()
    [-8, -2, 0, -1]
    """
    up_to = np.cumsum(counts)
    beyond = up_to if quantile < 0.5 else up_to[-1] - up_to + counts
    wanted = math.floor(min(quantile, 1.0 - quantile) * int(up_to[-1]))
    return np.asarray(-np.abs(beyond - wanted))


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
