"""What a share of a budget pays for, and how fine a grid that allows."""

import math
from fractions import Fraction

from dpforest.privacy.accounts.accounting import mu_for
from dpforest.privacy.accounts.spends import Amount, Gaussian, Price, Pure

LARGEST_DEVIATION = 1 << 22  # in grid steps; the exact samplers take a little more


def finest_grid(price: Price, sensitivity: float, most: int) -> int:
    """The most steps a unit may have, up to a limit, before the noise leaves the samplers' range.

    Parameters
    ----------
    price : Pure or Gaussian
    sensitivity : float
        In units: L1 for a pure price, L2 for a Gaussian one.
    most : int
        A grid as good as none.

    Examples
    --------
    >>> finest_grid(Gaussian(0.1), 1.0, 4096), finest_grid(Gaussian(1e-6), 1.0, 4096)
    (4096, 4)
    """
    strength = price.mu if isinstance(price, Gaussian) else float(price.epsilon)
    if math.isinf(strength):
        return most
    return max(1, min(most, int(LARGEST_DEVIATION * strength / sensitivity)))


def price_of_share(epsilon: Amount, delta: float, share: Fraction) -> Price:
    """What a share of a budget pays for: Laplace noise when delta is 0, Gaussian otherwise.

    Shares that add up to 1 fit the budget: epsilons add up, and so do squares of mu.

    Examples
    --------
    >>> price_of_share(Fraction(1, 2), 0.0, Fraction(1, 5))
    Pure(epsilon=Fraction(1, 10))
    """
    if delta > 0 and not math.isinf(epsilon):
        return Gaussian(mu_for(float(epsilon), delta) * math.sqrt(share))
    return Pure(epsilon if math.isinf(epsilon) else epsilon * share)
