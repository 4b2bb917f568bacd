"""Columns of Python values, from lists and columns of objects: each value is read by itself."""

from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.schema.categories import double_of, is_missing

_TIMES = (np.datetime64, np.timedelta64)
_MISSING_TYPES = ("NAType", "NaTType")


def odd_values_error(label: str) -> TypeError:
    """Return the error for values that are neither texts nor numbers."""
    return TypeError(
        f"column {label}: argument must be a string or a number; dates, lists, dictionaries and "
        "other objects are not supported: convert them"
    )


def check_values(values: Sequence[Any], label: str) -> set[type]:
    """Return the types of the values; TypeError when one is no text, number, boolean or missing."""
    types = set(map(type, values))
    for kind in types:
        if issubclass(kind, _TIMES):
            if not all(is_missing(value) for value in values if isinstance(value, kind)):
                raise odd_values_error(label)
        elif kind.__name__ not in _MISSING_TYPES and not issubclass(
            kind, str | Real | Decimal | np.bool_ | NoneType
        ):
            raise odd_values_error(label)
    return types


def factorise(values: Sequence[Any], label: str) -> tuple[NDArray[np.int64], list[Any]]:
    """Return codes into a list of distinct values, missing ones among them.

    Examples
    --------
    >>> codes, distinct = factorise(["a", 1, "a", True, None], "x")
    >>> codes.tolist(), distinct
    ([0, 1, 0, 2, 3], ['a', 1, True, None])
    """
    keys: Sequence[Any] = values
    types = check_values(values, label)
    typed = sum(not issubclass(kind, str) for kind in types) > 1
    if typed:
        # 1, 1.0 and True are equal, and the first to come would stand for all of them.
        keys = list(zip(map(type, values), values, strict=True))
    try:
        place = {key: code for code, key in enumerate(dict.fromkeys(keys))}
    except TypeError:
        raise odd_values_error(label) from None
    codes = np.fromiter(map(place.__getitem__, keys), np.int64, len(values))
    return codes, [value for _, value in place] if typed else list(place)


def doubles_of(values: Sequence[Any], label: str) -> NDArray[np.float64]:
    """Return the double each value means, NaN where missing; SchemaError where it means none.

    Examples
    --------
    >>> doubles_of([1, "2.5", None, True, ""], "x").tolist()
    [1.0, 2.5, nan, 1.0, nan]
    """
    types = check_values(values, label)
    if all(issubclass(kind, Real | np.bool_ | NoneType) for kind in types):
        try:
            # NumPy converts one by one, as `double_of` does, and None to NaN.
            with np.errstate(over="ignore"):
                return np.array(values, dtype=np.float64)
        except OverflowError:
            pass  # an integer beyond all doubles: `double_of` makes infinity of it
    codes, distinct = factorise(values, label)
    doubles = [np.nan if is_missing(value) else double_of(value) for value in distinct]
    if any(double is None for double in doubles):
        raise SchemaError(
            f"column {label}: the schema says numeric, but it holds texts that are no numbers "
            "(decimals have a point); mark missing values as empty (NaN, None), or declare the "
            "feature categorical"
        ) from None
    return np.array(doubles, dtype=np.float64)[codes]
