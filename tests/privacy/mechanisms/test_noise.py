"""Discrete noise against its exact distribution and against OpenDP; half the noise is caught."""

import math
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpforest.privacy.mechanisms import noise_kernels
from dpforest.privacy.mechanisms.noise import (
    discrete_gaussian,
    discrete_laplace,
    laplace_scale,
)
from dpforest.privacy.mechanisms.randomness import RandomBits

# Probability that a correct sampler fails one chi-square test of this file (seeds are fixed).
ERROR_RATE = 1e-6
N_DRAWS = 200_000

LAPLACE_SCALES = [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(1000, 37), Fraction(400)]
GAUSSIAN_VARIANCES = [Fraction(1, 5), Fraction(1), Fraction(17, 3), Fraction(100), Fraction(12345)]


def laplace_mass(x, scale):
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * np.exp(-np.abs(x) / float(scale))


def gaussian_mass(x, sigma2):
    far = np.arange(-math.ceil(40 * math.sqrt(sigma2)), math.ceil(40 * math.sqrt(sigma2)) + 1)
    total = np.exp(-(far**2) / (2 * float(sigma2))).sum()
    return np.exp(-(x**2) / (2 * float(sigma2))) / total


def tallies(draws, edges):
    """Counts of draws in bins of integers, tails included."""
    return np.bincount(np.searchsorted(edges, draws, side="right"), minlength=edges.size + 1)


def goodness_of_fit(draws, mass, spread):
    """p-value of the chi-square test against an exact mass function, in about 60 bins."""
    edges = np.unique(np.round(np.linspace(-3 * spread, 3 * spread, 60)).astype(np.int64))
    far = np.arange(-math.ceil(45 * spread) - 2, math.ceil(45 * spread) + 3)
    expected = np.bincount(
        np.searchsorted(edges, far, side="right"), weights=mass(far), minlength=edges.size + 1
    )
    assert expected.sum() == pytest.approx(1, abs=1e-9)
    used = expected * draws.size > 5
    observed = tallies(draws, edges)
    merged_observed = np.append(observed[used], observed[~used].sum())
    merged_expected = np.append(expected[used], 1 - expected[used].sum()) * draws.size
    keep = merged_expected > 1e-3
    assert merged_observed[~keep].sum() == 0
    statistic = ((merged_observed - merged_expected)[keep] ** 2 / merged_expected[keep]).sum()
    return stats.chi2.sf(statistic, keep.sum() - 1)


@pytest.mark.parametrize("scale", LAPLACE_SCALES)
def test_laplace_has_its_distribution_and_half_the_noise_is_caught(scale):
    def fit(draws):
        return goodness_of_fit(draws, lambda x: laplace_mass(x, scale), 1.5 * float(scale) + 1)

    assert fit(discrete_laplace(scale, N_DRAWS, RandomBits(11))) > ERROR_RATE
    assert fit(discrete_laplace(scale / 2, N_DRAWS, RandomBits(11))) < ERROR_RATE


@pytest.mark.parametrize("sigma2", GAUSSIAN_VARIANCES)
def test_gaussian_has_its_distribution_and_half_the_noise_is_caught(sigma2):
    def fit(draws):
        spread = math.sqrt(sigma2) + 0.5
        return goodness_of_fit(draws, lambda x: gaussian_mass(x, sigma2), spread)

    assert fit(discrete_gaussian(sigma2, N_DRAWS, RandomBits(12))) > ERROR_RATE
    assert fit(discrete_gaussian(sigma2 / 4, N_DRAWS, RandomBits(12))) < ERROR_RATE


def opendp_draws(draw, parameter, size):
    """OpenDP's draws from the same law; the scales here are floats, exactly."""
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if draw is discrete_laplace:
        measure = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), float(parameter))
    else:
        measure = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), math.sqrt(parameter))
    return np.asarray(measure([0] * size), dtype=np.int64)


@pytest.mark.parametrize(
    ("draw", "parameter", "half"),
    [
        (discrete_laplace, Fraction(3), Fraction(3, 2)),
        (discrete_laplace, Fraction(51, 2), Fraction(51, 4)),
        (discrete_gaussian, Fraction(9), Fraction(9, 4)),
        (discrete_gaussian, Fraction(900), Fraction(225)),
    ],
)
def test_opendp_draws_the_same_and_half_the_noise_is_caught(draw, parameter, half):
    theirs = opendp_draws(draw, parameter, 15_000)
    edges = np.unique(np.quantile(theirs, np.linspace(0.02, 0.98, 25)).astype(np.int64))

    def same(ours):
        table = np.array([tallies(theirs, edges), tallies(ours, edges)])
        return stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue

    # OpenDP cannot be seeded: a correct pair fails here once in a million runs.
    assert same(draw(parameter, 60_000, RandomBits(13))) > ERROR_RATE
    assert same(draw(half, 60_000, RandomBits(13))) < ERROR_RATE


def test_far_tails_of_large_scales_do_not_overflow():
    draws = discrete_laplace(Fraction(1 << 40), 20_000, RandomBits(1))
    assert stats.kstest(draws / 2.0**40, "laplace").pvalue > ERROR_RATE
    draws = discrete_gaussian(1 << 46, 20_000, RandomBits(1))
    assert stats.kstest(draws / 2.0**23, "norm").pvalue > ERROR_RATE
    fine = Fraction((1 << 40) - 1, (1 << 40) - 3)
    assert abs(discrete_laplace(fine, 20_000, RandomBits(1)).std() - 1.36) < 0.1
    assert not discrete_laplace(Fraction(1, 1 << 40), 1000, RandomBits(1)).any()
    assert not discrete_gaussian(Fraction(1, 1 << 46), 1000, RandomBits(1)).any()


def decided(coin):
    """Over every pair of bytes: the share that says yes, and the share that needs a third."""
    yes = unsure = 0
    buffer = np.empty(2, dtype=np.uint8)
    for first in range(256):
        for second in range(256):
            buffer[:] = first, second
            hit, pos = coin(buffer)
            yes += pos <= 2 and hit
            unsure += pos > 2
    return yes / 65536, unsure / 65536


@pytest.mark.parametrize(("n", "d"), [(0, 1), (1, 1), (1, 2), (1, 3), (5, 7), (99, 1000)])
def test_a_rational_coin_reads_the_binary_digits_of_its_probability(n, d):
    yes, unsure = decided(lambda buffer: noise_kernels.flip(buffer, 0, n, d))
    assert yes == (65536 * n // d) / 65536
    assert unsure == ((65536 * n) % d > 0) / 65536


@pytest.mark.parametrize(("n", "d"), [(0, 1), (1, 3), (3, 4), (1, 1), (5, 2)])
def test_an_exponential_coin_lies_between_what_two_bytes_decide(n, d):
    yes, unsure = decided(lambda buffer: noise_kernels.flip_exp(buffer, 0, n, d))
    assert yes <= math.exp(-n / d) <= yes + unsure
    assert unsure < 0.75


@settings(max_examples=200, deadline=None)
@given(
    epsilon=st.floats(1e-6, 200) | st.fractions(Fraction(1, 10**6), 200),
    sensitivity=st.integers(1, 1000),
)
def test_the_scale_never_costs_more_than_asked(epsilon, sensitivity):
    scale, cost = laplace_scale(epsilon, sensitivity)
    assert cost == sensitivity / scale
    assert Fraction(epsilon) * (1 - Fraction(1, 10**9)) <= cost <= Fraction(epsilon)
    assert discrete_laplace(scale, 2, RandomBits(0)).shape == (2,)


@pytest.mark.parametrize("size", [0, 1, (), (3, 4), (0, 5)])
def test_shapes(size):
    bits = RandomBits(0)
    assert discrete_laplace(2, size, bits).shape == np.empty(size).shape
    assert discrete_gaussian(2, size, bits).shape == np.empty(size).shape


@pytest.mark.parametrize("scale", [0, -1, Fraction(1, 2**41), 2**41])
def test_laplace_refuses_scales_out_of_range(scale):
    with pytest.raises(ValueError, match="laplace_scale"):
        discrete_laplace(scale, 1, RandomBits())


@pytest.mark.parametrize("sigma2", [0, -1, Fraction(1, 2**47), 2**47])
def test_gaussian_refuses_variances_out_of_range(sigma2):
    with pytest.raises(ValueError, match="sigma2 must be a positive fraction"):
        discrete_gaussian(sigma2, 1, RandomBits())


@pytest.mark.parametrize(
    ("epsilon", "sensitivity"),
    [(0, 1), (-1, 1), (math.inf, 1), (math.nan, 1), (1, 0), (1e-13, 1)],
)
def test_laplace_scale_refuses_what_it_cannot_do(epsilon, sensitivity):
    with pytest.raises(ValueError, match="epsilon"):
        laplace_scale(epsilon, sensitivity)
