"""Printed flaws of greedy forests: no guarantee, said why, and only where they are named."""

import pytest

from dpforest import GreedyForestClassifier, NoGuaranteeWarning, datasets, load_model
from dpforest.privacy.published_greedy import REASONS

GAIN_RATIO = {
    "criterion": "information_gain",
    "selection": "exponential",
    "stopping": None,
    "n_bound": 4_000,
}
SETTINGS = {
    ("bootstrap",): {"sampling": "shared"},
    ("pure_stop",): {},
    ("gain_ratio",): GAIN_RATIO,
    ("selective_aggregation",): {},
    ("misclassified_weights",): {"sampling": "shared", "second_phase": 0.5},
    ("bootstrap", "misclassified_weights"): {"sampling": "shared", "second_phase": 0.5},
    ("pure_stop", "gain_ratio"): GAIN_RATIO,
}


@pytest.fixture(scope="module")
def census():
    return datasets.make_census(4_000, random_state=1)


def make(census, **settings):
    settings = {"epsilon": 4.0, "n_estimators": 5, "max_depth": 2, "random_state": 0} | settings
    return GreedyForestClassifier(schema=census.schema, **settings)


@pytest.mark.parametrize("published", SETTINGS)
def test_a_printed_flaw_leaves_no_guarantee_and_says_why(census, tmp_path, published):
    forest = make(census, published=published, **SETTINGS[published])
    with pytest.warns(NoGuaranteeWarning, match="not differentially private"):
        forest.fit(census.X, census.y)
    assert forest.ledger_.guarantee is None
    assert set(forest.ledger_.reasons) == {REASONS[flaw] for flaw in published}
    assert forest.ledger_.epsilon == pytest.approx(4.0, abs=1e-9)
    assert forest.score(census.X, census.y) > 0.6
    forest.save(tmp_path / "forest")
    loaded = load_model(tmp_path / "forest")
    assert loaded.ledger_.reasons == forest.ledger_.reasons
    assert (loaded.predict(census.X) == forest.predict(census.X)).all()


def test_without_a_name_nothing_printed_is_followed(census):
    forest = make(census).fit(census.X, census.y)
    assert forest.ledger_.guarantee is not None


def test_selective_aggregation_drops_trees(census):
    with pytest.warns(NoGuaranteeWarning):
        forest = make(census, published=("selective_aggregation",)).fit(census.X, census.y)
    assert 1 <= forest.forest_.n_trees < 5


@pytest.mark.parametrize(("settings", "message"), [
    ({"published": ("luck",)}, "one of"),
    ({"published": ("bootstrap",)}, "sampling='shared'"),
    ({"published": ("bootstrap",), "sampling": "shared", "second_phase": 0.5}, "two phases"),
    ({"published": ("bootstrap",), "sampling": "without_replacement"}, "sampling='shared'"),
    ({"published": ("misclassified_weights",), "sampling": "shared"}, "share"),
    ({"published": ("gain_ratio",), **GAIN_RATIO, "splits": "binary"}, "splits='multiway'"),
    ({"published": ("gain_ratio",), **GAIN_RATIO, "criterion": "gini"}, "information_gain"),
    ({"published": ("gain_ratio",), **GAIN_RATIO, "stopping": "candidate"}, "stopping=None"),
])  # fmt: skip
def test_settings_that_no_print_has_are_refused(census, settings, message):
    with pytest.raises(ValueError, match=message):
        make(census, **settings).fit(census.X, census.y)


def test_a_bare_name_is_refused(census):
    with pytest.raises(TypeError, match="tuple of names"):
        make(census, published="pure_stop").fit(census.X, census.y)
