"""What a bounded range costs: against mpmath, and against the trade-off of laws that have it."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_expit, ndtri, ndtri_exp

from dpforest.privacy.accounts.bounded_range import (
    BoundedRange,
    bounded_range_for,
    mu_of_bounded_range,
)
from dpforest.privacy.accounts.spends import Gaussian
from dpforest.privacy.mechanisms.selection import exponential_probabilities


def least_mu(length):
    """2 Phi^-1(1 / (1 + exp(-length / 2))), to 40 digits."""
    with mpmath.workdps(40):
        side = mpmath.tanh(mpmath.mpf(length) / 4)  # 2 / (1 + exp(-length / 2)) - 1
        return 2 * mpmath.sqrt(2) * mpmath.erfinv(side)


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-9, 60))
def test_it_is_no_less_than_the_least_and_hardly_more_for_short_ranges(length):
    mu, least = mu_of_bounded_range(length), least_mu(length)
    assert least <= mu
    assert mu <= float(least) * (1 + length**2 / 100 + 1e-14)


@pytest.mark.parametrize("length", [0.1, 1.0, 5.0, 30.0])
def test_no_place_of_the_range_costs_more(length):
    """The proof's third and fourth step, on a grid: the largest f(x + e) - f(x) is at -e/2."""
    x = np.linspace(-40, 40, 20_001)
    f = [-ndtri_exp(log_expit(-place)) for place in (x, x + length)]
    assert (f[1] - f[0]).max() <= mu_of_bounded_range(length)
    assert (f[1] - f[0]).max() <= float(least_mu(length)) * (1 + 1e-9)


def mu_of_laws(one, two):
    """The least mu of two laws: the largest over the vertices of their trade-off function."""
    order = np.argsort(-(two / one))
    alpha, power = np.cumsum(one[order])[:-1], np.cumsum(two[order])[:-1]
    return (ndtri(power) - ndtri(alpha)).max()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-60, 60), st.integers(-4, 4)), min_size=2, max_size=6),
    st.fractions(Fraction(1, 50), Fraction(1, 4)),
)
def test_no_choice_between_neighbours_costs_more(candidates, rate):
    utilities, changes = np.array(candidates).T
    terms = {"epsilon": 2 * rate, "sensitivity": 1, "monotone": False}
    one = exponential_probabilities(utilities, **terms)
    two = exponential_probabilities(utilities + changes, **terms)
    claimed = BoundedRange(rate, 4).loss.mu
    assert mu_of_laws(one, two) <= claimed + 1e-6


@pytest.mark.parametrize("length", [0.01, 0.1, 0.3])
def test_the_claim_is_tight_for_two_points(length):
    q = 1 / (1 + math.exp(-length / 2))
    found = mu_of_laws(np.array([1 - q, q]), np.array([q, 1 - q]))
    assert found == pytest.approx(mu_of_bounded_range(length), rel=1e-3)


def test_control_the_pure_epsilon_of_a_choice_is_no_mu():
    """Half of the range, were it claimed as mu, would be caught by two points."""
    q = 1 / (1 + math.exp(-0.5))
    assert mu_of_laws(np.array([1 - q, q]), np.array([q, 1 - q])) > 0.5 * 1.0


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-9, 20))
def test_a_planned_range_costs_at_most_its_mu_and_hardly_less(mu):
    length = bounded_range_for(mu)
    assert mu * (1 - 1e-12) <= mu_of_bounded_range(length) <= mu


def test_ends():
    assert mu_of_bounded_range(0) == 0.0
    assert BoundedRange(math.inf, 4).loss == Gaussian(math.inf)
    assert BoundedRange("1/100", 5) == BoundedRange(Fraction(1, 100), Fraction(5))
    for bad in (-1.0, math.nan):
        with pytest.raises(ValueError, match="expected a number of at least 0"):
            mu_of_bounded_range(bad)
    for bad in (0.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="expected a finite number above 0"):
            bounded_range_for(bad)
