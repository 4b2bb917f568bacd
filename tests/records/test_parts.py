from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpforest.exceptions import SchemaError
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.records.parts import held_out, rows_of


def coins(m, size):
    """The same coin for a record wherever it stands before others."""
    return np.random.default_rng(0).integers(0, m, 1000)[:size]


def test_a_record_has_its_part_whoever_comes_after_it():
    small = held_out(100, None, Fraction(1, 5), coins)
    large = held_out(300, None, Fraction(1, 5), coins)
    assert (large[:100] == small).all()
    assert small.any()
    assert not small.all()


def test_parts_follow_the_coins_and_nothing_else():
    for side, out in ((0, True), (1, True), (2, False), (4, False)):
        found = held_out(7, None, Fraction(2, 5), lambda m, size, side=side: np.full(size, side))
        assert (found == out).all()


def test_parts_have_their_share():
    # 5 standard errors.
    out = held_out(100_000, None, Fraction(1, 5), Draws(0).below)
    assert abs(out.mean() - 0.2) < 5 * np.sqrt(0.2 * 0.8 / 100_000)


def test_all_records_of_a_person_are_in_one_part_and_persons_have_their_share():
    groups = np.repeat(np.arange(20_000), 3)
    groups = groups[np.random.default_rng(1).permutation(len(groups))]
    out = held_out(len(groups), groups, Fraction(1, 5), Draws(0).below)
    by_person = pd.Series(out).groupby(groups).agg(["min", "max", "mean"])
    assert (by_person["min"] == by_person["max"]).all()
    assert abs(by_person["mean"].mean() - 0.2) < 5 * np.sqrt(0.2 * 0.8 / 20_000)


def test_the_part_of_a_person_does_not_depend_on_others():
    groups = ["a", "b", "a", "c", "b"]
    fewer = held_out(5, groups, Fraction(1, 2), coins)
    more = held_out(8, [*groups, "z", "z", "y"], Fraction(1, 2), coins)
    assert (more[:5] == fewer).all()


def test_persons_and_rows_must_match():
    with pytest.raises(SchemaError, match="one entry a row"):
        held_out(3, [1, 2], Fraction(1, 2), coins)


TABLE = {"a": [1, 2, 3], "b": ["x", None, "z"]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_rows_stay_in_their_container(make):
    table = make(TABLE)
    found = rows_of(table, np.array([0, 2]))
    assert type(found) is type(table)
    expected = make({"a": [1, 3], "b": ["x", "z"]})
    if make is pd.DataFrame:
        assert (found.to_numpy() == expected.to_numpy()).all()
    else:
        assert found.equals(expected)


@pytest.mark.parametrize("make", [pd.Series, pl.Series, np.array, list, tuple])
def test_rows_of_columns(make):
    found = rows_of(make([5, 6, 7]), np.array([0, 2]))
    assert list(found) == [5, 7]
    assert rows_of(None, np.array([0])) is None


def test_a_list_keeps_the_type_of_every_value():
    assert rows_of([[1, "a"], [2.5, None]], np.array([1])) == [[2.5, None]]
