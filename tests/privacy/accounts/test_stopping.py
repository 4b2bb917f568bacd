"""The price of random stopping, against exact laws and against the theorem of the literature."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.audit.searches import kept, worst_gaussian_stopping, worst_pure_stopping
from dpforest.privacy.accounts.accounting import gaussian_delta, mu_for
from dpforest.privacy.accounts.stopping import Stopping

LAWS = [Stopping(eta, odds) for eta in (0, Fraction(1, 2), 1) for odds in (2, 20, 300)]


def probabilities(law, most):
    """P(K = k) for k = 1, ..., most, straight from the definition."""
    factors = [(one + float(law.eta)) / (one + 1) for one in range(1, most)]
    weights = np.append(1.0, np.cumprod(factors)) * (1 - 1 / law.odds) ** np.arange(1, most + 1)
    return weights / weights.sum()


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_mean_chance_and_density_are_those_of_the_law(law):
    most = 40 * law.odds
    chances, k = probabilities(law, most), np.arange(1, most + 1)
    assert law.mean == pytest.approx(chances @ k, rel=1e-9)
    for n in (2, 7, 50):
        assert law.chance(n) == pytest.approx(1 - chances @ (1 - 1 / n) ** k, rel=1e-9)
    for p in (0.0, 1e-3, 0.2, 1.0):
        assert law.density(p) == pytest.approx(chances @ (k * (1 - p) ** (k - 1)), rel=1e-9)


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("epsilon", [0.01, 0.4, 3.0])
def test_pure_claims_are_attained_and_never_exceeded(law, epsilon):
    report = worst_pure_stopping(law, epsilon)
    assert report.holds
    assert report.found == pytest.approx(report.claim, rel=1e-4)
    assert law.pure_epsilon(epsilon) <= (2 + float(law.eta)) * epsilon * (1 + 1e-6)  # literature


@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.floats(-1, 1)), min_size=2, max_size=8),
    st.sampled_from(LAWS),
    st.floats(0.05, 2.0),
)
@settings(max_examples=60)
def test_no_trial_of_a_small_world_loses_more_than_is_claimed(cells, law, epsilon):
    masses, tilts = np.array(cells).T
    one = masses / masses.sum()
    other = one * np.exp(tilts * epsilon / 2)
    other /= other.sum()
    cost = np.abs(np.log(one / other)).max()
    loss = np.abs(np.log(kept(law, one) / kept(law, other))).max()
    assert loss <= law.pure_epsilon(cost) + 1e-12


def test_control_the_price_of_one_trial_does_not_pay_for_the_best_of_many(monkeypatch):
    monkeypatch.setattr(Stopping, "pure_epsilon", lambda law, epsilon: epsilon)
    monkeypatch.setattr(Stopping, "delta", lambda law, mu, epsilon: gaussian_delta(mu, epsilon))
    law = Stopping(1, 20)
    assert not worst_pure_stopping(law, 0.4).holds
    assert not worst_gaussian_stopping(law, mu_for(1.0, 1e-6), 1.0).holds


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.2, 1e-4), (5.0, 1e-9)])
def test_gaussian_claims_hold_and_are_near(law, epsilon, delta):
    mu = law.trial_mu(epsilon, delta)
    report = worst_gaussian_stopping(law, mu, epsilon, cells=2000)
    assert report.holds
    # In terms of mu: a sixth more would break the claim.
    assert worst_gaussian_stopping(law, mu * 7 / 6, epsilon, cells=2000).found > delta


def renyi_epsilon(law, mu, delta):
    """Theorem 2 of Papernot and Steinke (2022) for Gaussian trials, at the best orders."""
    orders = np.concatenate([np.linspace(1.05, 20, 300), np.geomspace(20, 5000, 500)])
    inner = (1 - 1 / orders) * orders * mu**2 / 2 + math.log(law.odds) / orders
    curve = mu**2 * orders / 2 + (1 + float(law.eta)) * inner.min()
    curve += math.log(law.mean) / (orders - 1)
    pairs = curve + np.log1p(-1 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1)
    return float(pairs.min())


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.2, 1e-4), (5.0, 1e-9)])
def test_gaussian_claims_are_below_those_of_the_literature(law, epsilon, delta):
    mu = law.trial_mu(epsilon, delta)
    assert law.delta(mu, epsilon) <= delta
    assert law.delta(mu * 1.001, epsilon) > delta
    assert renyi_epsilon(law, mu, delta) > epsilon


def test_a_finer_reckoning_of_delta_lies_below_and_near(monkeypatch):
    from dpforest.privacy.accounts import stopping

    law, mu = Stopping(1, 50), 0.13
    coarse = law.delta(mu, 1.0)
    stopping._delta.cache_clear()
    monkeypatch.setattr(stopping, "_PLACES", np.linspace(-9, 9, 400_001))
    monkeypatch.setattr(stopping, "_CHORDS", 200)
    fine = law.delta(mu, 1.0)
    stopping._delta.cache_clear()
    assert fine < coarse < fine * 1.05


def test_a_law_that_is_none_is_refused():
    for eta, odds in ((2, 20), (-1, 20), (1, 1), (1, 2.5)):
        with pytest.raises(ValueError, match="expected"):
            Stopping(eta, odds)
    assert Stopping(1, 20).delta(0.0, 1.0) == 0
