"""Bound what one person can contribute: keep at most so many records of each group.

**Who is one person.** Whole numbers, and texts as Python or a container writes them, are the same
person when they are the same number: 1, 1.0, True, "1", "1.0" and "True". Other texts are the same
when they are equal; "01" is another person than "1". Integers are compared exactly, however large.
Floats that are fractions, or so large that a container may have rounded an integer to them (from
2**53 on; 2**24 in float32), are refused: as texts or integers such ids are safe.

**Why that must not depend on the table.** Let p(v) be the person of the id v. Let D' be D and the
records of one person more, and let a person keep at most m records, chosen by a secret key and by
what that person's own records are (`kept_rows`). While p is a function of v alone, the partition of
D into persons is the same within D': under the same key every person of D keeps the same records in
both tables, so the kept records differ in those of the one person, at most m. This is what the
ledger pays for, under every key; the key is drawn in the same way for all tables. How choices of
different persons hang together does not matter.

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
from hashlib import blake2b
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.records.coins import Addresses, Coins
from dpforest.schema.categories import is_missing
from dpforest.tables.columns import as_column

_MOST_DIGITS = 4001  # of whole numbers; longer texts are texts, and longer numbers refused
_WHOLE_NUMBER = re.compile(rf"(-?(?:0|[1-9][0-9]{{0,{_MOST_DIGITS - 1}}}))(\.0+)?")
_TOO_LONG = 10**_MOST_DIGITS
_FLOAT_WITH_EXPONENT = re.compile(r"-?[0-9](\.[0-9]+)?e\+[0-9]+|-?inf")
_TRUTHS = {"True": 1, "true": 1, "False": 0, "false": 0}


def bound_groups(
    groups: Any,
    addresses: Addresses,
    max_records_per_group: int,
    coins: Coins,
) -> NDArray[np.int64]:
    """The rows to keep: of each group a uniformly random choice of at most so many records.

    Parameters
    ----------
    groups : array-like, shape (n_rows,)
        The person, household or account of each record: numbers or strings.
    addresses : ndarray of uint64, shape (n_rows,)
        Of the records: what they say (`content.content_hashes`), or their places.
    max_records_per_group : int
        The most that one group may keep.
    coins : Coins
        The source of the tickets.

    Returns
    -------
    ndarray of int64
        Row numbers, ascending.
    """
    persons = person_keys(groups)
    if len(persons) != len(addresses):
        raise SchemaError("groups must have one entry a row of X: pass the column of the person")
    return kept_rows(persons, addresses, max_records_per_group, coins)


def kept_rows(
    persons: NDArray[np.uint64], addresses: Addresses, most: int, coins: Coins
) -> NDArray[np.int64]:
    """The rows of those records, of each person at most so many, that have the lowest tickets.

    All records of a person must be here, other persons need not. A ticket is a coin of the record's
    address and of its number among the person's records of the same address: records that say the
    same have different tickets, and it does not matter which has which. So what is kept depends on
    the person's records and the key alone: not on their order, on other persons, or on where the
    choice is made.
    """
    order = np.lexsort((addresses, persons))
    turns = np.empty(len(order), np.uint64)
    turns[order] = _ranks(persons[order], addresses[order])
    tickets = coins.below(2**62, addresses, turns)
    order = np.lexsort((tickets, persons))
    kept: NDArray[np.int64] = order[_ranks(persons[order]) < most]
    return np.sort(kept)


def _ranks(*keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The place of each entry in its run of entries with equal keys."""
    n = len(keys[0])
    changes: NDArray[np.bool_] = np.zeros(max(n - 1, 0), np.bool_)
    for key in keys:
        changes |= key[1:] != key[:-1]
    starts = np.r_[0, np.flatnonzero(changes) + 1]
    before: NDArray[np.int64] = np.repeat(starts, np.diff(np.r_[starts, n]))
    return np.arange(n) - before


def person_keys(groups: Any) -> NDArray[np.uint64]:
    """A number for each record: equal for two records when they are of one person.

    It follows from the id alone, in whatever table or part of one it stands. Whole numbers of 64
    bits are themselves; others and texts are hashed to 64 bits. Should two be hashed to the same,
    they are one person in every table: that takes records away, and costs no privacy.

    Examples
    --------
    >>> keys = person_keys([7, "7", "07", 7.0, 2**53, 2**53 + 1, "7.0"])
    >>> np.unique(keys, return_inverse=True)[1].tolist()
    [0, 0, 3, 0, 1, 2, 0]
    """
    column = as_column(groups, "groups", exact=True)
    numbers = column.number_array()
    if numbers is not None:
        if numbers.dtype.kind == "f":
            _require_exact(numbers)
        if numbers.dtype != np.uint64 or numbers.max(initial=0) < 2**63:
            return numbers.astype(np.int64).view(np.uint64)
    codes, distinct = column.factors()
    if (codes < 0).any() or any(map(is_missing, distinct)):
        raise _missing_error()
    return np.array([_key(_person(value)) for value in distinct], np.uint64)[codes]


def _key(person: int | str) -> int:
    if isinstance(person, int) and -(2**63) <= person < 2**63:
        return person % 2**64
    text = f"{type(person).__name__} {person}"
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


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
        if value.adjusted() >= _MOST_DIGITS:  # Python would write out all of them
            raise _endless_error()
    elif isinstance(value, Rational) and value.denominator != 1:
        raise _inexact_error()
    number = int(value)
    if abs(number) >= _TOO_LONG:
        raise _endless_error()
    return number


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


def _endless_error() -> SchemaError:
    return SchemaError(
        f"groups has numbers of more than {_MOST_DIGITS} digits, which are no ids: pass texts"
    )
