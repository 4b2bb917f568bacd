"""Count values by what each is by itself: its kind, its size, its spelling.

The cell of a value depends on that value alone, never on another record and never on the type of
the container, so two tables that differ in one record differ by one in one cell, or in none. A
number is the double nearest to it. Empty texts, and what is neither text, number nor boolean
(dates, lists), count as missing and are in no cell.

The counts are exact and therefore private: they leave the house after noise
(`dpforest.privacy.inference`).
"""

import math
from collections import Counter
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.schema.categories import Category, Number, is_missing, number_of
from dpforest.tables.columns import Column
from dpforest.tables.streamed import StreamedColumn

AnyColumn = Column | StreamedColumn

BOOLEAN, WHOLE, FRACTION, TEXT = range(4)
N_KINDS = 4
NO_KIND = -1

SMALLEST_POWER, LARGEST_POWER = -64, 64
N_MAGNITUDES = LARGEST_POWER - SMALLEST_POWER


def kind_counts(column: AnyColumn) -> NDArray[np.int64]:
    """Count nothing, whole numbers, fractions and texts, in this order.

    A text that spells a number counts as one. True, 1 and "1" mean the same, and a container may
    make one of the other because of another record, so a boolean is a whole number here: that a
    column is one of booleans can be declared, not asked.

    Examples
    --------
    >>> values = np.array([True, "false", 1, "2", 3.0, 0.5, "1e-3", "old", None], dtype=object)
    >>> kind_counts(Column(values, "a")).tolist()
    [0, 5, 2, 1]
    """
    return sum(map(_kind_counts, column.parts()), np.zeros(N_KINDS, np.int64))


def _kind_counts(part: Column) -> NDArray[np.int64]:
    array = part.to_numpy()
    if array.dtype.kind == "b":
        return np.array([0, array.size, 0, 0])
    if array.dtype.kind in "iuf":
        # All at once, with the outcome of `_kind` for each.
        numbers = array.astype(np.float64)
        numbers = numbers[np.isfinite(numbers)]
        whole = np.count_nonzero(numbers == np.floor(numbers))
        return np.array([0, whole, numbers.size - whole, 0])
    values, counts = _distinct(array)
    return _histogram(np.array([_kind(value) for value in values], np.int64), counts, N_KINDS)


def magnitude_counts(column: AnyColumn) -> NDArray[np.int64]:
    """Count numbers by sign and power of two: each record falls into one cell or, missing, none.

    Cell ``N_MAGNITUDES + k`` holds, for k > 0, what lies above ``magnitude(k - 1)`` and up to
    ``magnitude(k)``, or higher in the last; for k < 0 the same with a minus sign; for k = 0 what is
    as good as zero. Texts that spell no number count as missing.
    """
    return sum(map(_magnitude_counts, column.parts()), np.zeros(2 * N_MAGNITUDES + 1, np.int64))


def _magnitude_counts(part: Column) -> NDArray[np.int64]:
    array = part.to_numpy()
    if array.dtype.kind in "biuf":
        numbers, counts = array.astype(np.float64), np.ones(array.size, np.int64)
    else:
        values, counts = _distinct(array)
        numbers = np.array([_as_float(value) for value in values], np.float64)
    there = ~np.isnan(numbers)
    numbers, counts = numbers[there], counts[there]
    powers = 2.0 ** np.arange(SMALLEST_POWER, LARGEST_POWER)
    sizes = np.searchsorted(powers, np.abs(numbers))
    cells = N_MAGNITUDES + np.sign(numbers).astype(np.int64) * sizes
    return _histogram(cells, counts, 2 * N_MAGNITUDES + 1)


def magnitude(k: int) -> float:
    """Return the k-th edge of the cells of `magnitude_counts`, counted up from zero."""
    return 2.0 ** (SMALLEST_POWER + k) if k > 0 else 0.0


def level_counts(column: AnyColumn, *, numbers: bool) -> tuple[list[Category], NDArray[np.int64]]:
    """Count the records of each value that occurs, in sorted order.

    Parameters
    ----------
    column : Column or StreamedColumn
    numbers : bool
        Whether values count by number, and texts that spell none as missing; else by spelling:
        texts as they are, numbers and booleans as the number's.

    Examples
    --------
    >>> column = Column(np.array(["1", 1, 1.0, True, "1.0", "a", None], dtype=object), "a")
    >>> level_counts(column, numbers=False)
    (['1', '1.0', 'a'], array([4, 1, 1]))
    >>> level_counts(column, numbers=True)
    ([1], array([5]))
    """
    found: dict[Category, int] = {}
    for part in column.parts():
        for value, count in zip(*_distinct(part.to_numpy()), strict=True):
            level = _level(value, numbers)
            if level is not None:
                found[level] = found.get(level, 0) + int(count)
    levels = sorted(found, key=category_order)
    return levels, np.array([found[level] for level in levels], dtype=np.int64)


def category_order(value: Category) -> tuple[bool, float, str]:
    """Numbers first, by size, then texts."""
    number = None if isinstance(value, str) else number_of(value)
    return (number is None, number or 0, str(value))


def plain_value(value: object) -> Category | None:
    """Return the text, boolean or number that a value is; None for missing and other objects.

    A number is the double nearest to it, whatever type it came in; a whole one is an int.

    Examples
    --------
    >>> [plain_value(value) for value in (np.float32(0.5), Decimal("2.0"), True, "a", "", [1])]
    [0.5, 2, True, 'a', None, None]
    """
    if isinstance(value, np.datetime64 | np.timedelta64):
        return None  # NumPy takes some of them for integers
    if isinstance(value, np.generic):
        value = value.item()
    if is_missing(value) or not isinstance(value, str | Real | Decimal | np.floating):
        return None
    if isinstance(value, str | bool):
        return value if value != "" else None
    near = _nearest(value)
    return None if math.isnan(near) else _whole_if_so(near)


def _distinct(array: NDArray[Any]) -> tuple[list[Category | None], NDArray[np.int64]]:
    """Return plain values and how often each occurs; equal ones of other types stay apart."""
    if array.dtype.kind in "biuf":
        values, counts = np.unique(array, return_counts=True)
        return [plain_value(value) for value in values.tolist()], counts
    values = array.tolist()
    try:
        # The type is in the key: 1 equals 1 + 0j, which counts as missing, and the first would win.
        found = Counter(zip(map(type, values), values, strict=True))
    except Exception:
        # Something cannot be hashed, so it is no plain value, whatever it says of that.
        plain = [plain_value(value) for value in values]
        found = Counter(zip(map(type, plain), plain, strict=True))
    counts = np.fromiter(found.values(), np.int64, len(found))
    return [plain_value(value) for _, value in found], counts


def _kind(value: Category | None) -> int:
    number = _number(value)
    if number is None:
        return TEXT if isinstance(value, str) else NO_KIND
    return WHOLE if isinstance(number, int) else FRACTION


def _level(value: Category | None, numbers: bool) -> Category | None:
    if isinstance(value, str) and not numbers:
        return value
    number = _number(value)
    return number if numbers or number is None else str(number)


def _as_float(value: Category | None) -> float:
    """Return the number a plain value is or spells, infinite if so; NaN when there is none."""
    if isinstance(value, float):
        return value
    number = _number(value)
    return math.nan if number is None else float(number)


def _number(value: Category | None) -> Number | None:
    """Return the finite number a plain value is or spells."""
    number = None if value is None else number_of(value)
    near = math.inf if number is None else _nearest(number)
    return _whole_if_so(near) if math.isfinite(near) else None


def _nearest(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
    except ValueError:  # a signalling NaN of Decimal
        return math.nan


def _whole_if_so(number: float) -> Number:
    return int(number) if number.is_integer() else number


def _histogram(
    cells: NDArray[np.int64], counts: NDArray[np.int64], n_cells: int
) -> NDArray[np.int64]:
    totals = np.zeros(n_cells, dtype=np.int64)
    np.add.at(totals, cells[cells >= 0], counts[cells >= 0])
    return totals
