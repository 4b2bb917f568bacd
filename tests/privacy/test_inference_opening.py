"""The way into a paid schema: who is protected, which records count, which types are declared."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.inference_opening import bounded, declared_types, protection_of, read_columns
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.schema import NumericFeature, Schema

N = 4000


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(0)
    return {
        "age": rng.integers(18, 91, N),
        "tiny": rng.uniform(1e-7, 2e-7, N),
        "colour": rng.choice(["red", "green", "blue"], N, p=[0.6, 0.3, 0.1]),
        "member": rng.random(N) < 0.5,
        "ill": rng.choice(["no", "yes"], N),
    }


@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
def test_who_is_protected(neighbors):
    assert protection_of(neighbors, None, None) == Protection(neighbors)
    assert protection_of(neighbors, [1], 3) == Protection(neighbors, "group", 3)
    for groups, most in (([1], None), (None, 3)):
        with pytest.raises(ValueError, match="go together"):
            protection_of(neighbors, groups, most)


@pytest.mark.parametrize("most", [1, 2, 5])
def test_of_each_person_so_many_records_are_left_in_every_column(most):
    persons = np.repeat([7, 8, 9], [5, 2, 1])
    table = pd.DataFrame({"person": persons, "row": np.arange(8)})
    found, _ = read_columns(table, None)
    kept = bounded(found, table, persons, most, Draws(0))
    expected = [min(most, size) for size in (5, 2, 1)]
    assert np.unique(kept["person"].to_numpy(), return_counts=True)[1].tolist() == expected
    # The same rows of all columns.
    assert persons[kept["row"].to_numpy()].tolist() == kept["person"].to_numpy().tolist()


def test_the_type_of_a_frame_is_declared_by_nobody_unless_somebody_does():
    table = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    assert declared_types({}, table, None, ["a", "b"]) == {}
    assert declared_types({"b": "category"}, table, None, ["a", "b"]) == {"b": "category"}
    found = declared_types("frame", table, pd.Series([0.5, 1.0]), ["a", "b", "target"])
    assert (found["a"], found["target"]) == ("integer", "number")


def test_values_of_a_list_keep_their_types():
    found, _ = read_columns([[1, "x"], [0.5, True]], [1, "a"])
    assert [type(value) for value in found["x0"].to_numpy()] == [int, float]
    assert [type(value) for value in found["x1"].to_numpy()] == [str, bool]
    assert [type(value) for value in found["target"].to_numpy()] == [int, str]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_types_of_the_frame_can_be_declared_public(columns, make):
    table = columns | {"age": columns["age"].astype(float)}
    if make is pd.DataFrame:
        table |= {"colour": pd.Series(columns["colour"], dtype=object)}
    schema = Schema.infer(
        make(table), target="ill", epsilon=5, delta=1e-6, types="frame", random_state=1
    )
    assert schema.features[0] == NumericFeature("age", 16, 128)  # a float, by the frame
    labels = [entry.label for entry in schema.ledger.entries]
    assert "bounds of 'age'" in labels
    # A column of objects has no type, and neither has a list.
    assert ("column 'colour'" in labels) == (make is pd.DataFrame)
    rows = np.column_stack([columns["age"], columns["tiny"]]).tolist()
    beside = columns["member"].tolist()
    asked = Schema.infer(rows, target=beside, epsilon=5, delta=1e-6, types="frame", random_state=1)
    assert [entry.label for entry in asked.ledger.entries] == [
        "column 'target'",
        "column 'x0'",
        "column 'x1'",
    ]
