"""Delta that nothing was released for: what a way that was not taken may have cost."""

from dataclasses import dataclass

from dpforest.privacy.accounts.spends import Amount, Approximate, exact


@dataclass(frozen=True, slots=True)
class SetAside:
    """Delta of the other way, where a noisy count chose between two ways of spending a budget.

    Parameters
    ----------
    delta : Fraction

    Examples
    --------
    >>> SetAside(1e-7).loss
    Approximate(epsilon=Fraction(0, 1), delta=Fraction(1, 10000000))
    """

    delta: Amount

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", exact(self.delta, "delta"))

    @property
    def loss(self) -> Approximate:
        """That delta, and no epsilon."""
        return Approximate(0, self.delta)
