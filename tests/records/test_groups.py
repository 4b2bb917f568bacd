"""Groups: who is one person, in every container; and at most so many records of each are kept."""

import math
from collections import Counter
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpforest.exceptions import SchemaError
from dpforest.privacy.mechanisms.coins import CoinsInOrder
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.records.groups import bound_groups, kept_rows, person_keys


def test_when_two_ids_are_the_same_person():
    same = [1, 1.0, True, "1", "1.0", "True", "true", np.int8(1), np.float32(1), Decimal("1.00")]
    assert len(set(person_keys(same).tolist())) == 1
    others = ["01", "+1", " 1", "1e0", "one", "One", 2, -1, "1.5", 0, str(2**53), 2**53 + 1, 2**70]
    assert len(set(person_keys([1, *others]).tolist())) == len(others) + 1


@pytest.mark.parametrize(
    "make",
    [list, np.array, pd.Series, pl.Series, pa.array, lambda ids: pa.chunked_array([ids])]
    + [partial(pd.Series, dtype=dtype) for dtype in ("Int64", "category", "int64[pyarrow]")]
    + [lambda ids: [str(i) for i in ids], lambda ids: pl.Series(ids, dtype=pl.Decimal(30, 0))],
)
def test_integers_are_compared_exactly(make):
    ids = [2**62, 2**62 + 1, -5, 2**62, 0]
    codes = person_keys(make(ids)).tolist()
    assert [codes.index(code) for code in codes] == [0, 1, 2, 0, 4]
    assert len(set(person_keys(np.array([2**63, 2**64 - 1, 1], dtype=np.uint64)).tolist())) == 3


@pytest.mark.parametrize(
    "groups",
    [
        [1, 2.0**53],
        [2**53, 2.0**53],  # equal, whichever comes first
        pd.Series([2**53, 2.0**53], dtype=object),
        np.array([0.5, 1.0]),
        [Decimal("0.5"), 1],
        ["a", "9007199254740992.0"],
        ["a", "1e+16"],
        np.array([2**24], dtype=np.float32),
        [np.float32(2**24), "a"],
        np.array([2**11], dtype=np.float16),
        pd.Series([2**53 + 1, 1.0]),
        pl.Series([2**53 + 1, 1.0], strict=False),
    ],
)
def test_floats_that_may_have_been_rounded_are_refused(groups):
    with pytest.raises(SchemaError, match=r"no exact ids.*as integers or as texts") as caught:
        person_keys(groups)
    assert "9007" not in str(caught.value)


def test_numbers_without_end_are_refused():
    for endless in (Decimal("1E+999999"), Decimal("-1E+999999999"), 10**5000, -(10**4001)):
        for others in ([1], ["a"]):
            with pytest.raises(SchemaError, match="more than 4001 digits"):
                person_keys([endless, *others])


def test_the_longest_ids_are_found():
    longest = 10**4001 - 1
    keys = person_keys([longest, Decimal(10) ** 4000, 10**4000, str(10**4000), "1" + "0" * 5000])
    assert keys[1] == keys[2] == keys[3]
    assert len(set(keys.tolist())) == 3


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA, "nan", "NaN", ""])
@pytest.mark.parametrize("make", [list, pd.Series, lambda ids: np.array(ids, dtype=object)])
def test_missing_persons_are_refused(make, gap):
    for ids in ([1, gap], ["a", gap]):
        with pytest.raises(SchemaError, match="groups has missing entries"):
            person_keys(make(ids))


def test_every_person_keeps_some_records_and_no_more_than_the_bound():
    rng = np.random.default_rng(0)
    persons = rng.integers(0, 30, 500)
    kept = bound_groups(persons, places(500), 4, Draws(0).coins())
    assert np.bincount(persons[kept]).tolist() == np.minimum(np.bincount(persons), 4).tolist()
    assert (np.diff(kept) > 0).all()


def places(n):
    return np.arange(n, dtype=np.uint64)


def coins_of(*tickets):
    """Tickets that are given, one a record."""

    def draw(m, size):
        assert (m, size) == (2**62, len(tickets))
        return np.array(tickets)

    return CoinsInOrder(draw, None)


def test_a_person_keeps_the_records_of_the_lowest_tickets():
    persons = ["a", "b", "a", "a", "b", "c"]
    kept = bound_groups(persons, places(6), 2, coins_of(9, 2, 1, 5, 7, 8))
    assert kept.tolist() == [1, 2, 3, 4, 5]  # 9 is the highest of a's three
    assert bound_groups(persons, places(6), 1, coins_of(9, 2, 1, 5, 7, 8)).tolist() == [1, 2, 5]
    assert bound_groups(persons, places(6), 9, coins_of(9, 2, 1, 5, 7, 8)).tolist() == list(
        range(6)
    )


@pytest.mark.parametrize("most", [1, 2, 3])
def test_what_others_keep_does_not_change_when_a_person_joins(most):
    """With the same tickets, two tables differ in the records of the one person, at most so many.

    The same tables with all but one person, for each of them, wherever their records are.
    """
    rng = np.random.default_rng(3)
    persons, tickets = rng.integers(0, 6, 40), rng.permutation(40)
    kept = set(bound_groups(persons, places(40), most, coins_of(*tickets)).tolist())
    for one in range(6):
        others = np.flatnonzero(persons != one)
        without = bound_groups(
            persons[others], places(len(others)), most, coins_of(*tickets[others])
        )
        assert set(others[without].tolist()) == {row for row in kept if persons[row] != one}
        assert len(kept) - len(without) == min(most, (persons == one).sum())


@pytest.mark.parametrize("addresses", [[0, 1, 2, 3], [9, 9, 9, 9], [7, 7, 9, 9]])
def test_every_choice_among_a_persons_records_is_as_likely(addresses):
    """2 of 4 records in 3,000 draws: each of the 6 pairs within 5 standard errors.

    Whether or not some of the records say the same.
    """
    draws, address = Draws(4), np.array(addresses, np.uint64)
    pairs = Counter(
        tuple(bound_groups([5] * 4, address, 2, draws.coins()).tolist()) for _ in range(3_000)
    )
    assert len(pairs) == 6
    assert max(abs(count - 500) for count in pairs.values()) < 5 * math.sqrt(3_000 * 5 / 36)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_what_is_kept_does_not_depend_on_order_or_on_other_persons(most):
    """The same records in another order, and each person by itself, under the same key."""
    rng = np.random.default_rng(5)
    persons = rng.integers(0, 12, 200).astype(np.uint64)
    contents = rng.integers(0, 4, 200).astype(np.uint64)
    coins = Draws(6).coins()

    def kept(rows):
        chosen = rows[kept_rows(persons[rows], contents[rows], most, coins)]
        return Counter(zip(persons[chosen].tolist(), contents[chosen].tolist(), strict=True))

    every = kept(np.arange(200))
    assert kept(rng.permutation(200)) == every
    alone = Counter()
    for person in range(12):
        alone += kept(np.flatnonzero(persons == person))
    assert alone == every


def test_a_key_follows_from_the_id_alone():
    """In whatever part of a table, beside whatever others, in whatever container."""
    ids = [5, "5", "anna", -(2**63), 2**63, "anna", 2**70]
    together = person_keys(ids)
    assert [int(person_keys([one])[0]) for one in ids] == together.tolist()
    assert person_keys(np.array([5]))[0] == person_keys(pl.Series(["5"]))[0] == together[0]


@pytest.mark.parametrize("n_rows", [3, 5])
def test_a_column_of_another_length_is_refused(n_rows):
    with pytest.raises(SchemaError, match="one entry a row"):
        bound_groups([1, 2, 3, 4], places(n_rows), 1, coins_of())
