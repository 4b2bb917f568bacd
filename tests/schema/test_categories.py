"""Categories: what a value finds, and which lists no value could tell apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.exceptions import PrivacyLeakWarning, SchemaError
from dpforest.schema import CategoricalFeature, Schema, Target
from dpforest.schema.categories import CategoryIndex, distinguishable, double_of, number_of


@pytest.mark.parametrize(
    "categories",
    [
        ("1", "1.0"),
        ("true", 1),
        ("True", "true"),
        (2**53, 2**53 + 1),
        (str(2**60), str(2**60 + 1)),
        (0.1, 0.1 + 1e-12),
        (0.1, float(np.float32(0.1))),
        ("0.1", "0.10000000001"),
    ],
)
def test_categories_that_some_value_cannot_tell_apart_are_refused(categories):
    with pytest.raises(SchemaError, match=r"'c'.*must differ"):
        CategoricalFeature("c", categories)
    with pytest.raises(SchemaError, match=r"'y'.*must differ"):
        Target("y", classes=("other", *categories))


@pytest.mark.parametrize("text", ["nan", "NaN"])
def test_the_text_of_nan_is_no_category(text):
    with pytest.raises(SchemaError, match="mean a missing value"):
        CategoricalFeature("c", ("a", text))


@pytest.mark.parametrize(
    "categories",
    [
        ("01", "1"),
        (1, "01"),
        ("1.1", "1.10"),
        ("Nan", "NAN"),
        ("", "a"),
        (2**53, 2**53 + 2),
        (0.5,),
    ],
)
def test_categories_that_can_be_told_apart(categories):
    index = CategoryIndex(CategoricalFeature("c", categories).categories)
    assert [index.position(category) for category in categories] == list(range(len(categories)))


def test_numbers_find_categories_as_doubles_and_texts_by_what_they_spell():
    index = CategoryIndex(("01", "1", 2**53, "0.1", 2.5))
    found = {1: 1, "1.0": 1, "true": 1, 2**53 + 1: 2, "9007199254740993": 2, "2.50": 4, "25e-1": 4}
    assert {value: index.position(value) for value in found} == found
    for tenth in (0.1, "0.10", np.float32(0.1), float(np.float32(0.1)), "0.10000000149011612"):
        assert index.position(tenth) == 3
    assert index.position(0.1 + 1e-9) == -1


def test_float32_does_not_round_whole_numbers_into_categories():
    index = CategoryIndex((16777217, 0.99999999, 8388609.5))
    assert [index.position(value) for value in (16777216, 1, 8388610)] == [-1, -1, -1]


CATEGORY = st.text("01.aeTrun", max_size=4) | st.integers() | st.floats(-9, 9) | st.booleans()


@given(st.lists(CATEGORY | st.sampled_from([2**53, 2**53 + 1, 0.1, float(np.float32(0.1))])))
def test_what_is_distinguishable_can_be_declared(values):
    kept = distinguishable(values)
    if kept:
        assert CategoricalFeature("c", kept).categories == kept
    assert distinguishable(kept) == kept


@given(st.integers() | st.floats(allow_nan=False) | st.booleans())
def test_a_number_and_its_spelling_mean_the_same(number):
    assert double_of(str(number)) == double_of(number)
    assert number_of(str(number)) == number_of(number)


def test_categories_that_are_read_off_the_records_can_be_told_apart():
    rows = [["1"], ["1.0"], ["true"], ["a"], ["nan"], [""], [None]]
    with pytest.warns(PrivacyLeakWarning):
        schema = Schema.from_frame(rows)
    assert schema.features[0].categories == ("1", "a")
