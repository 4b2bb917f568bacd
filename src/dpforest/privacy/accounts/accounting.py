"""Curves that turn noise into (epsilon, delta): the Gaussian's exactly, mixtures by PLD.

Every function rounds to the safe side: deltas, epsilons and the mu of a noise come out
a hair too large, a mu to plan with a hair too small. Proofs are in ``docs/privacy/gaussian.md``.
"""

import math
import sys
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from scipy.special import erf, erfcx, ndtr

_ULP = sys.float_info.epsilon
# What planners give away, so that a sum of rounded shares still fits the budget.
_PLANNING_SLACK = 1e-10
# Variance of the rounding step in the proof for discrete noise, and the least variance accepted.
_ROUNDING_VARIANCE = 4
_LEAST_SIGMA2 = 17
# The convolutions behind a PLD carry absolute errors near 1e-15; smaller deltas would drown.
_LEAST_PLD_DELTA = 1e-10
# How often a pure epsilon beside a Gaussian release is improved, up to where, in which parts.
_PURE_TRIES, _HAIR, _GRAIN = 7, Fraction(1, 2_000_000), 1 << 50


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the least delta of a mu-GDP mechanism at epsilon, rounded up.

    With ``u = epsilon/mu - mu/2`` the exact curve is ``Phi(-u) - exp(epsilon) Phi(-u - mu)``.

    Parameters
    ----------
    mu : float
        L2 sensitivity over standard deviation; 0 is no release, infinity no noise.
    epsilon : float
        At least 0.

    Examples
    --------
    >>> round(gaussian_delta(1.0, 1.0), 6)
    0.126937
    """
    _require(mu >= 0, "mu", mu, "a number of at least 0")
    _require(epsilon >= 0, "epsilon", epsilon, "a number of at least 0")
    if mu == 0 or epsilon == math.inf:
        return 0.0
    if mu == math.inf:
        return 1.0
    u = epsilon / mu - mu / 2
    # exp(epsilon) phi(u + mu) = phi(u), so one density serves both tails and nothing overflows.
    density = math.exp(-u * u / 2) / 2
    second = density * float(erfcx((u + mu) / math.sqrt(2)))
    if u >= 0:
        first = density * float(erfcx(u / math.sqrt(2)))
        delta = first - second
    elif epsilon < 1:
        # Phi(-u) - Phi(-u - mu) adds two positive numbers: small deltas keep their digits.
        first = float(erf(-u / math.sqrt(2)) + erf((u + mu) / math.sqrt(2))) / 2
        delta = first - math.expm1(epsilon) * float(ndtr(-u - mu))
    else:
        first = float(ndtr(-u))
        delta = first - second
    rounded_up = delta * (1 + 1e-12) + 16 * _ULP * first
    return min(1.0, max(rounded_up, sys.float_info.min))


@lru_cache(maxsize=1024)
def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the least epsilon of a mu-GDP mechanism at delta, rounded up.

    Infinite when delta is 0: Gaussian noise has no pure guarantee.

    Examples
    --------
    >>> round(gaussian_epsilon(1.0, 1e-6), 4)
    4.8866
    """
    _require(mu >= 0, "mu", mu, "a number of at least 0")
    _require(0 <= delta < 1, "delta", delta, "a number from 0 to less than 1")
    if mu == 0:
        return 0.0
    if mu == math.inf or delta == 0:
        return math.inf
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    low = 0.0
    # delta(epsilon) <= Phi(-u) <= exp(-u^2/2), so the curve is below delta from here on.
    high = mu * mu / 2 + mu * math.sqrt(-2 * math.log(delta))
    while high - low > 4 * _ULP * high:
        middle = (low + high) / 2
        if gaussian_delta(mu, middle) <= delta:
            high = middle
        else:
            low = middle
    return high


@lru_cache(maxsize=1024)
def mu_for(epsilon: float, delta: float) -> float:
    """Return the largest mu whose curve stays within (epsilon, delta), rounded down.

    The result is a relative 1e-10 below the exact one, so that shares of it, squared and
    added up again, still fit the budget in spite of rounding.

    Examples
    --------
    >>> round(mu_for(1.0, 1e-6), 4)
    0.2367
    """
    _require(epsilon >= 0, "epsilon", epsilon, "a number of at least 0")
    _require(0 <= delta < 1, "delta", delta, "a number from 0 to less than 1")
    if epsilon == math.inf:
        return math.inf
    if delta == 0:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(high, epsilon) <= delta:
        low, high = high, 2 * high
    while high - low > 4 * _ULP * high:
        middle = (low + high) / 2
        if gaussian_delta(middle, epsilon) <= delta:
            low = middle
        else:
            high = middle
    return low * (1 - _PLANNING_SLACK)


@lru_cache(maxsize=1024)
def mu_of_discrete_gaussian(sensitivity: float, sigma2: Fraction | int) -> float:
    """Return a mu whose curve covers discrete Gaussian noise on the integers, rounded up.

    Noise with ``P(z) ~ exp(-z^2 / (2 sigma2))`` on each coordinate of an integer vector is
    (but for a factor 1 +- 1e-33 a coordinate, far below the rounding of the curve) a randomised
    rounding of continuous noise of variance ``sigma2 - 4``. Hence mu = sensitivity /
    sqrt(sigma2 - 4), in any dimension and under adaptive composition.

    Parameters
    ----------
    sensitivity : float
        L2 sensitivity in grid units between the declared neighbours.
    sigma2 : Fraction or int
        Variance parameter in squared grid units, at least 17.

    Examples
    --------
    >>> round(mu_of_discrete_gaussian(3, 904), 6)
    0.1
    """
    _require(0 <= sensitivity < math.inf, "sensitivity", sensitivity, "a finite number >= 0")
    if not sigma2 >= _LEAST_SIGMA2:
        raise ValueError(
            f"sigma2 is {float(sigma2):g} squared grid units, expected at least {_LEAST_SIGMA2}: "
            "scale the statistic to a finer grid, or ask for more noise"
        )
    return sensitivity / math.sqrt(sigma2 - _ROUNDING_VARIANCE) * (1 + 4 * _ULP)


@lru_cache(maxsize=1024)
def sigma2_for(sensitivity: float, mu: float) -> int:
    """Return the least integer sigma2 (at least 17) with mu_of_discrete_gaussian at most mu.

    Examples
    --------
    >>> sigma2_for(3, 0.1)
    905
    """
    _require(0 <= sensitivity < math.inf, "sensitivity", sensitivity, "a finite number >= 0")
    _require(0 < mu < math.inf, "mu", mu, "a finite number above 0")
    sigma2 = max(_LEAST_SIGMA2, math.floor((sensitivity / mu) ** 2) + _ROUNDING_VARIANCE)
    while mu_of_discrete_gaussian(sensitivity, sigma2) > mu:
        # The step outgrows the rounding of doubles when sigma2 is beyond 2^53.
        sigma2 += 1 + sigma2 // 2**52
    return sigma2


def mixture_epsilon(pure: Mapping[Fraction, int], mu: float, delta: float) -> float:
    """Return an epsilon at delta for pure mechanisms composed with a mu-GDP one.

    Privacy loss distributions of dp_accounting, with pessimistic rounding, composed
    adaptively; never above the sum of the pure epsilons and the Gaussian's epsilon. That sum
    is the answer where a PLD has nothing to add (one part only) or too few digits
    (delta below 1e-10).

    Parameters
    ----------
    pure : mapping
        How many mechanisms there are of each pure epsilon.
    mu : float
        Of all Gaussian releases together: the root of the sum of squares.
    delta : float
        From 0 to less than 1.

    Examples
    --------
    >>> from fractions import Fraction
    >>> mixture_epsilon({Fraction(1, 10): 20}, 0.3, 1e-6) < 2 + gaussian_epsilon(0.3, 1e-6)
    True
    """
    total = sum(epsilon * count for epsilon, count in pure.items())
    simple = math.nextafter(float(total) + gaussian_epsilon(mu, delta), math.inf)
    if not math.isfinite(simple) or total == 0 or mu == 0 or delta < _LEAST_PLD_DELTA:
        return simple
    return min(simple, _pld_epsilon(tuple(pure.items()), mu, delta, simple))


def pure_beside(
    mu: float, epsilon: Fraction, delta: float, shares: tuple[Fraction, ...]
) -> Fraction:
    """Return a pure epsilon that fits beside a mu-GDP release, in these shares, within a hair.

    From what the plain sum leaves, it grows by what `mixture_epsilon` finds unspent.

    Examples
    --------
    >>> from fractions import Fraction
    >>> found = pure_beside(0.03, Fraction(1), 1e-6, (Fraction(9, 10), Fraction(1, 10)))
    >>> 1 - gaussian_epsilon(0.03, 1e-6) < found < 1
    True
    """
    aim = epsilon * (1 - _HAIR)
    best = found = _short(epsilon - Fraction(gaussian_epsilon(mu, delta)))
    for _ in range(_PURE_TRIES):
        parts = Counter(share * found for share in shares)
        spent = Fraction(mixture_epsilon(parts, mu, delta))
        if spent <= epsilon:
            best = found
        found = _short(found + aim - spent)
    return best


def _short(amount: Fraction) -> Fraction:
    """Rounded down, so that fractions of it stay short."""
    return Fraction(math.floor(amount * _GRAIN), _GRAIN)


@lru_cache(maxsize=64)
def _pld_epsilon(
    pure: tuple[tuple[Fraction, int], ...], mu: float, delta: float, simple: float
) -> float:
    # dp_accounting takes seconds to import, and most ledgers never need it.
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    # Rounding costs one step a mechanism: aim at a thousandth in all, on a grid that stays small.
    mechanisms = sum(count for _, count in pure) + 1
    step = simple / (1000 * min(mechanisms, 500))
    loss = pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=step)
    for epsilon, count in pure:
        # Up by a little: the double nearest to the fraction may lie below it.
        parameters = DifferentialPrivacyParameters(math.nextafter(float(epsilon), math.inf), 0)
        one = pld.from_privacy_parameters(parameters, value_discretization_interval=step)
        loss = loss.compose(one.self_compose(count))
    return float(loss.get_epsilon_for_delta(delta))


def _require(holds: bool, name: str, value: float, expected: str) -> None:
    if not holds:
        raise ValueError(f"{name} is {value!r}, expected {expected}")
