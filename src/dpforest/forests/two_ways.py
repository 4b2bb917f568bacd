"""One budget, two ways to spend it: one pure choice, or Gaussian trees; a noisy count says which.

Each way would keep the budget by itself. Which one is taken follows from a Gaussian count, and the
curves of both cannot be joined after the fact; so each gets a part of delta, and debits the rest.
Far above the most records of a choice that part is a hair. ``docs/privacy/boosted.md`` proves it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpforest.forests.purse import Purse
from dpforest.privacy.accounts.spends import exact

PART_OF_A_CHOICE = Fraction(1, 10)  # of delta
HAIR = Fraction(1, 10**12)  # of delta
GRAIN = 10**15
ROUNDED_UP = 1.01  # noise is made on a grid, and never with less deviation than it should have


@dataclass(frozen=True)
class Ways:
    """The two ways of a budget with a delta.

    Parameters
    ----------
    purse : Purse
        The whole of it.
    most : float
        Records: a choice is never all of the model at a noisy count from here on.
    count_share : Fraction
        Of the squared mu, what the count costs.
    """

    purse: Purse
    most: float
    count_share: Fraction

    @classmethod
    def of(cls, purse: Purse, most_signal: float, count_share: Fraction) -> Ways:
        """By the signal from which on there are trees; ``most`` is 0 where there is one way."""
        two = purse.private and not purse.pure
        return cls(purse, most_signal / purse.strength if two else 0.0, count_share)

    @property
    def far(self) -> float:
        """The noisy count from which on a choice was out of reach, but for a hair of delta.

        Twice the distance beyond which the noise of the count lies with that probability at most:
        a discrete Gaussian is beyond k deviations with probability exp(-k^2 / 2) at most.
        """
        log_of_hair = math.log(HAIR) + math.log(self.purse.delta)  # the product may be 0
        deviation = ROUNDED_UP / (self.purse.strength * math.sqrt(self.count_share))
        return self.most + 2.0 * deviation * math.sqrt(-2.0 * log_of_hair)

    def delta_aside(self, noisy: float, *, alone: bool) -> Fraction:
        """What the way not taken may have cost: 0 where there is one way only.

        Examples
        --------
        >>> ways = Ways.of(Purse(1.0, 1e-6), 25.0, Fraction(2, 100))
        >>> [float(ways.delta_aside(n, alone=n < ways.most)) for n in (50, 500, 5_000)]
        [9e-07, 1.00000000001e-07, 1e-18]
        """
        if not self.most:
            return Fraction(0)
        delta = Fraction(exact(self.purse.delta, "delta"))
        if alone:
            return (1 - PART_OF_A_CHOICE) * delta
        return (HAIR if noisy >= self.far else PART_OF_A_CHOICE + HAIR) * delta

    def dearer_count(self, left: Purse) -> Fraction:
        """The share by which the count is more of what is left than it was of the whole."""
        ratio = Fraction(self.purse.total) ** 2 / Fraction(left.total) ** 2
        return Fraction(math.ceil(self.count_share * (ratio - 1) * GRAIN), GRAIN)
