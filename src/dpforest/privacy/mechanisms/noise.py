"""Exact discrete noise: the Laplace and the Gaussian on the integers.

The samplers are those of Canonne, Kamath and Steinke (2020), in integer arithmetic from uniform
random bytes: no floating-point number decides an outcome, so low bits of a release tell nothing.
`docs/privacy/noise.md` has the proofs.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy.mechanisms import noise_kernels
from dpforest.privacy.mechanisms.randomness import RandomBits

#: Largest numerator and denominator of a Laplace scale.
LAPLACE_LIMIT = 1 << 40
#: Largest numerator and denominator of a Gaussian variance (so sigma reaches 2**23).
GAUSSIAN_LIMIT = 1 << 46
# Scales of more bits are rounded up to about this many.
_SCALE_BITS = 32


def discrete_laplace(
    scale: Fraction | int, size: int | tuple[int, ...], bits: RandomBits
) -> NDArray[np.int64]:
    """Draw from the discrete Laplace distribution: P(x) proportional to exp(-abs(x) / scale).

    Added to integer totals that neighbouring tables change by at most D in L1 norm, it makes them
    (D / scale)-differentially private: each output's probability changes by at most the factor
    exp(L1 change / scale), by the triangle inequality.

    Parameters
    ----------
    scale : Fraction or int
        Above 0, with numerator and denominator at most 2**40. `laplace_scale` makes one.
    size : int or tuple of int
        Shape of the result.
    bits : RandomBits
        Where the randomness comes from.

    Returns
    -------
    ndarray of int64

    Examples
    --------
    >>> draws = discrete_laplace(Fraction(5, 2), 10_000, RandomBits(0))
    >>> draws.dtype, bool(abs(draws.mean()) < 0.2)
    (dtype('int64'), True)
    """
    scale = Fraction(scale)
    if not 0 < scale.numerator <= LAPLACE_LIMIT or scale.denominator > LAPLACE_LIMIT:
        raise ValueError(
            "scale must be a positive fraction with numerator and denominator at most 2**40, "
            f"got {scale}. Use laplace_scale(epsilon, sensitivity), or a coarser grid."
        )
    out = np.empty(size, dtype=np.int64)
    flat, s, t = out.reshape(-1), scale.numerator, scale.denominator
    bits.feed(lambda buffer, done: noise_kernels.laplace(buffer, flat, done, s, t), flat.size, 12)
    return out


def discrete_gaussian(
    sigma2: Fraction | int, size: int | tuple[int, ...], bits: RandomBits
) -> NDArray[np.int64]:
    """Draw from the discrete Gaussian distribution, P(x) proportional to exp(-x^2 / (2 sigma2)).

    What it guarantees when added to integer totals is accounted for in
    `dpforest.privacy.accounts.accounting` (see docs/privacy/gaussian.md).

    Parameters
    ----------
    sigma2 : Fraction or int
        Above 0, with numerator and denominator at most 2**46.
    size : int or tuple of int
        Shape of the result.
    bits : RandomBits
        Where the randomness comes from.

    Returns
    -------
    ndarray of int64

    Examples
    --------
    >>> draws = discrete_gaussian(100, (50, 200), RandomBits(0))
    >>> draws.shape, bool(9 < draws.std() < 11)
    ((50, 200), True)
    """
    sigma2 = Fraction(sigma2)
    a, b = sigma2.numerator, sigma2.denominator
    if not 0 < a <= GAUSSIAN_LIMIT or b > GAUSSIAN_LIMIT:
        raise ValueError(
            "sigma2 must be a positive fraction with numerator and denominator at most 2**46, "
            f"got {sigma2}. Round it up to a smaller fraction, or use a coarser grid."
        )
    out = np.empty(size, dtype=np.int64)
    flat, m = out.reshape(-1), max(1, math.isqrt(a // b))
    bits.feed(
        lambda buffer, done: noise_kernels.gaussian(buffer, flat, done, m, b, 2 * a), flat.size, 20
    )
    return out


def laplace_scale(
    epsilon: Fraction | float, sensitivity: Fraction | int
) -> tuple[Fraction, Fraction]:
    """Return the scale of discrete Laplace noise for an epsilon, and the epsilon it truly costs.

    The scale sensitivity / epsilon is rounded up to a fraction the sampler takes, so what it
    costs is never above `epsilon`; for scales above 1/256 it is below by less than one part in
    10**9.

    Parameters
    ----------
    epsilon : Fraction or float
        Above 0 and finite. A float stands for the binary fraction it is.
    sensitivity : Fraction or int
        Largest L1 change between neighbouring tables, above 0.

    Examples
    --------
    >>> laplace_scale(Fraction(1, 10), 3)
    (Fraction(30, 1), Fraction(1, 10))
    """
    if not (0 < epsilon < math.inf and sensitivity > 0):
        raise ValueError(
            "epsilon and sensitivity must be finite and above 0, "
            f"got epsilon={epsilon} and sensitivity={sensitivity}."
        )
    wanted = Fraction(sensitivity) / Fraction(epsilon)
    scale = _short_above(wanted)
    if max(scale.numerator, scale.denominator) > LAPLACE_LIMIT:
        raise ValueError(
            f"epsilon={float(epsilon)} at sensitivity {sensitivity} needs noise of scale "
            f"{float(wanted):.3g}, more than 2**40. Use a larger epsilon or a coarser grid."
        )
    return scale, Fraction(sensitivity) / scale


def _short_above(value: Fraction) -> Fraction:
    """Return a fraction as it is if short, else the least of about 32 bits not below it."""
    if max(value.numerator, value.denominator) < 1 << _SCALE_BITS:
        return value
    digits = _SCALE_BITS - value.numerator.bit_length() + value.denominator.bit_length()
    unit = 1 << min(max(digits, 0), 40)
    return Fraction(math.ceil(value * unit), unit)
