"""Groups: who is one person, in every container; and at most so many records of each are kept."""

from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpforest.exceptions import SchemaError
from dpforest.records.groups import bound_groups, person_codes


def test_when_two_ids_are_the_same_person():
    same = [1, 1.0, True, "1", "1.0", "True", "true", np.int8(1), np.float32(1), Decimal("1.00")]
    assert len(set(person_codes(same).tolist())) == 1
    others = ["01", "+1", " 1", "1e0", "one", "One", 2, -1, "1.5", 0, str(2**53), 2**53 + 1, 2**70]
    assert len(set(person_codes([1, *others]).tolist())) == len(others) + 1


@pytest.mark.parametrize(
    "make",
    [list, np.array, pd.Series, pl.Series, pa.array, lambda ids: pa.chunked_array([ids])]
    + [partial(pd.Series, dtype=dtype) for dtype in ("Int64", "category", "int64[pyarrow]")]
    + [lambda ids: [str(i) for i in ids], lambda ids: pl.Series(ids, dtype=pl.Decimal(30, 0))],
)
def test_integers_are_compared_exactly(make):
    ids = [2**62, 2**62 + 1, -5, 2**62, 0]
    codes = person_codes(make(ids)).tolist()
    assert [codes.index(code) for code in codes] == [0, 1, 2, 0, 4]
    assert len(set(person_codes(np.array([2**63, 2**64 - 1, 1], dtype=np.uint64)).tolist())) == 3


@pytest.mark.parametrize(
    "groups",
    [
        [1, 2.0**53],
        [2**53, 2.0**53],  # equal, whichever comes first
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
        person_codes(groups)
    assert "9007" not in str(caught.value)


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA, "nan", "NaN", ""])
@pytest.mark.parametrize("make", [list, pd.Series, lambda ids: np.array(ids, dtype=object)])
def test_missing_persons_are_refused(make, gap):
    for ids in ([1, gap], ["a", gap]):
        with pytest.raises(SchemaError, match="groups has missing entries"):
            person_codes(make(ids))


def test_every_person_keeps_some_records_and_no_more_than_the_bound():
    rng = np.random.default_rng(0)
    persons = rng.integers(0, 30, 500)
    kept = bound_groups(persons, 500, 4, lambda m, size: rng.integers(0, m, size))
    assert np.bincount(persons[kept]).tolist() == np.minimum(np.bincount(persons), 4).tolist()
    assert (np.diff(kept) > 0).all()
