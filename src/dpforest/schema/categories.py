"""What a value means, and when it means the same as a declared category.

How a value is read is a function of that value and the schema alone: never of the type of the
container it came in, of other values or of their order. So one record cannot change how another
one is read, which every sensitivity in this library takes for granted.

**Missing** are None, NaN, NaT, pandas' NA and the texts "nan" and "NaN", which NumPy and polars
make of NaN among texts; the empty text is missing unless it is a declared category.

**A number** means the double nearest to it, whatever type it came in: int, float32, Decimal, bool,
or a text that spells it. "true" and "false" in any case are 1 and 0; spaces around do not matter.

**A category** is found by the same text. Else by number: a value finds the category whose number,
as a double, is the same ("1", 1.0 and True find 1, "1" and "01"); where several texts spell the
number, the plain spelling ("1" rather than "01") wins, then the first. Else, when the category is
a fraction, by what float32 makes of it: 0.10000000149011612, the double of float32's 0.1, finds
0.1. Categories that some value could not tell apart are refused: `check_categories`.
"""

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from dpforest.exceptions import SchemaError

Category = str | int | float | bool
Number = int | float

_TRUTHS = {"true": 1.0, "false": 0.0}
_WRITTEN_NUMBER = re.compile(
    r"-?(0|[1-9][0-9]*)(\.0|\.[0-9]*[1-9])?(e[+-]?[0-9]+)?|-?inf|[Tt]rue|[Ff]alse"
)


def is_missing(value: object) -> bool:
    """Tell whether it is None, NaN, NaT, pandas' NA, or a text for them: "nan", "NaN", or empty."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return value in ("", "nan", "NaN")
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, float | np.floating) and bool(value != value)


def double_of(value: object) -> float | None:
    """Return the double nearest to the number a value is or spells; None when there is none.

    Examples
    --------
    >>> [double_of(value) for value in (2**53 + 1, "1.50", True, Decimal("0.1"), "one")]
    [9007199254740992.0, 1.5, 1.0, 0.1, None]
    """
    if isinstance(value, str):
        truth = _TRUTHS.get(value.strip().lower())
        # Python reads "1_000" as a number; no table writes it so.
        if truth is not None or "_" in value:
            return truth
    elif not isinstance(value, Real | Decimal | np.bool_) or isinstance(value, np.timedelta64):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    except ValueError:
        return None


def number_of(value: object) -> Number | None:
    """Return the finite number a value is or spells, integers exactly; None when there is none."""
    double = double_of(value)
    if double is None or not math.isfinite(double):
        return None
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return double
    return int(value) if isinstance(value, int | np.integer | np.bool_) else double


class CategoryIndex:
    """Positions of values in a list of categories, by the rule of this module.

    Examples
    --------
    >>> index = CategoryIndex(("no", "1", 2, 0.1))
    >>> [index.position(value) for value in ("no", 1.0, "2", True, np.float32(0.1), "3")]
    [0, 1, 2, 1, 3, -1]
    """

    def __init__(self, categories: Sequence[Category]) -> None:
        self._texts = {text: at for at, text in enumerate(categories) if isinstance(text, str)}
        doubles = [(double_of(category), at) for at, category in enumerate(categories)]
        spelt = [(double, at) for double, at in doubles if double is not None]
        plain = [(double, at) for double, at in spelt if is_plain(categories[at])]
        self.numbers: dict[float, int] = {}
        """Where to find each number that finds a category."""
        for double, at in [*plain, *spelt]:
            self.numbers.setdefault(double, at)
        for double, at in list(self.numbers.items()):
            for rounded in _in_float32(double):
                self.numbers.setdefault(rounded, at)

    def position(self, value: object) -> int:
        """Return the position of the category that the value finds, or -1."""
        if isinstance(value, str) and value in self._texts:
            return self._texts[value]
        double = double_of(value)
        return -1 if double is None else self.numbers.get(double, -1)


def is_plain(category: Category) -> bool:
    """Tell whether it is a number, or a text as Python or a container writes a number.

    Examples
    --------
    >>> [is_plain(category) for category in (1, "1", "1.0", "true", "1e-7", "01", "1.10", "a")]
    [True, True, True, True, True, False, False, False]
    """
    return not isinstance(category, str) or _WRITTEN_NUMBER.fullmatch(category) is not None


def _in_float32(number: float) -> tuple[float, ...]:
    """Return what float32 makes of a fraction, as a number and as it is written among texts.

    Whole numbers and what float32 makes whole stay out: 16777217 must not be found by 16777216.
    """
    if not math.isfinite(number) or number.is_integer():
        return ()
    rounded = np.float32(number)
    return () if float(rounded).is_integer() else (float(rounded), float(str(rounded)))


def distinguishable(values: Iterable[Category]) -> tuple[Category, ...]:
    """Leave out missing values, and those that some value could not tell from one before.

    For categories that are read off the records: those that are declared are checked instead.

    Examples
    --------
    >>> distinguishable(("1", "01", "1.0", True, 0.1, 0.1 + 1e-12, "nan"))
    ('1', '01', 0.1)
    """
    kept: list[Category] = []
    texts, plain, rounded = set[str](), set[float](), dict[float, float]()
    for value in values:
        double = double_of(value)
        written = double is not None and is_plain(value)
        in_float32 = () if double is None else _in_float32(double)[:1]
        if (
            (is_missing(value) and value != "")
            or value in texts
            or (written and double in plain)
            or any(rounded.get(number, double) != double for number in in_float32)
        ):
            continue
        kept.append(value)
        if isinstance(value, str):
            texts.add(value)
        if double is not None:
            plain |= {double} if written else set()
            rounded |= dict.fromkeys(in_float32, double)
    return tuple(kept)


def check_categories(values: Any, where: str, field: str) -> tuple[Category, ...]:
    """Validate a list of categories or classes; NumPy scalars become Python ones.

    Some value could not tell the categories apart when two are the same text, the same number as a
    double and both written as containers write numbers (1, True, "1" and "1.0"; 2**53 and
    2**53 + 1), or different fractions that are one in float32.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise SchemaError(f"{where}: '{field}' must be a list of texts, numbers or booleans")
    categories = tuple(v.item() if isinstance(v, np.generic) else v for v in values)
    if not categories:
        raise SchemaError(f"{where}: '{field}' is empty; list at least one value")
    for category in categories:
        _check_category(category, where, field)
    if len(distinguishable(categories)) < len(categories):
        raise SchemaError(
            f"{where}: '{field}' must differ from each other in every type of column; note that "
            "1, 1.0, True, '1' and '1.0' mean the same, that whole numbers from 2**53 on must "
            "differ in double precision and fractions in single precision: leave one of them out, "
            "or make texts of them that spell no number, such as 'id 1'"
        )
    return categories


def _check_category(category: object, where: str, field: str) -> None:
    if not isinstance(category, str | int | float):
        raise SchemaError(
            f"{where}: '{field}' may hold texts, numbers and booleans, "
            f"not {type(category).__name__}; missing values need no entry of their own"
        )
    infinite = not isinstance(category, str) and not math.isfinite(double_of(category) or 0.0)
    if infinite or (is_missing(category) and category != ""):
        raise SchemaError(
            f"{where}: '{field}' may not hold NaN or infinity, nor the texts 'nan' and 'NaN', "
            "which mean a missing value; missing values need no entry of their own"
        )
