"""The promise that follows from a ledger, and how amounts of privacy are shown."""

from dataclasses import dataclass

from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Amount, rounded_up

NOT_PRIVATE = "epsilon is infinite: not private"
NOT_FOR_RELEASE = "not for release: the noise is reproducible"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """(epsilon, delta)-differential privacy for the neighbours that `protection` names.

    Parameters
    ----------
    epsilon, delta : float
    protection : Protection
    releasable : bool
        False when the noise follows from a seed: whoever has the seed can subtract the noise, so
        the numbers are those of the method and hold for nothing that leaves the house.

    Examples
    --------
    >>> print(Guarantee(1.0, 1e-6, Protection()))
    (epsilon = 1, delta = 1e-06) for adding or removing one record
    >>> print(Guarantee(1.0, 0.0, Protection(), releasable=False))
    (epsilon = 1, delta = 0) for adding or removing one record; not for release: the noise is \
reproducible
    """

    epsilon: float
    delta: float
    protection: Protection
    releasable: bool = True

    def __str__(self) -> str:
        """Show what is promised, to whom, and whether it holds outside."""
        promise = f"{pair(self.epsilon, self.delta)} for {self.protection.describe()}"
        return promise if self.releasable else f"{promise}; {NOT_FOR_RELEASE}"


def pair(epsilon: Amount, delta: Amount) -> str:
    """Show an epsilon and a delta, rounded up.

    Examples
    --------
    >>> pair(1 / 3, 0.0)
    '(epsilon = 0.333334, delta = 0)'
    """
    return f"(epsilon = {rounded_up(epsilon)}, delta = {rounded_up(delta)})"
