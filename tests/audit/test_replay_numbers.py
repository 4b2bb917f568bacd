"""Fits that are one number are replayed: neighbours by persons by prices by what is told."""

import itertools

import numpy as np
import pytest

from dpforest import (
    NumericFeature,
    PrivateForestRegressor,
    PrivateIntervalRegressor,
    Schema,
    Target,
)
from dpforest.audit import Table, replay
from dpforest.forests.boosted_ways import TwoWayBoosting
from tests.audit.neighbouring import apart, neighbouring

SCHEMA = Schema((NumericFeature("a", 0, 1),), Target(low=0.0, high=1.0))
X = np.linspace(0.1, 0.9, 6)[:, None]
Y = np.array([0.3, 0.5, 0.4, 0.6, 0.9, 0.9])
CASES = list(
    itertools.product(
        ["add_remove", "replace_one"], [None, 2], [1e-6, 0.0], ["squared", "quantile"]
    )
)


def tables(neighbors, persons):
    return neighbouring(neighbors, persons, X, Y, other_y=0.05)


@pytest.mark.parametrize("hint", [None, 9])
@pytest.mark.parametrize(("neighbors", "persons", "delta", "loss"), CASES)
def test_a_number_loses_no_more_than_is_claimed(neighbors, persons, delta, loss, hint):
    forest = PrivateForestRegressor(
        schema=SCHEMA,
        delta=delta,
        loss=loss,
        quantile=0.9 if loss == "quantile" else 0.5,
        neighbors=neighbors,
        max_records_per_group=persons,
        n_hint=hint,
    )
    report = replay(forest, *tables(neighbors, persons), common=4)
    assert report.holds, str(report)
    # The choice has a pure price, beside a Gaussian count too, which is nearly all of the budget.
    assert report.pure_claim > 0.7
    assert report.largest_pure_loss > 0


@pytest.mark.parametrize("persons", [None, 2])
@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
def test_a_median_can_lose_nearly_all_of_its_price(neighbors, persons, delta):
    """Most records are low: one more of the high ones deepens the cells above, and no other."""
    tables = apart(neighbors, persons, np.array([0.0] * 1_000 + [0.999] * 30), 0.999)
    forest = PrivateForestRegressor(
        schema=SCHEMA,
        delta=delta,
        loss="absolute",
        neighbors=neighbors,
        n_hint=9,
        max_records_per_group=persons,
    )
    report = replay(forest, *tables, common=1_030)
    assert report.holds, str(report)
    assert report.largest_pure_loss > 0.9 * report.pure_claim


@pytest.mark.parametrize("persons", [None, 2])
@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
def test_a_quantile_can_lose_nearly_all_of_its_price(neighbors, persons, delta):
    """One record more is one too many for the cells below, and one less too few for those above.

    Two are wanted beyond the quantile: 21 lie in the lower part, and none above.
    """
    tables = apart(neighbors, persons, np.full(21, 0.05), 0.999)
    forest = PrivateForestRegressor(
        schema=SCHEMA,
        delta=delta,
        loss="quantile",
        quantile=0.9,
        neighbors=neighbors,
        n_hint=200,
        max_records_per_group=persons,
    )
    report = replay(forest, *tables, common=21)
    assert report.holds, str(report)
    assert report.largest_pure_loss > 0.9 * report.pure_claim


@pytest.mark.parametrize("loss", ["squared", "quantile"])
@pytest.mark.parametrize(("neighbors", "persons"), [case[:2] for case in CASES[::4]])
def test_a_number_at_a_gaussian_price_loses_no_more_than_is_claimed(
    monkeypatch, neighbors, persons, loss
):
    """As in a search, which has paid for Gaussian noise alone."""
    monkeypatch.setattr(TwoWayBoosting, "_is_held", True)
    forest = PrivateForestRegressor(
        schema=SCHEMA,
        loss=loss,
        neighbors=neighbors,
        max_records_per_group=persons,
        n_hint=9,
    )
    report = replay(forest, *tables(neighbors, persons), common=4)
    assert report.holds, str(report)
    assert report.pure_claim == 0
    assert report.mu > 0


@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("loss", ["absolute", "quantile"])
def test_a_person_in_the_place_of_one_with_fewer_records_is_covered(delta, loss):
    y = np.append(np.full(21, 0.05), [0.999, 0.999])
    ids, rows = np.array([*range(21), 21, 21]), np.zeros((23, 1))
    fewer = Table(rows[:22], np.append(y[:21], 0.02), ids[:22])
    forest = PrivateForestRegressor(
        schema=SCHEMA,
        delta=delta,
        loss=loss,
        quantile=0.9 if loss == "quantile" else 0.5,
        neighbors="replace_one",
        n_hint=200,
        max_records_per_group=2,
    )
    report = replay(forest, fewer, Table(rows, y, ids), common=21)
    assert report.holds, str(report)
    assert report.largest_pure_loss > 0.5 * report.pure_claim


@pytest.mark.parametrize(("neighbors", "persons", "delta"), [case[:3] for case in CASES[::2]])
def test_the_three_numbers_of_an_interval_lose_no_more_than_is_claimed(neighbors, persons, delta):
    forest = PrivateIntervalRegressor(
        schema=SCHEMA, delta=delta, neighbors=neighbors, max_records_per_group=persons
    )
    report = replay(forest, *tables(neighbors, persons), common=4)
    assert report.holds, str(report)
    assert report.largest_pure_loss > 0.3 * report.pure_claim > 0.2
