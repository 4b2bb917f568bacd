"""Bound what one person can contribute: keep at most so many records of each group.

**Who is one person.** Whole numbers, and texts as Python or a container writes them, are the same
person when they are the same number: 1, 1.0, True, "1", "1.0" and "True". Other texts are the same
when they are equal; "01" is another person than "1". Integers are compared exactly, however large.
Floats that are fractions, or so large that a container may have rounded an integer to them (from
2**53 on; 2**24 in float32), are refused: as texts or integers such ids are safe.

**Why that must not depend on the table.** Let p(v) be the person of the id v. Let D' be D and the
records of one person more, and let a person keep at most m records, chosen by tickets that records
draw independently. While p is a function of v alone, the partition of D into persons is the same
within D': every person of D keeps records by the same law in both tables, so with the same tickets
the kept records differ in those of the one person, at most m. This is what the ledger pays for.

Were p to depend on the table, so that adding a person's records changes it for others:

- *merging* k persons into one takes away up to (k - 1) m records that D keeps: all of them when
  one odd id rounds all others together;
- *splitting* a person into k adds as many.

Either way the tables differ in more than m records, by a number with no bound but that of the
records, and so does the loss.
"""

from __future__ import annotations

import re
from decimal import Decimal
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.records.store import DrawBelow
from dpforest.schema.categories import is_missing
from dpforest.tables.columns import as_column

_WHOLE_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]{0,4000}))(\.0+)?")
_FLOAT_WITH_EXPONENT = re.compile(r"-?[0-9](\.[0-9]+)?e\+[0-9]+|-?inf")
_TRUTHS = {"True": 1, "true": 1, "False": 0, "false": 0}


def bound_groups(
    groups: Any, n_rows: int, max_records_per_group: int, draw: DrawBelow
) -> NDArray[np.int64]:
    """The rows to keep: of each group a uniformly random choice of at most so many records.

    Every record draws a ticket of its own and a group keeps its lowest tickets. Which records of a
    group are kept depends on that group alone, so that two tables that differ in one group differ,
    after the choice, in at most ``max_records_per_group`` records.

    Parameters
    ----------
    groups : array-like, shape (n_rows,)
        The person, household or account of each record: numbers or strings.
    n_rows : int
        The number of records.
    max_records_per_group : int
        The most that one group may keep.
    draw : callable
        The source of the tickets.

    Returns
    -------
    ndarray of int64
        Row numbers, ascending.
    """
    codes = person_codes(groups)
    if len(codes) != n_rows:
        raise SchemaError("groups must have one entry a row of X: pass the column of the person")
    tickets = draw(2**62, n_rows)
    order = np.lexsort((tickets, codes))
    sorted_codes = codes[order]
    starts = np.flatnonzero(np.r_[True, sorted_codes[1:] != sorted_codes[:-1]])
    sizes = np.diff(np.r_[starts, n_rows])
    rank = np.arange(n_rows) - np.repeat(starts, sizes)
    return np.sort(order[rank < max_records_per_group])


def person_codes(groups: Any) -> NDArray[np.int64]:
    """A number for each record: equal for two records just when they are of one person.

    Examples
    --------
    >>> person_codes([7, "7", "07", 7.0, 2**53, 2**53 + 1, "7.0"]).tolist()
    [0, 0, 1, 0, 2, 3, 0]
    """
    column = as_column(groups, "groups", exact=True)
    numbers = column.number_array()
    if numbers is not None:
        if numbers.dtype.kind == "f":
            _require_exact(numbers)
        # From uint64 this wraps around, and different numbers stay different.
        return numbers.astype(np.int64)
    codes, distinct = column.factors()
    if (codes < 0).any() or any(map(is_missing, distinct)):
        raise _missing_error()
    persons = [_person(value) for value in distinct]
    place = {person: code for code, person in enumerate(dict.fromkeys(persons))}
    return np.array([place[person] for person in persons], dtype=np.int64)[codes]


def _require_exact(numbers: NDArray[np.floating[Any]]) -> None:
    """Raise SchemaError unless all are whole numbers that a container cannot have rounded."""
    if np.isnan(numbers).any():
        raise _missing_error()
    largest = np.abs(numbers).max(initial=0)
    if not largest < _exact_below(numbers.dtype) or (numbers != np.floor(numbers)).any():
        raise _inexact_error()


def _exact_below(dtype: np.dtype[Any]) -> float:
    """The power of two up to which all whole numbers are different floats."""
    return float(2.0 ** min(np.finfo(dtype).nmant + 1, 53))


def _person(value: Any) -> int | str:
    """Return the whole number or text that stands for all ids of the same person."""
    if isinstance(value, str):
        return _person_of_text(value)
    if isinstance(value, float | np.floating):
        _require_exact(np.asarray(value))
    elif isinstance(value, Decimal):
        if not value.is_finite() or value != value.to_integral_value():
            raise _inexact_error()
    elif isinstance(value, Rational) and value.denominator != 1:
        raise _inexact_error()
    return int(value)


def _person_of_text(text: str) -> int | str:
    if text in _TRUTHS:
        return _TRUTHS[text]
    if _FLOAT_WITH_EXPONENT.fullmatch(text):
        return _person(float(text))
    whole = _WHOLE_NUMBER.fullmatch(text)
    if whole is None:
        return text
    number = int(whole[1])
    if whole[2] == ".0" and abs(number) >= 2**53:
        raise _inexact_error()
    return number


def _missing_error() -> SchemaError:
    return SchemaError(
        "groups has missing entries: every record needs a group; give records of unknown "
        "persons a group of their own, or drop them"
    )


def _inexact_error() -> SchemaError:
    return SchemaError(
        "groups has floats that are no exact ids: fractions, or numbers so large that different "
        "ids may have been rounded to the same (from 2**53 on; from 2**24 in float32); pass the "
        "ids as integers or as texts, from before they became floats"
    )
