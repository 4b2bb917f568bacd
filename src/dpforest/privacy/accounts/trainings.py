"""A training inside of a search: not told release by release, but held to a price."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpforest.privacy.accounts.budget_filter import mu_of_pure
from dpforest.privacy.accounts.spends import Amount, Cost, Gaussian, Pure, exact


@dataclass(frozen=True, slots=True)
class Training:
    """A fit of which nothing is told but the most that it may cost.

    Parameters
    ----------
    epsilon : Fraction
        Of a fit whose releases are pure; 0 otherwise.
    mu : float
        Of a fit that has Gaussian releases, `covering_mu` of all of them; 0 otherwise.

    Examples
    --------
    >>> Training(0.25, 0.0).loss, Training(0, 0.1).loss
    (Pure(epsilon=Fraction(1, 4)), Gaussian(mu=0.1))
    """

    epsilon: Amount
    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact(self.epsilon))
        object.__setattr__(self, "mu", float(self.mu))
        if bool(self.epsilon) == bool(self.mu):
            raise ValueError("a training has an epsilon or a mu, expected one of the two above 0")

    @property
    def loss(self) -> Pure | Gaussian:
        """The price."""
        return Gaussian(self.mu) if self.mu else Pure(self.epsilon)


def covering_mu(cost: Cost) -> float:
    """A mu such that releases of this cost are mu-GDP together, rounded up.

    Pure releases count with the mu of their sum, as in a shared budget.

    Examples
    --------
    >>> covering_mu(Cost(mu_squared=exact(0.25)))
    0.5
    """
    if not cost.epsilon:
        return cost.mu
    return math.hypot(cost.mu, mu_of_pure(float(cost.epsilon))) * (1 + 1e-12)
