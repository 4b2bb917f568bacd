"""Private choices: exact distributions, exhaustive privacy, samplers that match."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpforest.privacy.mechanisms.randomness import RandomBits
from dpforest.privacy.mechanisms.selection import (
    exponential_mechanism,
    exponential_probabilities,
    permute_and_flip,
    permute_and_flip_probabilities,
    selection_rate,
)

# Probability that a correct sampler fails one chi-square test of this file (seeds are fixed).
ERROR_RATE = 1e-6
PROBABILITIES = [exponential_probabilities, permute_and_flip_probabilities]
EPSILON = Fraction(4)  # so much that small tables come close to the worst


def worst_loss(left, right, probabilities, **options):
    """Largest log ratio of output probabilities, over rows of neighbouring utilities."""
    a = np.log(probabilities(left, **options))
    b = np.log(probabilities(right, **options))
    return np.abs(a - b).max()


def neighbouring_counts(n_classes, largest):
    """Every pair of count vectors of which one has one record more."""
    small = np.array(list(itertools.product(range(largest + 1), repeat=n_classes)))
    steps = np.eye(n_classes, dtype=np.int64)
    return np.repeat(small, n_classes, axis=0), (small[:, None] + steps).reshape(-1, n_classes)


def neighbouring_utilities(n_candidates, largest):
    """Every pair of utility vectors that differ by at most 1 in every entry."""
    small = np.array(list(itertools.product(range(largest + 1), repeat=n_candidates)))
    steps = np.array(list(itertools.product((-1, 0, 1), repeat=n_candidates)))
    left = np.repeat(small, len(steps), axis=0)
    return left, (small[:, None] + steps).reshape(-1, n_candidates)


@pytest.mark.parametrize("probabilities", PROBABILITIES)
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_counts_cost_epsilon_and_half_the_noise_does_not_hold(probabilities, n_classes):
    left, right = neighbouring_counts(n_classes, 5)
    options = {"sensitivity": 1, "monotone": True}
    loss = worst_loss(left, right, probabilities, epsilon=EPSILON, **options)
    assert 0.9 * EPSILON < loss <= EPSILON + 1e-12
    assert worst_loss(left, right, probabilities, epsilon=2 * EPSILON, **options) > EPSILON


@pytest.mark.parametrize("probabilities", PROBABILITIES)
def test_other_utilities_cost_epsilon_and_the_monotone_rate_does_not_hold(probabilities):
    left, right = neighbouring_utilities(3, 6)
    options = {"epsilon": EPSILON, "sensitivity": 1}
    loss = worst_loss(left, right, probabilities, monotone=False, **options)
    assert 0.9 * EPSILON < loss <= EPSILON + 1e-12
    assert worst_loss(left, right, probabilities, monotone=True, **options) > EPSILON


def test_weights_cost_nothing():
    left, right = neighbouring_counts(3, 5)
    options = {"sensitivity": 1, "monotone": True, "weights": [1, 1000, 7]}
    loss = worst_loss(left, right, exponential_probabilities, epsilon=EPSILON, **options)
    assert 0.9 * EPSILON < loss <= EPSILON + 1e-12
    broken = worst_loss(left, right, exponential_probabilities, epsilon=2 * EPSILON, **options)
    assert broken > EPSILON


def by_permutations(utilities, rate):
    """Permute-and-flip by its definition, over every order."""
    coins = np.exp(-rate * (max(utilities) - np.array(utilities)))
    total = np.zeros(len(utilities))
    for order in itertools.permutations(range(len(utilities))):
        reached = 1.0
        for i in order:
            total[i] += reached * coins[i]
            reached *= 1 - coins[i]
    return total / math.factorial(len(utilities))


@given(utilities=st.lists(st.integers(-8, 8), min_size=1, max_size=6))
def test_permute_and_flip_probabilities_follow_from_the_definition(utilities):
    exact = permute_and_flip_probabilities(utilities, epsilon=1, sensitivity=1, monotone=True)
    assert exact == pytest.approx(by_permutations(utilities, 1.0), abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 50, 999])
def test_probabilities_add_up(n):
    utilities = np.random.default_rng(0).integers(-40, 0, size=(3, n))
    for probabilities in PROBABILITIES:
        exact = probabilities(utilities, epsilon=0.3, sensitivity=1, monotone=False)
        assert exact.shape == (3, n)
        assert exact.sum(axis=-1) == pytest.approx(1, abs=1e-12)


def fit(chosen, exact):
    """p-value of the chi-square test of choices against their exact distribution."""
    observed = np.bincount(chosen, minlength=exact.size)
    common = exact * chosen.size > 5
    observed = np.append(observed[common], observed[~common].sum())
    expected = np.append(exact[common], exact[~common].sum()) * chosen.size
    keep = expected > 1e-3
    assert observed[~keep].sum() == 0
    statistic = ((observed - expected)[keep] ** 2 / expected[keep]).sum()
    return stats.chi2.sf(statistic, max(1, keep.sum() - 1))


CASES = {
    "few": ([3, 5, 0, 4], Fraction(2, 3), 1),
    "ties": ([2, 2, 2], Fraction(1), 1),
    "negative": ([-9, -3, -4, -3, -30], Fraction(1), 2),
    "far apart": ([0, 10**15, 10**15 - 2, -(2**60)], Fraction(1), 1),
    "fine grid": ([0, 3 << 40, 5 << 40, 4 << 40], Fraction(1), 1 << 40),
    "many": (list(range(300)), Fraction(1, 50), 1),
}


@pytest.mark.parametrize("case", CASES)
def test_permute_and_flip_draws_its_distribution(case):
    utilities, epsilon, sensitivity = CASES[case]
    options = {"epsilon": epsilon, "sensitivity": sensitivity, "monotone": True}
    exact = permute_and_flip_probabilities(utilities, **options)
    batch = np.tile(utilities, (40_000, 1))
    chosen = permute_and_flip(batch, bits=RandomBits(21), **options)
    assert fit(chosen, exact) > ERROR_RATE
    if case != "ties":
        options["epsilon"] = 2 * epsilon
        assert fit(permute_and_flip(batch, bits=RandomBits(21), **options), exact) < ERROR_RATE


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_exponential_mechanism_draws_its_distribution(case, weighted):
    utilities, epsilon, sensitivity = CASES[case]
    options = {"epsilon": epsilon, "sensitivity": sensitivity, "monotone": True}
    if weighted:
        options["weights"] = 1 + np.arange(len(utilities)) ** 2
    exact = exponential_probabilities(utilities, **options)
    batch = np.tile(utilities, (40_000, 1))
    chosen = exponential_mechanism(batch, bits=RandomBits(22), **options)
    assert fit(chosen, exact) > ERROR_RATE
    if case != "ties":
        options["epsilon"] = 2 * epsilon
        assert fit(exponential_mechanism(batch, bits=RandomBits(22), **options), exact) < ERROR_RATE


def test_a_short_interval_in_a_wide_range_is_found():
    utilities, weights = [-60, 0, -25, -13], [10**15, 1, 10**9, 10**6]
    options = {"epsilon": 1, "sensitivity": 1, "monotone": True, "weights": weights}
    exact = exponential_probabilities(utilities, **options)
    batch = np.tile(utilities, (20_000, 1))
    chosen = exponential_mechanism(batch, bits=RandomBits(23), **options)
    assert fit(chosen, exact) > ERROR_RATE


def test_intervals_whose_tickets_are_rounded_up_keep_their_share():
    """A heavy weight far off leaves 2 tickets where 3/2 are due, to each of a thousand others."""
    utilities, weights = [0, *[-9] * 1000, -2000], [1, *[3] * 1000, 1 << 52]
    options = {"epsilon": 1, "sensitivity": 1, "monotone": True, "weights": weights}
    exact = exponential_probabilities(utilities, **options)[0]
    batch = np.tile(utilities, (4_000, 1))
    best = (exponential_mechanism(batch, bits=RandomBits(24), **options) == 0).sum()
    assert stats.binomtest(int(best), len(batch), exact).pvalue > ERROR_RATE


def test_a_candidate_of_weight_zero_is_never_taken():
    options = {"sensitivity": 1, "monotone": True, "weights": [0, 1, 1]}
    utilities = [[90, 1, 2]] * 500
    for epsilon in (Fraction(1), math.inf):
        chosen = exponential_mechanism(utilities, epsilon=epsilon, bits=RandomBits(1), **options)
        assert (chosen > 0).all()
        assert exponential_probabilities(utilities, epsilon=epsilon, **options)[0, 0] == 0


def test_infinite_epsilon_takes_the_first_of_the_best():
    options = {"epsilon": math.inf, "sensitivity": 1, "monotone": False}
    utilities = [[1, 5, 5], [7, 7, 2]]
    assert permute_and_flip(utilities, bits=RandomBits(), **options).tolist() == [1, 0]
    assert exponential_mechanism(utilities, bits=RandomBits(), **options).tolist() == [1, 0]
    for probabilities in PROBABILITIES:
        assert probabilities(utilities, **options).tolist() == [[0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize("choose", [exponential_mechanism, permute_and_flip])
@pytest.mark.parametrize("shape", [(4,), (0, 4), (3, 4), (2, 3, 4), (2, 1)])
def test_batches_keep_their_shape(choose, shape):
    utilities = np.zeros(shape, dtype=np.int32)
    chosen = choose(utilities, epsilon=1, sensitivity=1, monotone=True, bits=RandomBits(0))
    assert chosen.shape == shape[:-1]
    assert chosen.dtype == np.int64


def test_each_row_may_have_its_own_weights():
    weights = np.array([[1, 0], [0, 1], [1, 0]])
    chosen = exponential_mechanism(
        np.zeros((3, 2), dtype=int),
        epsilon=1,
        sensitivity=1,
        monotone=True,
        bits=RandomBits(),
        weights=weights,
    )
    assert chosen.tolist() == [0, 1, 0]


@given(
    epsilon=st.floats(1e-5, 1e4) | st.fractions(Fraction(1, 10**5), 10**4),
    sensitivity=st.integers(1, 1 << 32),
    monotone=st.booleans(),
)
def test_the_rate_is_rounded_down_a_little(epsilon, sensitivity, monotone):
    exact = Fraction(epsilon) / sensitivity / (1 if monotone else 2)
    rate = selection_rate(epsilon, sensitivity, monotone=monotone)
    assert 0 < rate <= exact
    # Products in the kernels stay within 64 bits.
    assert rate.numerator < 1 << 31
    assert rate.numerator * rate.denominator < 1 << 62
    # Below a rate of 2**-30 bits run out; above it 15 of them are sure.
    assert rate >= exact * (1 - Fraction(1, 1 << 15)) or exact < Fraction(1, 1 << 30)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, 1e-30, 1e12])
def test_a_bad_epsilon_is_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        permute_and_flip([1, 2], epsilon=epsilon, sensitivity=1, monotone=True, bits=RandomBits())


@pytest.mark.parametrize(
    ("utilities", "weights", "message"),
    [
        ([0.5, 1.0], None, "must be integers"),
        ([], None, "must be integers"),
        (3, None, "must be integers"),
        ([1 << 61, 0], None, r"strictly between"),
        ([1, 2], [1], "one entry a candidate"),
        ([1, 2], [0, 0], "not all 0"),
        ([1, 2], [-1, 5], "not negative"),
        ([1, 2], [1 << 53, 1], r"less than 2\*\*53"),
    ],
)
def test_bad_candidates_are_refused_without_showing_them(utilities, weights, message):
    with pytest.raises(ValueError, match=message):
        exponential_mechanism(
            utilities, epsilon=1, sensitivity=1, monotone=True, bits=RandomBits(), weights=weights
        )
