"""Answers are moved and stretched by what residuals show beyond their noise, and it is paid for."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpforest import NumericFeature, PrivateForestRegressor, Schema, Target
from dpforest.forests import boosted_numbers, linear_plan, plan
from dpforest.forests.straightening import (
    LARGEST_STRETCH,
    NOT_STRAIGHTENED,
    line,
    plan_straightening,
)
from dpforest.losses import Squared
from dpforest.privacy.gradients import GradientRelease

SCHEMA = Schema((NumericFeature("a", 0, 1), NumericFeature("b", 0, 1)), Target(low=0.0, high=20.0))
LABEL = "residuals by score"


def tailed(n=6_000, seed=0):
    """Targets whose mean is three, with a long tail to the right."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, np.clip(rng.exponential(1.0 + 4.0 * X[:, 0]), 0.0, 20.0)


def ledger_lines(model):
    return [line for line in model.ledger_.explain().splitlines() if LABEL in line]


def of_cells(residuals, counts, deviation):
    return GradientRelease(-residuals.reshape(1, -1, 1), counts.reshape(1, -1), deviation)


def test_answers_are_unbiased_where_clipping_bends_them(monkeypatch):
    """Five fits each; the target's mean is 3, its deviation 3.7."""
    X, y = tailed()
    means = {}
    for straight in (True, False):
        if not straight:
            monkeypatch.setattr(boosted_numbers, "plan_straightening", lambda *_: NOT_STRAIGHTENED)
        models = [PrivateForestRegressor(schema=SCHEMA, random_state=s).fit(X, y) for s in range(5)]
        means[straight] = np.mean([model.predict(X).mean() for model in models])
        assert all(bool(ledger_lines(model)) == straight for model in models)
    assert means[False] < y.mean() - 0.4
    assert abs(means[True] - y.mean()) < 0.2


def too_low_counts_four_times(scores, target, slopes, curvatures, center, width):
    """Derivatives of a squared loss where what is too low counts four times."""
    apart = scores[0] - (target - center) / width
    slopes[0] = np.where(apart < 0, apart, apart / 4)
    curvatures[:] = 1.0


@dataclass(frozen=True)
class Careful(Squared):
    kernel = staticmethod(too_low_counts_four_times)


class CarefulRegressor(PrivateForestRegressor):
    def _loss(self):
        return Careful(self.target_center_, self.target_width_)


def test_answers_of_a_loss_are_straightened_by_that_loss():
    """Of an exponential law 63 % lie below the mean, 80 % below what the careful loss asks.

    With curvatures that are at most one, a single look goes part of the way.
    """
    rng = np.random.default_rng(0)
    X = rng.random((20_000, 2))
    y = np.minimum(rng.exponential(size=20_000), 20.0)
    below = {}
    for kind in (PrivateForestRegressor, CarefulRegressor):
        model = kind(epsilon=4.0, schema=SCHEMA, random_state=0).fit(X, y)
        assert ledger_lines(model)
        below[kind] = np.mean(y < model.predict(X))
    assert below[PrivateForestRegressor] == pytest.approx(0.63, abs=0.03)
    assert 0.69 < below[CarefulRegressor] < 0.83


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=4),
    st.lists(st.floats(-1e3, 1e6), min_size=4, max_size=4),
    st.lists(st.floats(-3, 3), min_size=4, max_size=4),
    st.floats(0, 1e4),
)
@example([0.0] * 4, [0.0, 0.0, 0.0, 2.6e-189], [0.0, 0.0, 0.0, 1.0], 0.0)
def test_whatever_the_noise_answers_keep_their_order(residuals, counts, middles, deviation):
    release = of_cells(np.array(residuals), np.array(counts), deviation)
    shift, stretch = line(release, np.sort(middles))
    assert np.isfinite(shift)
    assert -1.0 < -LARGEST_STRETCH / 2 <= stretch <= LARGEST_STRETCH


def test_what_could_be_noise_moves_nothing():
    middles, counts = np.array([-1.0, -0.3, 0.3, 1.0]), np.full(4, 500.0)
    noise = np.random.default_rng(0).normal(0, 100, 4)
    assert line(of_cells(noise, counts, 200.0), middles) == (0.0, 0.0)


def test_the_less_signal_the_dearer_and_the_nearer_until_it_is_given_up():
    plans = [plan_straightening(plan.Purse(1.0, 1e-6), n) for n in (1e6, 1e5, 1e4, 5e3, 2e3, 1e3)]
    shares, reaches = [p.share for p in plans], [p.reach for p in plans]
    assert plans[-1] == NOT_STRAIGHTENED
    assert shares[:-1] == sorted(shares[:-1])
    assert reaches == sorted(reaches, reverse=True)
    for purse in (plan.Purse(1.0, 0.0), plan.Purse(np.inf, 1e-6)):
        assert plan_straightening(purse, 1e6) == NOT_STRAIGHTENED


@pytest.mark.parametrize("loss", ["absolute", "quantile"])
def test_quantiles_are_left_as_they_are(loss):
    X, y = tailed()
    assert not ledger_lines(PrivateForestRegressor(schema=SCHEMA, loss=loss).fit(X, y))


def test_a_model_without_trees_is_straightened_too(monkeypatch):
    monkeypatch.setattr(linear_plan, "LINEAR_SIGNAL", 1e9)
    X, y = tailed()
    model = PrivateForestRegressor(schema=SCHEMA, random_state=0).fit(X, y)
    assert model.plan_ == plan.NO_TREES
    assert ledger_lines(model)
    assert abs(model.predict(X).mean() - y.mean()) < 0.4
