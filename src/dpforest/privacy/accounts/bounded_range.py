"""A private choice at the price of Gaussian noise: log ratios within a short range.

The exponential mechanism with rate r and utilities of sensitivity D has log ratios that lie within
an interval of length 2 r D, and so it is mu-GDP for a mu that is far below its epsilon.
``docs/privacy/boosted.md`` has the proof. Rounding is to the safe side.
"""

import math
import sys
from dataclasses import dataclass
from fractions import Fraction

from scipy.special import log_expit, log_ndtr, ndtri_exp

from dpforest.privacy.accounts.spends import Amount, Gaussian, exact

_ULP = sys.float_info.epsilon
_SLACK = 1e-10  # what is given away in planning, far above the rounding of the curve
_STEEPEST = math.sqrt(2 * math.pi) / 4  # mu is at most this times the length


@dataclass(frozen=True, slots=True)
class BoundedRange:
    """A choice by the exponential mechanism, at the price of the Gaussian noise that covers it.

    Parameters
    ----------
    rate : Fraction
        The logarithm of a candidate's weight grows by this with a unit of its utility.
    sensitivity : Fraction or int
        The largest change of a utility between the declared neighbours.

    Examples
    --------
    >>> round(BoundedRange("1/100", 5).loss.mu, 6)
    0.062663
    """

    rate: Amount
    sensitivity: Amount

    def __post_init__(self) -> None:
        for name in ("rate", "sensitivity"):
            object.__setattr__(self, name, exact(getattr(self, name), name))

    @property
    def loss(self) -> Gaussian:
        """Log ratios lie within twice the rate times the sensitivity."""
        return Gaussian(mu_of_bounded_range(2 * self.rate * self.sensitivity))


def mu_of_bounded_range(length: Fraction | float) -> float:
    """Return the mu that covers log ratios within an interval of this length, rounded up.

    Examples
    --------
    >>> round(mu_of_bounded_range(1.0), 6)
    0.623893
    """
    if not length >= 0:
        raise ValueError(f"length is {length!r}, expected a number of at least 0")
    if length == 0 or length == math.inf:
        return float(length)
    above = math.nextafter(float(length), math.inf)
    mu = -2.0 * float(ndtri_exp(log_expit(-above / 2)))
    # The second is as good for short ranges, where the first loses its digits.
    return min(mu * (1 + 1e-12) + 16 * _ULP, _STEEPEST * above * (1 + 4 * _ULP))


def bounded_range_for(mu: float) -> float:
    """Return a length whose mu is at most this, a hair below the largest.

    Examples
    --------
    >>> round(bounded_range_for(0.623893), 5)
    1.0
    """
    if not 0 < mu < math.inf:
        raise ValueError(f"mu is {mu!r}, expected a finite number above 0")
    length = max(2.0 * float(log_ndtr(mu / 2) - log_ndtr(-mu / 2)), mu / _STEEPEST)
    while mu_of_bounded_range(length) > mu:
        length *= 1 - _SLACK
    return length
