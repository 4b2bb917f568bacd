import numpy as np
import pytest

from dpforest import CategoricalFeature, NumericFeature, Schema, Target
from dpforest.reproduce.recoding import recode, rules_of

NUMBERS = Schema(
    (
        NumericFeature("age", 0, 100),
        CategoricalFeature("job", (0, 1, 2)),
        CategoricalFeature("town", (0, 1)),
    ),
    Target(classes=(0, 1)),
)
NAMES = Schema(
    (
        NumericFeature("age", 0, 100),
        CategoricalFeature("job", ("cook", "judge", "nurse")),
        CategoricalFeature("town", ("Ulm", "Rom")),
    ),
    Target(classes=("no", "yes")),
)
X = np.array([[10, 0, 0], [20, 1, np.nan], [30, 2, 1]], np.float32)
Y = np.array([0, 1, 1])


def test_rules_choose_cut_group_and_keep_missing():
    rules = {
        "features": ["town", "job", "age"],
        "cuts": {"age": [15, 25]},
        "groups": {"job": [["nurse", "cook"], ["judge"]]},
        "missing_is_a_category": ["town"],
    }
    table, y, schema = recode(X, Y, NUMBERS, NAMES, rules)
    np.testing.assert_array_equal(table, [[0, 0, 10], [2, 1, 20], [1, 0, 30]])
    np.testing.assert_array_equal(y, Y)
    assert schema.feature_names == ("town", "job", "age")
    assert schema.features[0].categories == (0, 1, 2)
    assert schema.features[2].cuts == (15.0, 25.0)


def test_only_complete_records_and_no_rules():
    table, y, _ = recode(X, Y, NUMBERS, NAMES, {"complete": True})
    assert len(table) == len(y) == 2
    table, y, schema = recode(X, Y, NUMBERS, NAMES, {})
    np.testing.assert_array_equal(table, X)
    assert schema == NUMBERS


@pytest.mark.parametrize("name", ["car", "iris", "balance_scale", "heart", "mushroom", "adult"])
def test_every_data_set_of_the_paper_has_rules(name):
    found, rules, seed = rules_of(f"{name}@mrf")
    assert (found, seed) == (name, 100)
    assert isinstance(rules, dict)
