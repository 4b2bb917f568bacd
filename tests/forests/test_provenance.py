"""Where a file comes from: another schema or other protected people are found out."""

import pytest

from dpforest import NumericFeature, Schema, Target
from dpforest.forests.provenance import Provenance, digest_of, schema_digest
from dpforest.privacy.accounts.protection import Protection

SCHEMA = Schema((NumericFeature("a", 0, 1),), Target(classes=(0, 1)))
PERSONS = Protection(unit="group", max_records_per_group=3)


def test_a_file_fits_its_own_schema_and_protection():
    Provenance.now(SCHEMA, PERSONS, "a table").check(SCHEMA, PERSONS)


@pytest.mark.parametrize(
    "other",
    [
        SCHEMA.replace(NumericFeature("a", 0, 2)),
        SCHEMA.replace(target=Target(classes=(0, 2))),
        Schema(SCHEMA.features),
    ],
)
def test_another_schema_is_found_out(other):
    assert schema_digest(other) != schema_digest(SCHEMA)
    with pytest.raises(ValueError, match="not the one that the file was written with"):
        Provenance.now(SCHEMA, PERSONS, None).check(other, PERSONS)


@pytest.mark.parametrize(
    "other",
    [
        Protection(),
        Protection("replace_one", "group", 3),
        Protection(unit="group", max_records_per_group=4),
    ],
)
def test_others_who_are_protected_are_found_out(other):
    with pytest.raises(ValueError, match="protects others"):
        Provenance.now(SCHEMA, PERSONS, None).check(SCHEMA, other)


def test_a_digest_tells_values_apart_and_not_their_order():
    assert digest_of({"a": 1, "b": [2]}) == digest_of({"b": [2], "a": 1})
    different = [{"a": 1}, {"a": 2}, {"a": "1"}, {"b": 1}, {"a": [1]}, {"a": None}, {}]
    assert len({digest_of(value) for value in different}) == len(different)
