"""How fine a grid a price allows: exact noise has a largest deviation."""

import math

from dpforest.privacy.accounts.spends import Gaussian, Price

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
