"""What records say: the same in every container, other for other values."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dpforest.exceptions import SourceChangedError
from dpforest.records.content import Frozen, content_hashes
from dpforest.schema import CategoricalFeature, NumericFeature, Schema, Target
from dpforest.tables.frames import Frame

SCHEMA = Schema(
    (
        NumericFeature("a", 0, 1),
        NumericFeature("b", -1, 1),
        CategoricalFeature("c", ("u", "v")),
    ),
    Target(classes=(0, 1)),
)
A, B, C = [0.25, 0.0, 1.0, np.nan], [1, -1, 0, 1], ["u", "v", "other", None]
Y = np.array([0, 1, 0, 1], np.int32)


W = np.array([0.0, 0.5, 0.5, 1.0])


def hashes(a=A, b=B, c=C, y=Y, w=W, make=pd.DataFrame):
    frame = Frame(make({"c": c, "a": a, "b": b})).select(SCHEMA)
    return content_hashes(frame, SCHEMA, y, 1, w).tolist()


def test_containers_types_and_the_order_of_columns_do_not_matter():
    expected = hashes()
    assert len(set(expected)) == 4
    assert hashes(make=pl.DataFrame) == expected
    assert hashes(b=[float(one) for one in B]) == expected
    assert hashes(b=[str(one) for one in B]) == expected
    assert hashes(a=[0.25, -0.0, 1.0, None]) == expected
    assert hashes(y=Y.astype(np.float64)) == expected
    rows = Frame(np.array([[0.25, 1, 0], [0.0, -1, 1]], object)).select(SCHEMA)
    numbers = Schema((*SCHEMA.features[:2], NumericFeature("c", 0, 1)), SCHEMA.target)
    small = np.array([[0.25, 1, 0], [0.0, -1, 1]])
    mixed, plain = (
        content_hashes(frame.select(numbers), numbers, Y[:2]).tolist()
        for frame in (rows, Frame(small))
    )
    assert mixed == plain


@pytest.mark.parametrize(
    "change",
    [
        {"a": [0.25, 0.0, 0.9999, np.nan]},
        {"b": [1, -1, 1, 1]},
        {"c": ["u", "v", None, None]},
        {"y": np.array([0, 1, 1, 1])},
        {"w": np.array([0.0, 0.5, 0.25, 1.0])},
    ],
)
def test_every_column_counts(change):
    found, expected = hashes(**change), hashes()
    assert [one == other for one, other in zip(found, expected, strict=True)] == [
        True,
        True,
        False,
        True,
    ]


def test_columns_do_not_stand_for_each_other():
    assert hashes(a=[0.0] * 4, b=[1] * 4) != hashes(a=[1.0] * 4, b=[0] * 4)


def test_what_was_frozen_stays():
    frozen, some = Frozen(4), np.arange(4, dtype=np.uint64)
    frozen.check(4)
    frozen.check(4, some)
    frozen.check(4, some)
    late = Frozen(4, Y, W)
    late.check(4, some, Y, W)
    for target, weight in ((Y[::-1], W), (1 - Y, W), (Y, W[::-1])):
        with pytest.raises(SourceChangedError):
            late.check(4, some, target, weight)
    for n_rows, other in ((3, None), (5, some), (4, some[::-1]), (4, some + 1)):
        with pytest.raises(SourceChangedError, match="changed during the fit"):
            frozen.check(n_rows, other)
