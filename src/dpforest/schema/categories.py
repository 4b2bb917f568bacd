"""When a declared category and a value in the data mean the same thing.

The same column arrives as text from one reader and as numbers from another, so categories match
by meaning. Two texts match when they are equal. Everything else matches by number: an integer, a
float and a boolean are numbers, a text is the number it spells ("1", "1.0"), and "true" and
"false" in any case are 1 and 0. Where several categories spell the number, the plain spelling
("1" rather than "01") wins, then the first.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dpforest.exceptions import SchemaError

Category = str | int | float | bool
Number = int | float


def number_of(value: object) -> Number | None:
    """Return the finite number a value is or spells; None when there is none."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return _spelt_number(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float) and math.isfinite(value):
        return value
    return None


def _spelt_number(text: str) -> Number | None:
    truth = {"true": 1, "false": 0}.get(text.lower())
    # Python reads "1_000" and " 1 " as numbers; no table writes them so.
    if truth is not None or "_" in text or text != text.strip():
        return truth
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def is_missing(value: object) -> bool:
    """Tell whether it is None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating) and bool(value != value)


class CategoryIndex:
    """Positions of values in a list of categories, by the rule of this module.

    Examples
    --------
    >>> index = CategoryIndex(("no", "1", 2))
    >>> [index.position(value) for value in ("no", 1.0, "2", True, "3")]
    [0, 1, 2, 1, -1]
    """

    def __init__(self, categories: Sequence[Category]) -> None:
        self._texts: dict[str, int] = {}
        self._any_numbers: dict[Number, int] = {}
        self._true_numbers: dict[Number, int] = {}
        for position, category in enumerate(categories):
            number = number_of(category)
            if isinstance(category, str):
                self._texts[category] = position
            elif number is not None:
                self._true_numbers.setdefault(number, position)
            if number is not None:
                plain = not isinstance(category, str) or category == str(number)
                if plain or number not in self._any_numbers:
                    self._any_numbers[number] = position

    @property
    def numbers(self) -> dict[Number, int]:
        """Position of each number the categories are or spell."""
        return self._any_numbers

    def position(self, value: object) -> int:
        """Return the position of the category that matches, or -1."""
        if isinstance(value, str):
            found = self._texts.get(value, -1)
            if found >= 0 or not self._true_numbers:
                return found
            number = number_of(value)
            return -1 if number is None else self._true_numbers.get(number, -1)
        number = number_of(value)
        return -1 if number is None else self._any_numbers.get(number, -1)


def check_categories(values: Any, where: str, field: str) -> tuple[Category, ...]:
    """Validate a list of categories or classes; NumPy scalars become Python ones."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise SchemaError(f"{where}: '{field}' must be a list of texts, numbers or booleans")
    categories = tuple(v.item() if isinstance(v, np.generic) else v for v in values)
    if not categories:
        raise SchemaError(f"{where}: '{field}' is empty; list at least one value")
    for category in categories:
        if not isinstance(category, str | int | float):
            raise SchemaError(
                f"{where}: '{field}' may hold texts, numbers and booleans, "
                f"not {type(category).__name__}; missing values need no entry of their own"
            )
        if isinstance(category, float) and not math.isfinite(category):
            raise SchemaError(
                f"{where}: '{field}' may not hold NaN or infinity; "
                "missing values need no entry of their own"
            )
    _check_distinct(categories, where, field)
    return categories


def _check_distinct(categories: tuple[Category, ...], where: str, field: str) -> None:
    texts = {category for category in categories if isinstance(category, str)}
    others = [category for category in categories if not isinstance(category, str)]
    spelt = {number_of(text) for text in texts}
    if len(texts) + len(set(others)) < len(categories) or any(o in spelt for o in others):
        raise SchemaError(
            f"{where}: '{field}' must differ from each other; note that 1, 1.0, True and '1' "
            "mean the same"
        )
