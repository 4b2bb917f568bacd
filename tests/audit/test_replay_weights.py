"""Weighted fits are replayed: neighbours by persons by kinds of noise; no weight tells more."""

import itertools

import numpy as np
import pytest

from dpforest import (
    GreedyForestClassifier,
    MedianForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
    PrivateIntervalRegressor,
    RandomDecisionForestClassifier,
)
from dpforest.audit import SMALL_SCHEMA, Table, replay
from dpforest.audit.worlds import SMALL_REGRESSION
from tests.audit.neighbouring import ROWS, neighbouring

Y = np.array([0, 1, 0, 0, 1, 1])
SHAPE = {"n_estimators": 3, "max_depth": 1, "trees_per_round": 1}
BOOSTED = [
    (PrivateForestClassifier, {"schema": SMALL_SCHEMA, "class_weight": "balanced", **SHAPE}),
    (PrivateForestRegressor, {"schema": SMALL_REGRESSION, **SHAPE}),
    (PrivateForestRegressor, {"schema": SMALL_REGRESSION, "loss": "absolute", **SHAPE}),
    (PrivateIntervalRegressor, {"schema": SMALL_REGRESSION, **SHAPE}),
]
COUNTED = [
    GreedyForestClassifier(leaves="counts", n_estimators=1, max_depth=1, min_support=0),
    MedianForestClassifier(n_estimators=2, max_depth=1),
    RandomDecisionForestClassifier(n_estimators=2, max_depth=1),
]


def tables(neighbors, persons, weight):
    weights = np.array([1.0, 0.2, 0.0, 3.0, weight, weight])
    return neighbouring(neighbors, persons, ROWS, Y, weights, other_row=[0.1, 1.0])


@pytest.mark.parametrize(
    ("neighbors", "persons", "delta"),
    list(itertools.product(["add_remove", "replace_one"], [None, 2], [1e-6, 0.0])),
)
@pytest.mark.parametrize(("kind", "options"), BOOSTED)
def test_weighted_fits_lose_no_more_than_is_claimed(kind, options, neighbors, persons, delta):
    for weight in (0.0, 0.4, 3.0, 1e12):
        model = kind(
            **options,
            delta=delta,
            neighbors=neighbors,
            max_records_per_group=persons,
            max_sample_weight=3.0,
            random_state=0,
        )
        one, other = tables(neighbors, persons, weight)
        report = replay(model, one, other, common=4)
        assert report.holds, f"{weight}: {report}"
        # So many records, says the hint, that there is no linear start.
        report = replay(model.set_params(n_hint=100_000), one, other, common=4)
        assert report.holds, f"{weight}: {report}"
        if weight >= 3.0 and neighbors == "add_remove":
            assert report.tightness > 0.5  # the bound is what is paid for


@pytest.mark.parametrize("model", COUNTED)
@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
def test_balanced_classes_are_paid_for(model, neighbors):
    model.set_params(schema=SMALL_SCHEMA, class_weight="balanced", neighbors=neighbors)
    one, other = tables(neighbors, None, 1.0)
    report = replay(model, Table(one.X, one.y), Table(other.X, other.y), common=4)
    assert report.holds, str(report)
    assert report.pure_claim == 1.0
