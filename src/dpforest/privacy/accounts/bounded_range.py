"""A private choice at the price of Gaussian noise: log ratios within a short range.

The exponential mechanism with rate r and utilities of sensitivity D has log ratios that lie within
an interval of length 2 r D, and so it is mu-GDP with mu at most sqrt(2 pi) / 4 times the length,
which is tight for short ranges. ``docs/privacy/boosted.md`` has the proof. Rounding is to the safe
side, by multiplications alone, so that every machine finds the same mu.
"""

import math
import sys
from dataclasses import dataclass
from fractions import Fraction

from dpforest.privacy.accounts.spends import Amount, Gaussian, exact

_ULP = sys.float_info.epsilon
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
    0.062666
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
    """Return a mu that covers log ratios within an interval of this length, rounded up.

    Examples
    --------
    >>> round(mu_of_bounded_range(0.1), 6)
    0.062666
    """
    if not length >= 0:
        raise ValueError(f"length is {length!r}, expected a number of at least 0")
    return _STEEPEST * float(length) * (1 + 8 * _ULP)


def bounded_range_for(mu: float) -> float:
    """Return a length whose mu is at most this, a hair below the largest.

    Examples
    --------
    >>> round(bounded_range_for(0.062666), 5)
    0.1
    """
    if not 0 < mu < math.inf:
        raise ValueError(f"mu is {mu!r}, expected a finite number above 0")
    return mu / _STEEPEST * (1 - 16 * _ULP)
