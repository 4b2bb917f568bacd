"""Fits that are one rule, or start from one, are replayed: neighbours by persons by prices."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpforest import PrivateForestClassifier
from dpforest.audit import SMALL_SCHEMA, Table, replay
from dpforest.forests import boosted_rule, rule_plan
from dpforest.forests.boosted_rule import RuledBoosting
from tests.audit.neighbouring import ROWS, neighbouring

Y = np.array([0, 1, 0, 0, 1, 1])
CASES = list(itertools.product(["add_remove", "replace_one"], [None, 2], [1e-6, 0.0]))


def tables(neighbors, persons):
    return neighbouring(neighbors, persons, ROWS, Y, other_row=[0.1, 1.0])


def gaussian_rest(forest, share, parts):
    return forest._purse().price(share)


def model(neighbors, persons, delta, **options):
    return PrivateForestClassifier(
        schema=SMALL_SCHEMA,
        delta=delta,
        neighbors=neighbors,
        max_records_per_group=persons,
        **options,
    )


@pytest.mark.parametrize(("neighbors", "persons", "delta"), CASES)
@pytest.mark.parametrize("hint", [None, 6])
def test_a_rule_loses_no_more_than_is_claimed(neighbors, persons, delta, hint):
    forest = model(neighbors, persons, delta, n_hint=hint)
    report = replay(forest, *tables(neighbors, persons), common=4)
    assert report.holds, str(report)
    # The choice is nearly all of the pure price, and these tables come close to it.
    assert report.pure_claim > 0.7
    assert report.largest_pure_loss > 0.3 * report.pure_claim


@pytest.mark.parametrize("one_rule", [1e9, 0.0])
@pytest.mark.parametrize(("neighbors", "persons"), [case[:2] for case in CASES[::2]])
def test_a_rule_at_a_gaussian_price_loses_no_more_than_is_claimed(
    monkeypatch, neighbors, persons, one_rule
):
    """As in a search, which has paid for Gaussian noise alone; and as the start of a model."""
    monkeypatch.setattr(rule_plan, "ONE_RULE", one_rule)
    monkeypatch.setattr(RuledBoosting, "_all_that_is_left", gaussian_rest)
    forest = model(neighbors, persons, 1e-6, n_hint=600)
    report = replay(forest, *tables(neighbors, persons), common=4)
    assert report.holds, str(report)
    assert report.pure_claim == 0
    assert report.mu > 0


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize(("neighbors", "persons"), [case[:2] for case in CASES[::2]])
def test_a_trial_of_a_rule_loses_no_more_than_is_claimed(monkeypatch, neighbors, persons, kept):
    """Whether the rule is kept, and all that is left pays for it, or trees follow."""
    asked = boosted_rule.is_any_rule_seldom_wrong

    def answer(*known):
        asked(*known)
        return kept

    monkeypatch.setattr(boosted_rule, "is_any_rule_seldom_wrong", answer)
    forest = model(neighbors, persons, 1e-6, n_hint=900)
    report = replay(forest, *tables(neighbors, persons), common=4)
    assert report.holds, str(report)
    assert report.mu > 0
    assert report.pure_claim == 0


@pytest.mark.parametrize("persons", [None, 2])
def test_a_trial_can_lose_nearly_all_of_its_price(monkeypatch, persons):
    """A record of the more frequent class among those of the other makes one error more."""
    monkeypatch.setattr(boosted_rule, "rule_trial_share", lambda *facts: Fraction(99, 100))
    X = np.array([[0.1, 0.0]] * 2 + [[0.9, 1.0]] * 5 + [[0.1, 0.0]] * (persons or 1))
    y = np.array([0, 0, *[1] * (len(X) - 2)])
    ids = np.array([*range(7), *[7] * (persons or 0)]) if persons else None
    fewer = Table(X[:7], y[:7], None if ids is None else ids[:7])
    forest = model("add_remove", persons, 1e-6, n_hint=900)
    report = replay(forest, fewer, Table(X, y, ids), common=7)
    assert report.holds, str(report)
    assert report.mu > 0.98 * report.mu_claim
