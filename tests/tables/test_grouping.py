"""More categories than bins: groups by a public hash, in every family and every export."""

import numpy as np
import pandas as pd
import pytest

from dpforest import (
    CategoricalFeature,
    GreedyForestClassifier,
    MedianForestClassifier,
    NumericFeature,
    PrivateForestClassifier,
    RandomDecisionForestClassifier,
    Schema,
    Target,
    load_model,
)
from dpforest.report import feature_effect
from dpforest.tables.encode import Encoding
from dpforest.tables.grouping import N_GROUPS, group_categories
from tests.forests.test_exporting import agree

CODES = tuple(f"{code:05}" for code in range(5_000))
SCHEMA = Schema(
    (CategoricalFeature("zip", CODES), NumericFeature("x", 0, 1)), Target("y", classes=(0, 1))
)


def table(n=4000):
    rng = np.random.default_rng(0)
    sizes = 1.0 / np.arange(1, 5_001)
    zip_code = rng.choice(5_000, n, p=sizes / sizes.sum())
    X = pd.DataFrame({"zip": np.array(CODES, object)[zip_code], "x": rng.random(n)})
    return X, (zip_code % 2).astype(int)


def test_groups_are_even_and_follow_from_each_category_alone():
    groups = group_categories(CODES)
    np.testing.assert_array_equal(groups[::-1], group_categories(CODES[::-1]))
    np.testing.assert_array_equal(groups[:300], group_categories(CODES[:300]))
    counts = np.bincount(groups, minlength=N_GROUPS)
    assert len(counts) == N_GROUPS
    # A fair hash: chi-squared with 253 degrees of freedom, at six deviations.
    assert ((counts - 5_000 / N_GROUPS) ** 2).sum() / (5_000 / N_GROUPS) < 253 + 6 * 506**0.5


def test_bins_are_one_byte_and_missing_and_unseen_have_their_own():
    encoding = Encoding.from_schema(SCHEMA)
    assert encoding.n_values[0] == N_GROUPS
    assert encoding.n_bins[0] == 256
    X = pd.DataFrame({"zip": ["00007", None, "nowhere", "7"], "x": 0.5})
    known, missing, unseen, spelt = encoding.bins(X)[:, 0].tolist()
    assert known == spelt == group_categories(CODES)[7]
    assert (missing, unseen) == (254, 255)


@pytest.mark.parametrize(
    "estimator",
    [
        PrivateForestClassifier,
        RandomDecisionForestClassifier,
        GreedyForestClassifier,
        MedianForestClassifier,
    ],
)
def test_every_family_takes_them(estimator, tmp_path):
    X, y = table()
    options = {"max_depth": 2} if estimator is GreedyForestClassifier else {}
    model = estimator(epsilon=20.0, schema=SCHEMA, random_state=0, **options).fit(X, y)
    model.save(tmp_path / "m.dpforest")
    again = load_model(tmp_path / "m.dpforest")
    np.testing.assert_array_equal(again.predict_proba(X[:50]), model.predict_proba(X[:50]))
    agree(model, X[:200])


def test_the_flagship_learns_from_them():
    X, y = table(20_000)
    model = PrivateForestClassifier(epsilon=4.0, schema=SCHEMA, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.6
    assert model.importances().distinguishable == ("zip",)
    names = feature_effect(model, "zip").categories
    assert len(names) == N_GROUPS
    groups = group_categories(CODES)
    others = np.count_nonzero(groups == groups[0]) - 1
    assert names[groups[0]] == f"00000 and {others} more"


def test_a_paid_schema_keeps_such_a_column():
    rng = np.random.default_rng(0)
    column = np.repeat(np.array([f"k{i}" for i in range(400)], object), 100)
    schema = Schema.infer(
        pd.DataFrame({"code": rng.permutation(column)}),
        epsilon=50.0,
        delta=1e-5,
        types={"code": "category"},
        random_state=0,
    )
    assert len(schema.features[0].categories) == 400
