"""A weight is read by itself, in units of its public bound."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest import SchemaError
from dpforest.records.weights import read_weights

SIZES = st.floats(0, 1e300, allow_nan=False) | st.integers(0, 10**6)


@given(st.lists(SIZES, min_size=1, max_size=8), SIZES, st.floats(1e-6, 1e6))
def test_a_weight_is_from_0_to_1_and_no_other_record_changes_it(weights, odd, bound):
    found = read_weights(weights, len(weights), bound)
    assert ((found >= 0) & (found <= 1)).all()
    more = read_weights([*weights, odd], len(weights) + 1, bound)
    np.testing.assert_array_equal(more[:-1], found)


@pytest.mark.parametrize(
    "weights",
    [
        [0, 1, 3],
        np.array([0, 1, 3], np.uint8),
        np.array([0, 1, 3], np.float32),
        pd.Series([0, 1, 3], index=[7, 8, 9]),
        pd.Series([0, 1, 3], dtype="Int64"),
        pl.Series([0, 1, 3]),
        pa.array([0, 1, 3]),
        ["0", "1", "3"],
    ],
)
def test_all_containers_are_read_alike(weights):
    assert read_weights(weights, 3, 2.0).tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("bad", [math.nan, None, -0.5, math.inf, -math.inf])
def test_what_is_no_weight_is_refused_and_not_quoted(bad):
    with pytest.raises(SchemaError, match="missing, infinite or negative") as caught:
        read_weights([1.0, bad], 2, 1.0)
    assert "0.5" not in str(caught.value)


def test_every_record_has_a_weight():
    with pytest.raises(SchemaError, match="one number a row"):
        read_weights([1.0, 2.0], 3, 1.0)
