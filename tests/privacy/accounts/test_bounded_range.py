"""What a bounded range costs: against mpmath, and against the trade-off of laws that have it."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from dpforest.privacy.accounts.bounded_range import (
    BoundedRange,
    bounded_range_for,
    mu_of_bounded_range,
)
from dpforest.privacy.accounts.spends import Gaussian
from dpforest.privacy.mechanisms.selection import exponential_probabilities

LENGTHS = st.floats(1e-12, 60) | st.sampled_from([1e-300, 1e-9, 1e-4, 1e-3, 200.0])


def precise_mu(length):
    """2 Phi^-1(1 / (1 + exp(-length / 2))), to 40 digits."""
    with mpmath.workdps(40):
        wanted = 1 / (1 + mpmath.exp(mpmath.mpf(length) / 2))
        start = mpmath.mpf(mu_of_bounded_range(length)) / 2
        return -2 * mpmath.findroot(
            lambda z: mpmath.log(mpmath.ncdf(z)) - mpmath.log(wanted), -start
        )


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-6, 60))
def test_it_is_the_formula_rounded_up(length):
    mu, exact = mu_of_bounded_range(length), precise_mu(length)
    assert exact <= mu
    assert mu <= float(exact) * (1 + 1e-9) + 1e-14


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


@pytest.mark.parametrize("length", [0.01, 0.5, 3.0])
def test_the_claim_is_tight_for_two_points(length):
    q = 1 / (1 + math.exp(-length / 2))
    found = mu_of_laws(np.array([1 - q, q]), np.array([q, 1 - q]))
    assert found == pytest.approx(mu_of_bounded_range(length), rel=1e-6)


def test_control_the_pure_epsilon_of_a_choice_is_no_mu():
    """Half of the range, were it claimed as mu, would be caught by two points."""
    q = 1 / (1 + math.exp(-0.5))
    assert mu_of_laws(np.array([1 - q, q]), np.array([q, 1 - q])) > 0.5 * 1.0


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-9, 20))
def test_a_planned_range_costs_at_most_its_mu_and_hardly_less(mu):
    length = bounded_range_for(mu)
    assert mu * (1 - 1e-6) <= mu_of_bounded_range(length) <= mu


@settings(max_examples=100, deadline=None)
@given(LENGTHS, LENGTHS)
def test_longer_ranges_never_cost_less(one, other):
    short, long = sorted((one, other))
    assert mu_of_bounded_range(short) <= mu_of_bounded_range(long) * (1 + 1e-11)


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
