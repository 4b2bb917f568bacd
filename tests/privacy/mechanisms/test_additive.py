"""Noise for a price: never dearer than asked, hardly cheaper, and as wide as it says."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.privacy.accounts.accounting import mu_of_discrete_gaussian, sigma2_for
from dpforest.privacy.accounts.prices import finest_grid
from dpforest.privacy.accounts.spends import Gaussian, Pure
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.privacy.mechanisms.noise import GAUSSIAN_LIMIT, LAPLACE_LIMIT
from dpforest.privacy.mechanisms.randomness import RandomBits


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-4, 50), st.integers(1, 10_000))
def test_laplace_noise_costs_what_was_asked_and_not_more(epsilon, l1):
    noise = AdditiveNoise.for_price(Pure(epsilon), l1=l1, l2=1.0)
    asked = Pure(epsilon).epsilon
    assert noise.loss == Pure(Fraction(l1) / noise.parameter)
    assert asked * (1 - Fraction(1, 10**8)) <= noise.loss.epsilon <= asked


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-3, 10), st.floats(1, 10_000))
def test_gaussian_noise_costs_what_was_asked_and_not_more(mu, l2):
    if sigma2_for(l2, mu) > GAUSSIAN_LIMIT:
        with pytest.raises(ValueError, match="more noise than the exact sampler draws"):
            AdditiveNoise.for_price(Gaussian(mu), l1=1, l2=l2)
        return
    noise = AdditiveNoise.for_price(Gaussian(mu), l1=1, l2=l2)
    assert noise.loss.mu <= mu
    assert noise.loss.mu == mu_of_discrete_gaussian(l2, noise.parameter)
    if l2 / mu > 1_000:
        assert noise.loss.mu > mu * (1 - 1e-6)


@pytest.mark.parametrize("price", [Pure(math.inf), Gaussian(math.inf)])
def test_an_infinite_price_buys_exact_totals(price):
    noise = AdditiveNoise.for_price(price, l1=3, l2=3.0)
    totals = np.arange(5)
    assert noise.parameter is None
    assert noise.loss == price
    assert noise.deviation == 0
    assert noise.mechanism(1) == "no noise"
    np.testing.assert_array_equal(noise.added_to(totals, RandomBits(0)), totals)


@pytest.mark.parametrize(
    "price", [Pure(0.01), Pure(0.5), Pure(3), Gaussian(0.01), Gaussian(0.2)], ids=str
)
def test_noise_is_as_wide_as_it_says(price):
    """Mean square of 40,000 draws; the error of a Laplace variance is sqrt(5/n): 5 of them."""
    noise = AdditiveNoise.for_price(price, l1=2, l2=2.0)
    totals = np.full((200, 200), 10**6)
    drawn = noise.added_to(totals, RandomBits(1)) - totals
    assert drawn.std() == pytest.approx(noise.deviation, rel=2.5 * math.sqrt(5 / 40_000))
    assert abs(drawn.mean()) < 5 * noise.deviation / 200
    # Each total has noise of its own.
    assert len(np.unique(drawn[:, 0])) > 1
    assert abs(np.corrcoef(drawn[:, 0], drawn[:, 1])[0, 1]) < 5 / math.sqrt(200)


def test_control_noise_for_half_the_sensitivity_is_caught():
    """The width tells: noise for half the sensitivity has half the deviation."""
    whole = AdditiveNoise.for_price(Gaussian(0.1), l1=1, l2=100.0)
    half = AdditiveNoise.for_price(Gaussian(0.1), l1=1, l2=50.0)
    assert mu_of_discrete_gaussian(100.0, half.parameter) > 1.9 * whole.loss.mu


def test_the_ledger_is_told_the_width_in_units():
    laplace = AdditiveNoise.for_price(Pure(Fraction(1, 2)), l1=64, l2=64.0)
    assert laplace.mechanism(64) == "discrete Laplace, scale = 2"
    gaussian = AdditiveNoise.for_price(Gaussian(0.5), l1=64, l2=64.0)
    assert gaussian.mechanism(64).startswith("discrete Gaussian, sigma = 2")


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([Pure, Gaussian]),
    st.floats(1e-6, 100),
    st.floats(1, 1_000),
    st.integers(1, 4_096),
)
def test_the_finest_grid_is_within_the_samplers_range(kind, strength, sensitivity, most):
    grid = finest_grid(kind(strength), sensitivity, most)
    assert 1 <= grid <= most
    deviation = grid * sensitivity / strength
    if deviation < 1 << 22:
        noise = AdditiveNoise.for_price(
            kind(strength), l1=math.ceil(grid * sensitivity), l2=grid * sensitivity
        )
        largest = LAPLACE_LIMIT if kind is Pure else GAUSSIAN_LIMIT
        assert noise.parameter.numerator <= largest
        noise.added_to(np.zeros(1, np.int64), RandomBits(0))
    else:
        assert grid == 1
    assert finest_grid(kind(math.inf), sensitivity, most) == most
