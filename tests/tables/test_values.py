"""Values: what each means, beside whatever other; the cases that once moved other records."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from dpforest.exceptions import SchemaError
from dpforest.records.groups import person_keys
from dpforest.schema import CategoricalFeature, NumericFeature, Schema
from dpforest.tables.encode import Encoding, encode_labels

NAN = math.nan
BIG = 2**53
TENTH = np.float32(0.1)


def test_a_gap_beside_float32_moves_nobody():
    encoding = Encoding.from_schema(Schema([CategoricalFeature("c", (0.1, 0.2))]))
    rows = [[TENTH]] * 500
    assert set(encoding.bins(rows).ravel()) == {0}
    assert set(encoding.bins([*rows, [None]]).ravel()[:500]) == {0}


def test_a_text_in_a_column_of_large_integers_moves_nobody():
    encoding = Encoding.from_schema(Schema([CategoricalFeature("c0", (BIG, "word"))]))
    rows = [[BIG + 1], [BIG], [5]]
    expected = encoding.bins(pd.DataFrame(rows, columns=["c0"])).ravel().tolist()
    assert encoding.bins(pd.DataFrame([*rows, ["word"]], columns=["c0"])).ravel().tolist() == [
        *expected,
        1,
    ]
    assert encode_labels([BIG + 1, 1], (BIG, 1, "x")).tolist() == [0, 1]
    assert encode_labels([BIG + 1, 1, "x"], (BIG, 1, "x")).tolist() == [0, 1, 2]


def test_a_float_among_large_ids_merges_nobody():
    ids = [BIG + i for i in range(1996)]
    for odd in (1.0, "x", True, 7):
        assert len(set(person_keys([*ids, odd]).tolist())) == 1997
    for odd in (0.5, 2.0**53, math.inf):
        with pytest.raises(SchemaError, match=r"no exact ids.*as texts"):
            person_keys([*ids, odd])
    with pytest.raises(SchemaError, match="no exact ids"):
        person_keys(np.array([*ids, 1.0]))


def test_no_record_makes_numpy_warn():
    """A warning would tell of one record; warnings are errors here."""
    schema = Schema([NumericFeature("c", 0, 1)])
    for far in (np.longdouble("1e4000"), 10**400):
        found = Encoding.from_schema(schema, 2).bins([[0.1], [far], [None], ["0.2"]])
        assert found.ravel().tolist() == [0, 1, 2, 0]
        found = Encoding.from_schema(schema, 2).bins([[0.1], [far], [None]])
        assert found.ravel().tolist() == [0, 1, 2]


def test_what_a_gap_is():
    schema = Schema([CategoricalFeature("c", ("a", "1")), CategoricalFeature("d", ("", "a"))])
    gaps = [None, NAN, pd.NA, pd.NaT, np.datetime64("NaT"), "nan", "NaN", Decimal("NaN")]
    bins = Encoding.from_schema(schema).bins([[gap, gap] for gap in gaps] + [["", ""]])
    assert bins.tolist() == [[2, 2]] * len(gaps) + [[2, 0]]
    numbers = Encoding.from_schema(Schema([NumericFeature("c", 0, 1)]), 2)
    found = numbers.bins([[gap] for gap in [*gaps, ""]]).ravel().tolist()
    assert found == [2] * (len(gaps) + 1)
    assert numbers.bins([["inf"], [-math.inf], ["-0.0"], ["True"]]).ravel().tolist() == [1, 0, 0, 1]
