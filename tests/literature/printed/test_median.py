"""Median forests as printed: no guarantee, and said why."""

import pytest

from dpforest import NoGuaranteeWarning, datasets
from dpforest.literature.printed.mechanisms import MEAN_REASON, REASONS
from dpforest.literature.printed.median import (
    PrintedMedianForestClassifier,
    PrintedMedianForestRegressor,
)


@pytest.fixture(scope="module")
def census():
    return datasets.make_census(4_000, random_state=0)


@pytest.mark.parametrize(("cuts", "name"), [("range", "diprime"), ("grid", "thesis")])
def test_as_published_promises_nothing_and_says_why(census, cuts, name):
    forest = PrintedMedianForestClassifier(
        schema=census.schema, random_state=0, cuts=cuts, n_estimators=2,
        max_depth=3,
    )  # fmt: skip
    with pytest.warns(NoGuaranteeWarning, match="not differentially private"):
        forest.fit(census.X, census.y)
    assert forest.ledger_.guarantee is None
    assert set(REASONS[name]) <= set(forest.ledger_.reasons)
    assert forest.score(census.X, census.y) > 0.5


def test_as_published_regression_gives_the_reason_of_its_means(numbers):
    X, y, schema = numbers
    forest = PrintedMedianForestRegressor(
        schema=schema, n_estimators=2, max_depth=3, epsilon=10.0,
        random_state=0,
    )  # fmt: skip
    with pytest.warns(NoGuaranteeWarning):
        forest.fit(X, y)
    assert MEAN_REASON in forest.ledger_.reasons
    assert forest.score(X, y) > 0.3


def test_random_splits_are_no_print(census):
    forest = PrintedMedianForestClassifier(schema=census.schema, splits="random")
    with pytest.raises(ValueError, match="median"):
        forest.fit(census.X, census.y)
