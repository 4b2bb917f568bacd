"""Every recipe fits and predicts on four tables, and its ledger comes to what was asked for.

The tables are drawn from the public schemas of the papers' tables; where those are at hand, the
same is asked of samples of them.
"""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpforest import CategoricalFeature, NoGuaranteeWarning, Schema, datasets, literature
from dpforest.datasets import catalog

DATA = ("adult", "mushroom", "car", "nursery")
MADE = [name for name in literature.names() if literature.describe(name).estimator]
PRINTED = [name for name in MADE if literature.describe(name).as_published is not None]
EPSILON = 0.7


@cache
def drawn(name, n_records=300):
    """A table of a data set's schema; its first feature says something about the label."""
    schema = Schema.from_dict(catalog.entry(name, None))
    draw = np.random.default_rng(0)
    columns = {
        feature.name: draw.choice(feature.categories, n_records)
        if isinstance(feature, CategoricalFeature)
        else draw.uniform(feature.low, feature.high, n_records)
        for feature in schema.features
    }
    X = pd.DataFrame(columns)
    X.iloc[::20, -1] = None
    rank = X.iloc[:, 0].rank(pct=True).to_numpy()
    guess = np.ceil(rank * len(schema.classes)).astype(int) - 1
    chance = draw.integers(len(schema.classes), size=n_records)
    codes = np.where(draw.random(n_records) < 0.7, guess, chance)
    return X, np.asarray(schema.classes)[codes], schema


@cache
def sampled(name, n_records=300):
    data = datasets.load(name)
    chosen = np.random.default_rng(0).permutation(len(data.y))[:n_records]
    return data.X.iloc[chosen], np.asarray(data.y)[chosen], data.schema


SOURCES = [drawn, pytest.param(sampled, marks=pytest.mark.needs_tables)]


def make(name, data="car", **options):
    schema = drawn(data)[2]
    return literature.make(
        name, epsilon=EPSILON, schema=schema, random_state=0, n_jobs=1, **options
    )


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("source", SOURCES)
def test_every_recipe_fits_with_a_guarantee(source, name, data):
    X, y, schema = source(data)
    forest = make(name, data).fit(X, y)
    assert set(forest.predict(X[:50])) <= set(schema.classes)
    assert abs(forest.ledger_.epsilon - EPSILON) <= 1e-9
    assert forest.ledger_.delta == 0
    assert forest.ledger_.guarantee is not None


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize("source", SOURCES)
def test_every_print_fits_and_says_why_it_has_no_guarantee(source, name, data):
    X, y, schema = source(data)
    with pytest.warns(NoGuaranteeWarning):
        forest = make(name, data, variant="as_published").fit(X, y)
    assert set(forest.predict(X[:50])) <= set(schema.classes)
    assert abs(forest.ledger_.epsilon - EPSILON) <= 1e-9
    assert forest.ledger_.guarantee is None
    assert forest.ledger_.reasons


@pytest.mark.parametrize("name", MADE)
def test_parameters_are_those_of_the_estimator(name):
    told = literature.describe(name)
    assert set(told.parameters) <= set(make(name).get_params())
    if told.as_published is not None:
        printed = make(name, variant="as_published")
        assert {*told.parameters, *told.as_published} <= set(printed.get_params())


@pytest.mark.parametrize("name", MADE)
def test_estimators_can_be_cloned(name):
    forest = make(name)
    again = clone(forest)
    assert again.get_params() == forest.get_params()
    assert again.get_params()["epsilon"] == EPSILON


@pytest.mark.parametrize("name", [n for n in MADE if literature.describe(n).guarantee == "holds"])
def test_a_print_that_holds_is_the_recipe(name):
    assert make(name, variant="as_published").get_params() == make(name).get_params()


@pytest.mark.parametrize("name", [n for n in MADE if literature.describe(n).not_offered])
def test_a_print_that_is_not_offered_says_why(name):
    with pytest.raises(ValueError, match=literature.describe(name).not_offered.split(":")[0]):
        make(name, variant="as_published")


@pytest.mark.parametrize("variant", ["repaired", "as_published"])
def test_what_is_not_differential_privacy_is_refused(variant):
    with pytest.raises(ValueError, match="variances only, which is not differential privacy"):
        literature.make("rana", variant=variant)


def test_overrides_replace_what_the_recipe_says():
    forest = make("diprime", n_estimators=3, neighbors="replace_one")
    assert (forest.n_estimators, forest.neighbors, forest.max_depth) == (3, "replace_one", 5)
    with pytest.raises(TypeError, match="colour"):
        make("diprime", colour="green")


def test_an_unknown_variant_is_refused():
    with pytest.raises(ValueError, match="variant must be"):
        make("diprime", variant="broken")


def test_depths_follow_a_schema_or_are_automatic():
    assert make("private_rdt", "adult").max_depth == 3
    assert literature.make("private_rdt").max_depth == "auto"
    declared = drawn("adult")[2].to_dict()
    assert literature.make("smooth_forest", schema=declared).max_depth == 8


def test_making_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in PRINTED:
            make(name, variant="as_published")
