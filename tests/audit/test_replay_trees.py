"""Fits that are one tree, or start from one, are replayed: neighbours by persons by classes."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpforest import NumericFeature, PrivateForestClassifier, Schema, Target
from dpforest.audit import Table, replay
from dpforest.forests import boosted_tree, tree_plan
from tests.audit.neighbouring import ROWS, neighbouring

FEATURES = (NumericFeature("a", 0, 1), NumericFeature("b", 0, 1))
SCHEMAS = {k: Schema(FEATURES, Target(classes=tuple("xyz"[:k]))) for k in (2, 3)}
Y = np.array(["x", "y", "x", "x", "y", "y"])
CASES = list(itertools.product(["add_remove", "replace_one"], [None, 2], [2, 3]))


def tables(neighbors, persons):
    return neighbouring(neighbors, persons, ROWS, Y, other_row=[0.1, 1.0])


def model(neighbors, persons, n_classes, **options):
    return PrivateForestClassifier(
        schema=SCHEMAS[n_classes],
        delta=0.0,
        neighbors=neighbors,
        max_records_per_group=persons,
        n_hint=8_000,
        **options,
    )


@pytest.mark.parametrize("trial", [True, False])
@pytest.mark.parametrize(("neighbors", "persons", "n_classes"), CASES)
def test_a_tree_loses_no_more_than_is_claimed(monkeypatch, neighbors, persons, n_classes, trial):
    if not trial:
        monkeypatch.setattr(tree_plan, "MOST_COUNTS", 0)
    forest = model(neighbors, persons, n_classes)
    report = replay(forest, *tables(neighbors, persons), common=4)
    assert report.holds, str(report)
    assert report.pure_claim == pytest.approx(1.0)
    if n_classes == 3:
        # Nearly all is for the levels, where a record moves some choices by as much as it may.
        assert report.largest_pure_loss > 0.3 * report.pure_claim


@pytest.mark.parametrize("persons", [None, 2])
def test_a_tree_can_lose_nearly_all_of_its_price(monkeypatch, persons):
    """Of many classes every level goes by the largest class: one record decides each choice."""
    monkeypatch.setattr(tree_plan, "MOST_COUNTS", 0)
    classes = tuple(f"c{k}" for k in range(10))
    schema = Schema((NumericFeature("a", 0, 1),), Target(classes=classes))
    n = 400
    ids = np.array([*range(n), *[n] * (persons or 1)])
    X = np.append(np.full(n, 0.1), np.full(persons or 1, 0.95))[:, None]
    y = np.append(np.full(n, "c0"), np.full(persons or 1, "c1"))
    fewer, more = (
        Table(X[:m], y[:m], ids[:m] if persons else None) for m in (n, n + (persons or 1))
    )
    forest = PrivateForestClassifier(
        schema=schema, delta=0.0, n_hint=150 * (persons or 1), max_records_per_group=persons
    )
    assert forest.fit(more.X, more.y, more.groups).forest_.trees.depth.max() > 1
    report = replay(forest, fewer, more, common=n)
    assert report.holds, str(report)
    assert report.largest_pure_loss > 0.9 * report.pure_claim


@pytest.mark.parametrize("persons", [None, 2])
def test_a_trial_of_sums_can_lose_nearly_all_of_its_price(monkeypatch, persons):
    """A class of one corner of four: of single features each record there is one error more."""
    monkeypatch.setattr(boosted_tree, "sums_trial_share", lambda *facts: Fraction(99, 100))
    corners = np.array([[0.1, 0.1], [0.1, 0.9], [0.9, 0.1], [0.9, 0.9]])
    more = persons or 1
    X = np.vstack([corners.repeat([9, 9, 9, 3], axis=0), corners[[3] * more]])
    y = np.array(["x"] * 27 + ["y"] * (3 + more))
    ids = np.array([*range(30), *[30] * more]) if persons else None
    fewer = Table(X[:30], y[:30], None if ids is None else ids[:30])
    report = replay(model("add_remove", persons, 3), fewer, Table(X, y, ids), common=30)
    assert report.holds, str(report)
    assert report.largest_pure_loss > 0.98 * report.pure_claim
