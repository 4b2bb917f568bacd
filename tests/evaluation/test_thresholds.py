"""Thresholds: the best of the borders without noise, honest about the choice with it."""

import math

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression

from dpforest import evaluate, tune_threshold
from dpforest.privacy.outcome_cells import SCORE_EDGES

RNG = np.random.default_rng(2)
X = RNG.standard_normal((6000, 2))
Y = (X[:, 0] + RNG.standard_normal(6000) > 1).astype(int)
MODEL = LogisticRegression().fit(X[:500], Y[:500])
SCORES = MODEL.predict_proba(X)[:, 1]


def at(threshold, rows=slice(None)):
    says, truth = SCORES[rows] > threshold, Y[rows] == 1
    return {
        "recall": says[truth].mean(),
        "precision": truth[says].mean(),
        "accuracy": (says == truth).mean(),
        "false_positive_rate": says[~truth].mean(),
    }


def cost_at(threshold, false_positive, false_negative):
    says, truth = threshold < SCORES, Y == 1
    return false_positive * (says & ~truth).mean() + false_negative * (~says & truth).mean()


@pytest.mark.parametrize("cost", [(1, 1), (1, 10), (10, 1), (0, 1), (1, 0)])
def test_without_noise_the_threshold_of_least_cost_is_found(cost):
    found = tune_threshold(evaluate(MODEL, X, Y, epsilon=math.inf), cost=cost)
    costs = [cost_at(edge, *cost) for edge in SCORE_EDGES]
    assert found.cost.value == pytest.approx(min(costs))
    assert cost_at(found.value, *cost) == pytest.approx(min(costs))


@pytest.mark.parametrize("recall", [0.2, 0.5, 0.9, 1.0])
def test_without_noise_the_recall_is_reached_by_the_highest_border(recall):
    found = tune_threshold(evaluate(MODEL, X, Y, epsilon=math.inf), recall=recall)
    exact = at(found.value)
    assert exact["recall"] >= recall
    for name, value in exact.items():
        assert getattr(found, name).value == pytest.approx(value)
    following = SCORE_EDGES[np.searchsorted(SCORE_EDGES, found.value) + 1]
    assert at(following)["recall"] < recall


def test_figures_of_the_chosen_threshold_are_covered():
    """200 samples of 1,500; error rate 1e-6 a figure."""
    runs, hits = 200, dict.fromkeys(("recall", "precision", "accuracy"), 0)
    for run in range(runs):
        rows = np.random.default_rng(run).integers(0, len(X), 1500)
        result = evaluate(MODEL, X[rows], Y[rows], epsilon=1.0, random_state=run + 1)
        found = tune_threshold(result, cost=(1, 4))
        for name in hits:
            figure = getattr(found, name)
            hits[name] += figure.low <= at(found.value)[name] <= figure.high
    assert min(hits.values()) >= binom.ppf(1e-6, runs, 0.95)


def test_tuning_is_free():
    result = evaluate(MODEL, X, Y, epsilon=0.5)
    before = result.ledger.entries
    assert set(tune_threshold(result, recall=0.8).to_dict()) >= {"value", "recall", "precision"}
    assert result.ledger.entries == before


def test_bad_questions_are_refused():
    result = evaluate(MODEL, X, Y, epsilon=1.0)
    for options, message in [
        ({}, "either cost"),
        ({"cost": (1, 1), "recall": 0.5}, "either cost"),
        ({"cost": (0, 0)}, "not both 0"),
        ({"cost": (-1, 2)}, "at least 0"),
        ({"recall": 0.0}, "a share above 0"),
        ({"recall": 1.5}, "a share above 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            tune_threshold(result, **options)
    nothing = evaluate(MODEL, X[:30], Y[:30], epsilon=0.01)
    for options in ({"cost": (1, 4)}, {"recall": 0.8}):
        with pytest.raises(ValueError, match="the noise of the evaluation covers"):
            tune_threshold(nothing, **options)
    three = LogisticRegression().fit(X, Y + (X[:, 1] > 1))
    with pytest.raises(ValueError, match="two classes"):
        tune_threshold(evaluate(three, X, Y, epsilon=1.0), recall=0.5)
