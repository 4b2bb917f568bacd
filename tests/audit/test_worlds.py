import numpy as np
import pytest

from dpforest import CategoricalFeature, NumericFeature, Schema, Target
from dpforest.audit import SMALL_REGRESSION, SMALL_SCHEMA, worst_pairs
from dpforest.privacy.accounts.protection import Protection

TEXTS = Schema(
    (NumericFeature("age", 0, 99, integer=True), CategoricalFeature("town", ("a", "b", "c"))),
    Target(classes=("no", "maybe", "yes")),
)


def rows(table):
    return sorted(zip(map(str, table.X.tolist()), map(str, table.y.tolist()), strict=True))


@pytest.mark.parametrize("schema", [SMALL_SCHEMA, SMALL_REGRESSION, TEXTS])
def test_pairs_differ_by_one_added_record(schema):
    for pair in worst_pairs(schema, Protection()):
        fewer, more = rows(pair.one), rows(pair.other)
        for row in fewer:
            more.remove(row)
        assert len(more) == 1


@pytest.mark.parametrize("schema", [SMALL_SCHEMA, SMALL_REGRESSION, TEXTS])
def test_pairs_differ_by_one_replaced_record(schema):
    for pair in worst_pairs(schema, Protection("replace_one")):
        assert len(pair.one.y) == len(pair.other.y)
        different = (pair.one.y != pair.other.y) | (
            pair.one.X.astype(str) != pair.other.X.astype(str)
        ).any(axis=1)
        assert different.sum() == 1


def test_a_person_brings_as_many_records_as_are_protected():
    protection = Protection(unit="group", max_records_per_group=3)
    for pair in worst_pairs(SMALL_SCHEMA, protection):
        assert len(pair.other.y) - len(pair.one.y) == 3
        _, sizes = np.unique(pair.other.groups, return_counts=True)
        assert sorted(sizes)[-2:] == [1, 3]


def test_the_pairs_are_the_worst_that_are_known():
    names = {pair.name for pair in worst_pairs(SMALL_SCHEMA, Protection())}
    assert {"alone in its leaf", "rare class", "out of bounds", "missing values"} <= names
