"""Fits that choose what their trees ask are replayed: neighbours by persons by classes by kind."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpforest import CategoricalFeature, NumericFeature, PrivateForestClassifier, Schema, Target
from dpforest.audit import Table, replay
from dpforest.audit.controls_questions import choices_for_one_record
from dpforest.forests import boosted_base, choosing
from dpforest.forests.question_plan import QuestionPlan
from dpforest.privacy import questions

FEW = tuple(CategoricalFeature(name, (0, 1, 2)) for name in "abc")
MANY = tuple(CategoricalFeature(f"x{j}", (0, 1)) for j in range(20))
CASES = list(itertools.product(["add_remove", "replace_one"], [None, 4]))


def fit_of(neighbors, persons, n_classes, features, **options):
    """A classifier with enough signal for choices, as far as its hint says."""
    schema = Schema(features, Target(classes=tuple(range(n_classes))))
    shape = {"n_hint": 10_000, "n_estimators": 2, "trees_per_round": 1, "max_depth": 2, **options}
    return PrivateForestClassifier(
        schema=schema, neighbors=neighbors, max_records_per_group=persons, **shape
    )


def tables(neighbors, persons, features):
    """Two tables that share six records; the last person is another, or not there."""
    n = 4 if persons else 1
    rows = np.arange(6)[:, None] % 2 + np.zeros((1, len(features)), int)
    y, ids = np.arange(6) % 2, np.arange(6)
    odd = np.tile([[0, 1] * (len(features) // 2) + [0] * (len(features) % 2)], (n, 1))

    def table(*more):
        X = np.vstack([rows, *more])
        who = np.append(ids, [6] * (len(X) - 6)) if persons else None
        return Table(X, np.append(y, [1] * (len(X) - 6)), who)

    return table() if neighbors == "add_remove" else table(1 - odd), table(odd)


def against_others(persons):
    """Twenty records of one class in one place, without and with a person of the other class."""
    n = persons or 1
    X = np.array([[0, 0, 0]] * 20 + [[0, 1, 0]] * n)
    ids = np.array([*range(20), *[20] * n]) if persons else None
    y = np.array([1] * 20 + [0] * n)
    return Table(X[:20], y[:20], None if ids is None else ids[:20]), Table(X, y, ids)


@pytest.mark.parametrize(("neighbors", "persons"), CASES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("features", [FEW, MANY], ids=["trees", "questions"])
def test_choices_lose_no_more_than_is_claimed(neighbors, persons, n_classes, features):
    forest = fit_of(neighbors, persons, n_classes, features)
    report = replay(forest, *tables(neighbors, persons, features), common=6)
    assert report.holds, str(report)
    assert report.mu > 0


@pytest.mark.parametrize("persons", [None, 4])
def test_a_choice_of_a_tree_can_lose_nearly_all_of_its_price(monkeypatch, persons):
    """Records that cancel others in the leaves of some trees, and have leaves alone in others."""
    plan = QuestionPlan(Fraction(99, 100), 1, levels=2, candidate_trees=200)
    monkeypatch.setattr(boosted_base, "plan_questions", lambda *facts: plan)
    forest = fit_of("add_remove", persons, 2, FEW)
    report = replay(forest, *against_others(persons), common=20)
    assert report.holds, str(report)
    assert report.mu > 0.95 * report.mu_claim


NUMBERS = tuple(NumericFeature(f"x{j}", 0, 1) for j in range(10))


@pytest.mark.parametrize(("neighbors", "persons"), CASES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("gone_on", [False, True])
def test_a_trial_of_choices_loses_no_more_than_is_claimed(
    monkeypatch, neighbors, persons, n_classes, gone_on
):
    """Whether it is followed by others or by dearer trees."""
    monkeypatch.setattr(choosing, "REPEATED", 0.0 if gone_on else 2.0)
    forest = fit_of(neighbors, persons, n_classes, NUMBERS, n_estimators=6)
    report = replay(forest, *tables(neighbors, persons, NUMBERS), common=6)
    assert report.holds, str(report)
    assert report.mu > 0


@pytest.mark.parametrize("persons", [None, 4])
@pytest.mark.parametrize(("gone_on", "share"), [(True, Fraction(99, 100)), (False, Fraction(1, 2))])
def test_a_trial_and_what_follows_can_lose_nearly_all_of_their_price(
    monkeypatch, persons, gone_on, share
):
    """Records that stand against others for some questions and beside them for the rest."""
    monkeypatch.setattr(choosing, "REPEATED", 0.0 if gone_on else 2.0)
    plan = QuestionPlan(share, 5, levels=1, n_trial=2)
    monkeypatch.setattr(boosted_base, "plan_questions", lambda *facts: plan)
    forest = fit_of("add_remove", persons, 2, FEW, n_estimators=5)
    report = replay(forest, *against_others(persons), common=20)
    assert report.holds, str(report)
    assert report.mu > 0.85 * report.mu_claim


def test_few_categories_choose_trees_and_many_choose_questions(monkeypatch):
    asked = []

    class Choices(questions.QuestionChoices):
        def choose(self, candidates, part):
            asked.append(candidates.feature.shape[1])
            return super().choose(candidates, part)

    monkeypatch.setattr("dpforest.forests.choosing.QuestionChoices", Choices)
    for features, depth in ((FEW, 2), (MANY, 1)):
        asked.clear()
        replay(fit_of("add_remove", None, 2, features), *tables("add_remove", None, features))
        assert set(asked) == {depth}


def test_choices_of_trees_that_take_a_person_for_one_record_are_caught():
    def report():
        forest = fit_of("add_remove", 4, 2, FEW)
        return replay(forest, *tables("add_remove", 4, FEW))

    assert report().holds
    with choices_for_one_record():
        assert not report().holds
