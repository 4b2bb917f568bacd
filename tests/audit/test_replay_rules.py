"""Fits that are one rule, or start from one, are replayed: neighbours by persons by prices."""

import itertools

import numpy as np
import pytest

from dpforest import PrivateForestClassifier
from dpforest.audit import SMALL_SCHEMA, Table, replay
from dpforest.audit.controls_rules import one_more_with_rules, rules_for_one_record
from dpforest.forests import plan
from dpforest.privacy.accounts.caps import Cap
from dpforest.privacy.accounts.spends import Gaussian, Spend

X = np.array([[0.1, 0.0], [0.9, 1.0], [0.4, 1.0], [0.1, 0.0], [0.9, 0.0], [0.9, 0.0]])
Y = np.array([0, 1, 0, 0, 1, 1])
PERSONS = np.array([0, 1, 2, 3, 4, 4])
CASES = list(itertools.product(["add_remove", "replace_one"], [None, 2], [1e-6, 0.0]))


def tables(neighbors, persons):
    """Two tables that share four records; the last person is another, or not there."""
    rows = np.arange(6 if persons else 5)

    def table(which, X=X):
        return Table(X[which], Y[which], PERSONS[which] if persons else None)

    if neighbors == "add_remove":
        return table(rows[:4]), table(rows)
    other = X.copy()
    other[4:] = [0.1, 1.0]
    return table(rows, other), table(rows)


def model(neighbors, persons, delta, **options):
    return PrivateForestClassifier(
        schema=SMALL_SCHEMA,
        delta=delta,
        neighbors=neighbors,
        max_records_per_group=persons,
        **options,
    )


def labels(report):
    return {loss.label for loss in report.releases}


@pytest.mark.parametrize(("neighbors", "persons", "delta"), CASES)
@pytest.mark.parametrize("hint", [None, 6])
def test_a_rule_loses_no_more_than_is_claimed(neighbors, persons, delta, hint):
    report = replay(model(neighbors, persons, delta, n_hint=hint), *tables(neighbors, persons))
    assert report.holds, str(report)


@pytest.mark.parametrize(("neighbors", "persons"), [case[:2] for case in CASES[::2]])
def test_a_rule_at_a_gaussian_price_loses_no_more_than_is_claimed(
    monkeypatch, neighbors, persons
):
    """As in a search, which has paid for Gaussian noise alone; and as a start of a longer model."""
    start = model(neighbors, persons, 1e-6, n_hint=600)
    monkeypatch.setattr(plan, "ONE_RULE", 0.0)
    report = replay(start, *tables(neighbors, persons))
    assert report.holds, str(report)
    assert report.mu > 0


def test_a_person_taken_for_one_record_is_caught():
    assert one_more_with_rules().holds
    with rules_for_one_record():
        assert not one_more_with_rules().holds
