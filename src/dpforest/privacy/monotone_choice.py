"""One choice among utilities that a record raises or lowers together, at either kind of price."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from dpforest.arrays import Integers
from dpforest.privacy.accounts.bounded_range import BoundedRange, bounded_range_for
from dpforest.privacy.accounts.mechanisms_used import Selection
from dpforest.privacy.accounts.spends import Gaussian, Price, Spend
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.selection import selection_rate


class PaidChoice(NamedTuple):
    """A choice that the ledger has debited, and that is still to be made, once."""

    rate: Fraction
    sensitivity: int
    gaussian: bool

    def make(self, desk: Desk, utilities: Integers, weights: Integers) -> int:
        """The candidate that the exponential mechanism draws, by public weights."""
        if self.gaussian:
            return int(desk.draws.exponential_at(utilities, self.rate, weights))
        return int(
            desk.draws.exponential(
                utilities,
                epsilon=self.rate * self.sensitivity,
                sensitivity=self.sensitivity,
                monotone=True,
                weights=weights,
            )
        )


def pay_for_choice(desk: Desk, label: str, price: Price, sensitivity: int) -> PaidChoice:
    """Debit a choice by the exponential mechanism; to be called before utilities are reckoned.

    A record more must add something from 0 to ``sensitivity`` to each utility, so that differences
    of utilities change by at most that. Between neighbours that are k records apart the log ratios
    of all candidates then lie within an interval of length k times the sensitivity times the rate:
    that is epsilon at a pure price, and the range that a Gaussian price is for.
    """
    gaussian, name = isinstance(price, Gaussian), "exponential mechanism"
    range_ = bounded_range_for(price.mu) if isinstance(price, Gaussian) else price.epsilon
    epsilon = Fraction(range_) / desk.steps
    rate = selection_rate(epsilon, sensitivity, monotone=True)
    # Half of what neighbours may differ by: the range is the rate times all of it, once.
    ranged = BoundedRange(rate, Fraction(desk.steps * sensitivity, 2))
    pure = Selection(name, epsilon, desk.steps)
    desk.ledger.debit(Spend.of(label, name, ranged if gaussian else pure))
    return PaidChoice(rate, sensitivity, gaussian)
