"""The budget of a fit of the flagship: how shares of it are priced, and what it is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpforest.losses import Norm
from dpforest.privacy.accounts.accounting import mu_for
from dpforest.privacy.accounts.spends import Gaussian, Price, Pure, exact

LAPLACE_SIGNAL = 0.158  # what a unit of pure epsilon is worth next to a unit of mu, in the rules


@dataclass(frozen=True)
class Purse:
    """The budget of a fit and how shares of it are priced.

    Shares of a pure epsilon add up; of a Gaussian budget it is the squares of mu that do.

    Parameters
    ----------
    epsilon, delta : float
        delta = 0 asks for pure epsilon, by Laplace noise.
    steps : int
        Single records between neighbours.
    """

    epsilon: float
    delta: float
    steps: int = 1

    @property
    def private(self) -> bool:
        """Whether there is to be any noise."""
        return not math.isinf(self.epsilon)

    @property
    def pure(self) -> bool:
        """Whether the noise is Laplace."""
        return self.delta == 0 and self.private

    @property
    def norm(self) -> Norm:
        """The norm that bounds what a record adds: L1 for Laplace noise, L2 for Gaussian."""
        return 1 if self.pure else 2

    @property
    def total(self) -> float:
        """Epsilon of a pure budget, mu of a Gaussian one."""
        if not self.private or self.pure:
            return self.epsilon
        return mu_for(self.epsilon, self.delta)

    @property
    def strength(self) -> float:
        """What the budget is worth to a record: times the number of records it is the signal."""
        return self.total / self.steps

    def price(self, share: Fraction, among: int = 1) -> Price:
        """The price of one of so many equal parts of a share of the budget."""
        if not self.private:
            return Pure(math.inf)
        if self.pure:
            return Pure(exact(self.epsilon) * share / among)
        return Gaussian(self.total * math.sqrt(share / among))


def part_of(price: Price, share: Fraction) -> Price:
    """A share of a price: of its epsilon, or of its mu squared."""
    if isinstance(price, Gaussian):
        return Gaussian(price.mu * math.sqrt(share))
    return Pure(price.epsilon * share)


def has_little_signal(purse: Purse, n_records: float, n_features: int) -> bool:
    """Whether a feature's share of the signal is small: then bins are few and dear."""
    worth = LAPLACE_SIGNAL if purse.pure else 1.0
    return n_records * purse.strength * worth / n_features < 50.0
