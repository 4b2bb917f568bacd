"""Shares of a budget are priced so that together they are all of it."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.forests.purse import Purse
from dpforest.privacy.accounts.accounting import gaussian_epsilon
from dpforest.privacy.accounts.spends import Gaussian, Pure


@settings(max_examples=100, deadline=None)
@given(
    st.floats(0.01, 20),
    st.sampled_from([0.0, 1e-9, 1e-6, 1e-3]),
    st.lists(st.integers(1, 20), min_size=1, max_size=5),
    st.lists(st.integers(1, 500), min_size=5, max_size=5),
)
def test_shares_of_a_purse_add_up_to_it(epsilon, delta, weights, among):
    purse = Purse(epsilon, delta)
    prices = [
        (purse.price(Fraction(weight, sum(weights)), among=parts), parts)
        for weight, parts in zip(weights, among, strict=False)
    ]
    if delta == 0:
        total = sum(price.epsilon * parts for price, parts in prices)
        assert total == Fraction(str(epsilon))
    else:
        mu = math.sqrt(sum(price.mu**2 * parts for price, parts in prices))
        assert gaussian_epsilon(mu, delta) == pytest.approx(epsilon, rel=1e-8)
        assert gaussian_epsilon(mu, delta) <= epsilon


def test_an_infinite_purse_pays_any_price():
    for purse in (Purse(math.inf, 0.0), Purse(math.inf, 1e-6)):
        assert not purse.private
        assert not purse.pure
        assert purse.price(Fraction(1, 100), among=50) == Pure(math.inf)


def test_the_kind_of_noise_follows_from_delta():
    assert isinstance(Purse(1.0, 0.0).price(Fraction(1)), Pure)
    assert isinstance(Purse(1.0, 1e-6).price(Fraction(1)), Gaussian)
