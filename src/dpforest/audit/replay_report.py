"""What a replay found, next to what was claimed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpforest.privacy.accounts.accounting import gaussian_epsilon
from dpforest.privacy.accounts.ledger import Guarantee

TOLERANCE = 1e-9  # of a loss above its claim: rounding of logarithms is far below


@dataclass(frozen=True)
class ReplayReport:
    """The loss of one pair of tables along one way of outputs, against the claim.

    Parameters
    ----------
    guarantee : Guarantee
        What is claimed.
    pure_loss : float
        The absolute log ratio of the probabilities of all choices and Laplace releases together;
        infinite where something leaks for certain.
    largest_pure_loss : float
        What it could be at most: each release at its worst, given those before it. It does not
        depend on the last draw of noise, so it is tight where the way is.
    pure_claim : float
        What the ledger has for these.
    mu, mu_claim : float
        The same of Gaussian releases: the root of the sum of squares.
    worst_release : str
        The release that told most: what the ledger calls it, and its number.
    n_releases : int
    delta, delta_claim : float
        The probability that a value is named which only one table has, where thresholds name any.
    leaks : tuple of str
        What differs though all outputs are the same.
    failure : str
        The error with which both fits ended, after what was released.
    """

    guarantee: Guarantee
    pure_loss: float
    largest_pure_loss: float
    pure_claim: float
    mu: float
    mu_claim: float
    worst_release: str
    n_releases: int
    delta: float = 0.0
    delta_claim: float = 0.0
    leaks: tuple[str, ...] = ()
    failure: str = ""

    @property
    def loss(self) -> float:
        """The loss as an epsilon, at the delta of the claim where there is Gaussian noise."""
        return self.pure_loss + self._epsilon_of(self.mu)

    @property
    def claim(self) -> float:
        """The claim, in the same terms."""
        return self.pure_claim + self._epsilon_of(self.mu_claim)

    @property
    def is_mixed(self) -> bool:
        """Whether there are releases of both kinds, whose curve is not a sum."""
        return bool(self.pure_claim and self.mu_claim)

    @property
    def tightness(self) -> float:
        """The largest possible loss over the claim: 1 where nothing was paid in vain.

        Of pure and of Gaussian releases the larger one.
        """
        if self.leaks:
            return math.inf
        shares = [
            found / claimed if claimed else math.inf
            for found, claimed in (
                (self.largest_pure_loss, self.pure_claim),
                (self.mu, self.mu_claim),
            )
            if found
        ]
        return max(shares, default=0.0)

    @property
    def holds(self) -> bool:
        """Whether nothing leaks for certain and no loss, at its largest, is above its claim.

        Pure and Gaussian releases are held to what the ledger has for each; those of one kind to
        the printed total as well.
        """
        return (
            not self.leaks
            and max(self.pure_loss, self.largest_pure_loss) <= self.pure_claim + TOLERANCE
            and self.mu <= self.mu_claim * (1 + TOLERANCE)
            and self.delta <= self.delta_claim
            and (self.is_mixed or self.loss <= self.guarantee.epsilon * (1 + TOLERANCE) + TOLERANCE)
        )

    def __str__(self) -> str:
        """The report in lines."""
        lines = [
            f"{'holds' if self.holds else 'BROKEN'}: {self.guarantee}",
            f"  loss     {self.loss:.9g} along {self.n_releases} releases, "
            f"claimed {self.claim:.9g}",
        ]
        if self.pure_claim or self.largest_pure_loss:
            lines.append(f"  largest  {self.largest_pure_loss:.9g} of {self.pure_claim:.9g}")
        if self.mu_claim or self.mu:
            lines.append(f"  mu       {self.mu:.9g} of {self.mu_claim:.9g}")
        if self.delta_claim or self.delta:
            lines.append(f"  delta    {self.delta:.3g} of {self.delta_claim:.3g}")
        lines.append(f"  most by  {self.worst_release}")
        if self.failure:
            lines.append(f"  failed   {self.failure}")
        return "\n".join([*lines, *(f"  leaks    {leak}" for leak in self.leaks)])

    def _epsilon_of(self, mu: float) -> float:
        return gaussian_epsilon(mu, self.guarantee.delta) if mu else 0.0
