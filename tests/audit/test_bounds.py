import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from dpforest.audit.bounds import epsilon_bound, mu_bound, probability_bounds


@pytest.mark.parametrize("probability", [0.0, 0.003, 0.3, 0.97, 1.0])
def test_probability_bounds_err_as_rarely_as_they_say(probability):
    n, error = 200, 0.01
    hits = np.arange(n + 1)
    low, high = probability_bounds(hits, n, error)
    chance = binom.pmf(hits, n, probability)
    assert chance[low > probability].sum() <= error
    assert chance[high < probability].sum() <= error


@given(st.integers(0, 100), st.integers(0, 100))
def test_more_hits_prove_more(hits, other):
    bound = epsilon_bound(hits, other, 100, delta=0.0, confidence=0.99)
    assert bound >= 0
    assert epsilon_bound(min(hits + 1, 100), other, 100, delta=0.0, confidence=0.99) >= bound


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.2), (0.1, 0.01)])
def test_epsilon_bound_errs_as_rarely_as_it_says(p, q):
    # Exactly, over all outcomes: the bound exceeds the truth with at most the stated error.
    n, confidence = 60, 0.9
    hits = np.arange(n + 1)
    bounds = epsilon_bound(hits[:, None], hits[None, :], n, delta=0.0, confidence=confidence)
    chance = binom.pmf(hits, n, p)[:, None] * binom.pmf(hits, n, q)[None, :]
    assert chance[bounds > math.log(p / q)].sum() <= 1 - confidence


def test_delta_is_given_away():
    with_delta = epsilon_bound(500, 10, 1000, delta=0.1, confidence=0.999)
    assert with_delta < epsilon_bound(500, 10, 1000, delta=0.0, confidence=0.999)


def test_mu_bound_errs_as_rarely_as_it_says():
    n, confidence, mu = 60, 0.9, 1.0
    p, q = norm.cdf(0.5), norm.cdf(-0.5)
    hits = np.arange(n + 1)
    bounds = mu_bound(hits[:, None], hits[None, :], n, confidence=confidence)
    chance = binom.pmf(hits, n, p)[:, None] * binom.pmf(hits, n, q)[None, :]
    assert chance[bounds > mu].sum() <= 1 - confidence
