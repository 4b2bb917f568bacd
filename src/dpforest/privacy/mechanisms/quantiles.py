"""Private quantiles over a public grid, from the exact counts of its cells.

All of them choose by the exponential mechanism with the *rank* utility: minus the distance between
the number of records below a candidate and the wanted share of all records. Cells are weighted
by their public lengths, so the data decide only through ranks; a choice "uniform between two
neighbouring records", weighted by ranks alone, would leak through the width of their gap.

**Sensitivity.** For the level a / b the utility, times b, is -abs(b * below - a * n), or minus the
distance to an interval of such numbers. An added record moves b * below - a * n by b - a or by
-a, so the utility by at most max(a, b - a); between neighbours that are `steps` single additions
and removals apart, by at most steps * max(a, b - a). It is not monotone. Hence epsilon-DP by the
exponential mechanism at the rate epsilon / (2 * steps * max(a, b - a)); see
docs/privacy/selection.md. The grid, the lengths and the levels are public.

The functions see exact counts: only the desk calls them.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpforest.privacy.mechanisms.draws import Draws

MEDIAN = Fraction(1, 2)


def quantile_cell(
    counts: ArrayLike,
    level: Fraction = MEDIAN,
    *,
    epsilon: Fraction | float,
    draws: Draws,
    lengths: ArrayLike | None = None,
    steps: int = 1,
) -> NDArray[np.int64]:
    """Choose the cell in which a quantile lies.

    Parameters
    ----------
    counts : array-like of int, shape (..., n_cells)
        Exact number of records in each cell of a grid; one choice for each row.
    level : Fraction
        Between 0 and 1; 1/2 is the median.
    epsilon : Fraction or float
        The price of one row (rows of disjoint records compose in parallel).
    draws : Draws
        Where the randomness comes from.
    lengths : array-like of int, shape (n_cells,) or that of counts, optional
        Public lengths of the cells; 0 is no candidate. Default: all the same.
    steps : int, default=1
        Number of single additions and removals between neighbouring tables.

    Returns
    -------
    ndarray of int64, shape (...)
        Index of the chosen cell.

    Examples
    --------
    >>> int(quantile_cell([0, 400, 500, 2], epsilon=1, draws=Draws(0)))
    2
    """
    utilities, sensitivity = cell_utilities(counts, level)
    return draws.exponential(
        utilities,
        epsilon=epsilon,
        sensitivity=steps * sensitivity,
        monotone=False,
        weights=lengths,
    )


def quantile_cells(
    counts: ArrayLike,
    levels: Sequence[Fraction],
    *,
    epsilon: Fraction,
    draws: Draws,
    lengths: ArrayLike | None = None,
    steps: int = 1,
) -> NDArray[np.int64]:
    """Choose the cells of several quantiles, for epsilon in all.

    The middle level is chosen first. Its cell divides the records: those up to and in the cell
    serve the lower levels, those after it the upper ones, and so on (Kaplan, Schnapp and Stemmer
    2022). A record takes part in one choice of each round, so a round composes in parallel, and
    the ceil(log2(m + 1)) rounds of m levels sequentially, at an equal share of epsilon each.
    (Neighbours `steps` apart: each choice costs in proportion to the changed records it sees.)
    A heavy cell does not swallow the levels above it: they spread over the records after it.

    Parameters
    ----------
    counts, draws, lengths, steps
        As in `quantile_cell`.
    levels : sequence of Fraction
        Increasing, strictly between 0 and 1.
    epsilon : Fraction or math.inf
        The price of a row, all levels together.

    Returns
    -------
    ndarray of int64, shape (..., n_levels)
        Indices of cells, never decreasing.

    Examples
    --------
    >>> levels = [Fraction(1, 6), Fraction(1, 2), Fraction(5, 6)]
    >>> quantile_cells([300] * 9, levels, epsilon=Fraction(4), draws=Draws(0)).tolist()
    [1, 4, 7]
    """
    table = _counts(counts)
    ordered = [Fraction(0), *levels, Fraction(1)]
    if not levels or any(a >= b for a, b in pairwise(ordered)):
        raise ValueError(
            "levels must be increasing fractions strictly between 0 and 1, at least one; "
            f"got {[str(level) for level in levels]}."
        )
    n_cells = table.shape[-1]
    measure = np.ones(n_cells, dtype=np.int64) if lengths is None else np.asarray(lengths)
    rounds = len(levels).bit_length()
    share = epsilon if math.isinf(epsilon) else Fraction(epsilon) / rounds
    chosen = np.empty((*table.shape[:-1], len(levels)), dtype=np.int64)
    cells = np.arange(n_cells)

    def divide(part: NDArray[np.int64], open_: NDArray[np.bool_], first: int, last: int) -> None:
        """Choose levels first, ..., last - 1 (of `ordered`) from part of the records."""
        if first == last:
            return
        middle = (first + last) // 2
        below, above = ordered[first - 1], ordered[last]
        cell = quantile_cell(
            part,
            (ordered[middle] - below) / (above - below),
            epsilon=share,
            draws=draws,
            lengths=measure * open_,
            steps=steps,
        )
        chosen[..., middle - 1] = cell
        edge = cell[..., np.newaxis]
        divide(np.where(cells <= edge, part, 0), open_ & (cells <= edge), first, middle)
        divide(np.where(cells > edge, part, 0), open_ & (cells >= edge), middle + 1, last)

    divide(table, np.ones(table.shape, dtype=np.bool_), 1, len(levels) + 1)
    return chosen


def cell_utilities(counts: ArrayLike, level: Fraction) -> tuple[NDArray[np.int64], int]:
    """Return the rank utility of every cell and its sensitivity to one record.

    With level = a / b: minus b times the number of ranks by which the wanted rank misses the cell.

    Examples
    --------
    >>> utilities, sensitivity = cell_utilities([2, 1, 5], Fraction(1, 2))
    >>> utilities.tolist(), sensitivity
    ([-4, -2, 0], 1)
    """
    table, a, b = _counts(counts), *_level(level)
    upto = b * np.cumsum(table, axis=-1)
    wanted = a * table.sum(axis=-1, keepdims=True)
    missed = np.maximum(upto - b * table - wanted, wanted - upto)
    return -np.maximum(missed, 0), max(a, b - a)


def _counts(counts: ArrayLike) -> NDArray[np.int64]:
    table = np.asarray(counts)
    if table.ndim == 0 or table.dtype.kind not in "iu":
        raise ValueError("counts must be integers, with the cells of the grid on the last axis.")
    return table.astype(np.int64, copy=False)


def _level(level: Fraction) -> tuple[int, int]:
    """Numerator and denominator of a level."""
    if not 0 <= level <= 1 or Fraction(level).denominator > 1 << 20:
        raise ValueError(
            f"level must be a fraction between 0 and 1 with denominator at most 2**20, got {level}."
        )
    return Fraction(level).numerator, Fraction(level).denominator
