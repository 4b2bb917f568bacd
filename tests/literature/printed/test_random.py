"""Random forests as printed: no guarantee, and said why."""

import math

import pytest

from dpforest import NoGuaranteeWarning, RandomDecisionForestClassifier, datasets
from dpforest.literature.printed.mechanisms import COUNT_REASON, SMOOTH_REASON
from dpforest.literature.printed.random import SmoothLabelForest, SnrForest


@pytest.fixture(scope="module")
def census():
    return datasets.make_census(4_000, random_state=1)


def make(kind, census, **settings):
    settings = {"epsilon": 2.0, "n_estimators": 5, "max_depth": 4, "random_state": 0} | settings
    return kind(schema=census.schema, **settings)


SMOOTH = {"leaves": "label", "sampling": "disjoint"}
SNR = {"pruning": "snr", "n_estimators": "auto", "splits": "multiway", "max_bins": 5}


PRINTS = [(SmoothLabelForest, SMOOTH, SMOOTH_REASON), (SnrForest, SNR, COUNT_REASON)]


@pytest.mark.parametrize(("kind", "settings", "reason"), PRINTS)
def test_as_published_promises_nothing_and_says_why(census, tmp_path, kind, settings, reason):
    forest = make(kind, census, **settings)
    with pytest.warns(NoGuaranteeWarning, match="not differentially private"):
        forest.fit(census.X, census.y)
    assert forest.ledger_.guarantee is None
    assert forest.ledger_.reasons == (reason,)
    assert forest.ledger_.epsilon == pytest.approx(2.0, abs=1e-9)
    assert forest.score(census.X, census.y) > 0.6
    forest.save(tmp_path / "forest")
    assert kind.load(tmp_path / "forest").ledger_.reasons == (reason,)


@pytest.mark.parametrize(("kind", "settings", "message"), [
    (SmoothLabelForest, {}, "this print"),
    (SmoothLabelForest, {"leaves": "label"}, "this print"),
    (SnrForest, {"pruning": "snr"}, "this print"),
    (SnrForest, {**SNR, "n_hint": 100}, "this print"),
    (SnrForest, {**SNR, "neighbors": "replace_one"}, "public"),
])  # fmt: skip
def test_what_no_paper_printed_is_refused(census, kind, settings, message):
    with pytest.raises(ValueError, match=message):
        make(kind, census, **settings).fit(census.X, census.y)


def test_smooth_sensitivity_without_a_budget_takes_the_most_frequent_class(census):
    with pytest.warns(NoGuaranteeWarning):
        published = make(SmoothLabelForest, census, epsilon=math.inf, **SMOOTH).fit(
            census.X, census.y
        )
    plain = make(RandomDecisionForestClassifier, census, epsilon=math.inf, **SMOOTH).fit(
        census.X, census.y
    )
    assert (published.leaf_values_ == plain.leaf_values_).all()
