"""Printed flaws of greedy forests: no guarantee, said why, and only where they are named."""

import pytest

from dpforest import NoGuaranteeWarning, datasets, load_model
from dpforest.literature.printed.flaws import REASONS
from dpforest.literature.printed.greedy import PrintedGreedyForest

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
    return PrintedGreedyForest(schema=census.schema, **settings)


@pytest.mark.parametrize("published", SETTINGS)
def test_a_printed_flaw_leaves_no_guarantee_and_says_why(census, tmp_path, published):
    forest = make(census, flaws=published, **SETTINGS[published])
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


def test_selective_aggregation_drops_trees(census):
    with pytest.warns(NoGuaranteeWarning):
        forest = make(census, flaws=("selective_aggregation",)).fit(census.X, census.y)
    assert 1 <= forest.forest_.n_trees < 5


@pytest.mark.parametrize(("settings", "message"), [
    ({"flaws": ("luck",)}, "one of"),
    ({"flaws": ("bootstrap",)}, "sampling='shared'"),
    ({"flaws": ("bootstrap",), "sampling": "shared", "second_phase": 0.5}, "two phases"),
    ({"flaws": ("bootstrap",), "sampling": "without_replacement"}, "sampling='shared'"),
    ({"flaws": ("misclassified_weights",), "sampling": "shared"}, "share"),
    ({"flaws": ("gain_ratio",), **GAIN_RATIO, "splits": "binary"}, "splits='multiway'"),
    ({"flaws": ("gain_ratio",), **GAIN_RATIO, "criterion": "gini"}, "information_gain"),
    ({"flaws": ("gain_ratio",), **GAIN_RATIO, "stopping": "candidate"}, "stopping=None"),
])  # fmt: skip
def test_settings_that_no_print_has_are_refused(census, settings, message):
    with pytest.raises(ValueError, match=message):
        make(census, **settings).fit(census.X, census.y)


@pytest.mark.parametrize("flaws", [None, {"pure_stop"}, "pure_stop"])
def test_flaws_are_named_in_a_tuple(census, flaws):
    with pytest.raises(TypeError, match="tuple of names"):
        make(census, flaws=flaws).fit(census.X, census.y)
