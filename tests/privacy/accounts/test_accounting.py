"""Curves against mpmath, dp_accounting and enumeration; each check with a control that fails."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import binom

from dpforest.privacy.accounts.accounting import (
    gaussian_delta,
    gaussian_epsilon,
    mixture_epsilon,
    mu_for,
    mu_of_discrete_gaussian,
    pure_beside,
    sigma2_for,
)

mus = st.floats(1e-2, 30)
epsilons = st.floats(0, 50)
deltas = st.floats(1e-100, 0.5)


def precise_delta(mu: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


def naive_delta(mu: float, epsilon: float) -> float:
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


# The Gaussian curve


@settings(max_examples=300, deadline=None)
@given(mus, epsilons)
def test_delta_is_exact_to_ten_digits_and_never_below(mu, epsilon):
    exact = precise_delta(mu, epsilon)
    assume(exact > 1e-290)
    assert exact <= gaussian_delta(mu, epsilon) <= exact * (1 + mpmath.mpf(10) ** -10)


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-7, 1e-2), st.floats(0, 30))
def test_delta_is_never_below_for_tiny_mu(mu, spread):
    assert gaussian_delta(mu, spread * mu) >= precise_delta(mu, spread * mu)


def test_control_naive_curve_falls_below():
    grid = [(0.01 * k, 0.06 * k) for k in range(1, 40)]
    assert any(naive_delta(mu, eps) < precise_delta(mu, eps) for mu, eps in grid)


@pytest.mark.parametrize("mu", [0.05, 0.24, 1.0, 5.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 4.0])
def test_delta_agrees_with_dp_accounting(mu, epsilon):
    oracle = GaussianPrivacyLoss(1 / mu).get_delta_for_epsilon(epsilon)
    assert gaussian_delta(mu, epsilon) == pytest.approx(oracle, rel=1e-9, abs=1e-15)


@settings(max_examples=100, deadline=None)
@given(mus, deltas)
def test_epsilon_inverts_delta_from_above(mu, delta):
    epsilon = gaussian_epsilon(mu, delta)
    assert precise_delta(mu, epsilon) <= delta
    # Tight to 1e-9, and to 1e-10 where epsilon itself is tiny.
    less = epsilon * (1 - 1e-9) - 1e-10
    if less > 0:
        assert precise_delta(mu, less) > delta


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-3, 50), deltas)
def test_mu_inverts_delta_from_below(epsilon, delta):
    mu = mu_for(epsilon, delta)
    assert precise_delta(mu, epsilon) <= delta
    assert precise_delta(mu * (1 + 1e-8), epsilon) > delta
    assert gaussian_epsilon(mu, delta) <= epsilon


@settings(max_examples=100, deadline=None)
@given(mus, mus, epsilons)
def test_delta_grows_with_mu(one, other, epsilon):
    low, high = sorted([one, other])
    assert gaussian_delta(low, epsilon) <= gaussian_delta(high, epsilon) * (1 + 1e-10)


def test_ends_of_the_curve():
    assert gaussian_delta(0, 1) == gaussian_delta(1, math.inf) == 0
    assert gaussian_delta(math.inf, 1) == 1
    assert gaussian_delta(0.1, 1000) > 0
    assert gaussian_epsilon(0, 0) == 0
    assert gaussian_epsilon(1, 0) == gaussian_epsilon(math.inf, 0.1) == math.inf
    assert gaussian_epsilon(0.1, 0.5) == 0
    assert gaussian_epsilon(1, 5e-324) < 40
    assert mu_for(1, 0) == 0
    assert mu_for(math.inf, 0) == math.inf


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: gaussian_delta(-1, 1), "mu"),
        (lambda: gaussian_delta(math.nan, 1), "mu"),
        (lambda: gaussian_delta(1, -1), "epsilon"),
        (lambda: gaussian_epsilon(1, 1), "delta"),
        (lambda: gaussian_epsilon(-1, 0.1), "mu"),
        (lambda: mu_for(-1, 0.1), "epsilon"),
        (lambda: mu_for(1, -0.1), "delta"),
        (lambda: mu_of_discrete_gaussian(math.inf, 100), "sensitivity"),
        (lambda: mu_of_discrete_gaussian(1, 16), "sigma2"),
        (lambda: sigma2_for(-1, 1), "sensitivity"),
        (lambda: sigma2_for(1, 0), "mu"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(ValueError, match=f"^{name} is .*expected"):
        call()


# The discrete Gaussian is covered


def discrete_gaussian(sigma2: int, center: int, half_width: int) -> np.ndarray:
    z = np.arange(-half_width, half_width + 1)
    weights = np.exp(-((z - center) ** 2) / (2 * sigma2))
    return weights / weights.sum()


def hockey_stick(sigma2: int, shift: tuple[int, ...], epsilon: float) -> float:
    """Exact delta between discrete Gaussians that differ by a vector, by enumeration."""
    half_width = math.ceil(14 * math.sqrt(sigma2))
    moved = here = np.ones(1)
    for step in shift:
        moved = np.multiply.outer(moved, discrete_gaussian(sigma2, step, half_width)).ravel()
        here = np.multiply.outer(here, discrete_gaussian(sigma2, 0, half_width)).ravel()
    return float(np.maximum(moved - math.exp(epsilon) * here, 0).sum())


SHIFTS = [(1,), (2,), (7,), (1, 1), (3, 1), (2, -2)]
SIGMA2S = [17, 20, 50]


def epsilons_of_interest(sigma2: int, shift: tuple[int, ...]) -> list[float]:
    """Where the enumerated curve has its corners, and points between them."""
    mu = math.hypot(*shift) / math.sqrt(sigma2)
    return [mu * mu / 2 + mu * k / 8 for k in range(0, 33, 3)] + [k / sigma2 for k in range(9)]


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("sigma2", SIGMA2S)
def test_gaussian_curve_covers_discrete_noise(sigma2, shift):
    mu = mu_of_discrete_gaussian(math.hypot(*shift), sigma2)
    for epsilon in epsilons_of_interest(sigma2, shift):
        assert hockey_stick(sigma2, shift, epsilon) <= gaussian_delta(mu, epsilon)


def test_control_curve_of_the_same_variance_does_not_cover():
    uncovered = 0
    for sigma2, shift in itertools.product(SIGMA2S, SHIFTS):
        mu = math.hypot(*shift) / math.sqrt(sigma2)
        for epsilon in epsilons_of_interest(sigma2, shift):
            discrete = hockey_stick(sigma2, shift, epsilon)
            uncovered += discrete > gaussian_delta(mu, epsilon) * (1 + 1e-6)
    assert uncovered > 0


@pytest.mark.parametrize("sigma2", [17, 40])
@pytest.mark.parametrize("tau2", [4, Fraction(1, 4)])
def test_discrete_noise_is_a_rounding_of_continuous_noise(sigma2, tau2):
    """The lemma behind the cover, by quadrature; the control rounds too finely and fails."""
    tau2 = float(tau2)
    x = np.linspace(-60, 60, 24_001)
    nu2 = sigma2 - tau2
    density = np.exp(-(x**2) / (2 * nu2)) / math.sqrt(2 * math.pi * nu2)
    k = np.arange(-75, 76)
    normaliser = sum(np.exp(-((j - x) ** 2) / (2 * tau2)) for j in k)
    z = np.arange(-10, 11)
    rounded = [
        np.trapezoid(density * np.exp(-((v - x) ** 2) / (2 * tau2)) / normaliser, x) for v in z
    ]
    worst = np.abs(rounded / discrete_gaussian(sigma2, 0, 80)[80 + z] - 1).max()
    assert (worst < 1e-12) == (tau2 == 4)


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-3, 1e9), st.floats(1e-4, 1e4))
def test_sigma2_is_the_least_that_reaches_mu(sensitivity, mu):
    sigma2 = sigma2_for(sensitivity, mu)
    assert mu_of_discrete_gaussian(sensitivity, sigma2) <= mu
    if 17 < sigma2 < 2**40:
        assert mu_of_discrete_gaussian(sensitivity, sigma2 - 1) > mu


# Mixtures


def exact_mixture_delta(pure, mu, epsilon):
    """Randomised responses (the worst pure mechanisms) composed with a Gaussian, summed exactly."""
    losses, weights = np.zeros(1), np.ones(1)
    for each, count in pure.items():
        truths = np.arange(count + 1)
        added = (2 * truths - count) * float(each)
        chance = binom.pmf(truths, count, 1 / (1 + math.exp(-float(each))))
        losses = np.add.outer(losses, added).ravel()
        weights = np.multiply.outer(weights, chance).ravel()
    left = epsilon - losses
    tails = ndtr(mu / 2 - left / mu) - np.exp(left) * ndtr(-mu / 2 - left / mu)
    return float(weights @ tails)


MIXTURES = [
    ({Fraction(1, 10): 20}, 0.3, 1e-6),
    ({Fraction(1, 2): 1}, 0.2, 1e-6),
    ({Fraction(1, 2): 1, Fraction(1, 20): 5}, 0.2, 1e-8),
    ({Fraction(1, 500): 100}, 0.2, 1e-6),
    ({Fraction(1, 100): 100, Fraction(1, 3): 1}, 1.0, 1e-9),
    ({Fraction(3): 2}, 2.0, 1e-3),
    ({Fraction(1, 2): 1}, 0.2, 1e-12),
]


@pytest.mark.parametrize(("pure", "mu", "delta"), MIXTURES)
def test_mixture_is_safe_and_tight(pure, mu, delta):
    epsilon = mixture_epsilon(pure, mu, delta)
    assert exact_mixture_delta(pure, mu, epsilon) <= delta
    assert exact_mixture_delta(pure, mu, epsilon * 0.98) > delta
    total = float(sum(each * count for each, count in pure.items()))
    assert epsilon <= (total + gaussian_epsilon(mu, delta)) * (1 + 1e-15)


def test_control_larger_of_the_two_is_not_a_bound():
    pure, mu, delta = MIXTURES[0]
    wrong = max(2.0, gaussian_epsilon(mu, delta))
    assert exact_mixture_delta(pure, mu, wrong) > delta


def test_mixture_saves_a_great_deal_on_many_small_spends():
    pure, mu, delta = {Fraction(1, 100): 100}, 0.2, 1e-6
    assert mixture_epsilon(pure, mu, delta) < 0.7 * (1 + gaussian_epsilon(mu, delta))


def test_mixture_of_one_kind_is_the_plain_sum():
    third = Fraction(1, 3)
    assert mixture_epsilon({}, 0.3, 1e-6) == pytest.approx(gaussian_epsilon(0.3, 1e-6), rel=1e-15)
    assert mixture_epsilon({third: 3}, 0, 1e-6) == pytest.approx(1, rel=1e-15)
    assert mixture_epsilon({third: 3}, 0.3, 0) == math.inf


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 10), Fraction(1)])
@pytest.mark.parametrize("parts", [(Fraction(9, 10), Fraction(1, 10)), (Fraction(1, 3),) * 3])
def test_a_pure_epsilon_beside_a_gaussian_fits_and_leaves_little(epsilon, parts):
    mu = 0.15 * mu_for(float(epsilon), 1e-6)
    found = pure_beside(mu, epsilon, 1e-6, parts)
    together = mixture_epsilon({part * found: parts.count(part) for part in parts}, mu, 1e-6)
    assert epsilon * Fraction(999, 1000) < together <= epsilon
