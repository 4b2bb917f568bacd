"""What a paid schema makes of noisy counts: types, bounds, and which categories may be named."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.records.value_counts import N_MAGNITUDES, magnitude
from dpforest.schema.column_types import ColumnType

FALSE_ALARM = 0.01  # chance that an empty cell stands out, over all cells of a question


def category_threshold(scale: Fraction, delta: Fraction, steps: int) -> int:
    """Return the noisy count from which a category may be named.

    Examples
    --------
    >>> category_threshold(Fraction(10), Fraction(1, 10**6), steps=1)
    141
    """
    # The group-privacy sum is over powers of e^(1/scale); one more record covers rounding.
    group = math.fsum(math.exp(i / float(scale)) for i in range(steps))
    return 2 + math.ceil(float(scale) * math.log(group / float(delta)))


def least_count(n_cells: int, scale: Fraction) -> float:
    """Return the noisy count at which a cell stands out.

    One of m empty cells reaches t with a probability of at most m exp(-t / scale).
    """
    return float(scale) * math.log(n_cells / FALSE_ALARM)


def kind_of_counts(noisy: NDArray[np.int64], scale: Fraction) -> ColumnType | None:
    """Return what most values are, from noisy counts of kinds; None if no count stands out.

    Examples
    --------
    >>> kind_of_counts(np.array([-3, 800, 12, 30]), Fraction(10))
    'integer'
    >>> kind_of_counts(np.array([-3, 800, 200, 30]), Fraction(10))
    'number'
    """
    least = least_count(noisy.size, scale)
    if noisy.max() < least:
        return None
    booleans, whole, fractions, texts = noisy.tolist()
    numbers = whole + fractions
    if texts > max(numbers, booleans):
        return "category"
    if booleans > numbers:
        return "boolean"
    return "number" if fractions >= least else "integer"


def bounds_of_counts(noisy: NDArray[np.int64], scale: Fraction) -> tuple[float, float] | None:
    """Return the outer edges of the cells that stand out, from noisy counts of sizes; or None."""
    cells = np.flatnonzero(noisy >= least_count(noisy.size, scale)) - N_MAGNITUDES
    if not cells.size:
        return None
    first, last = int(cells[0]), int(cells[-1])
    low = magnitude(first - 1) if first > 0 else 0.0 - magnitude(-first)
    high = magnitude(last) if last >= 0 else -magnitude(-last - 1)
    return low, high if low < high else low + 1.0
