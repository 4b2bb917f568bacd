"""What counts of an event prove about a guarantee, at a stated confidence.

An event happens with probability p when one of two neighbouring tables is trained on, and q with
the other. Under (epsilon, delta)-differential privacy p <= exp(epsilon) q + delta, so
epsilon >= log((p - delta) / q). p and q are seen through counts of independent trials:
Clopper and Pearson's bounds on a binomial probability hold at their confidence whatever the
probability is. Half of the error goes to each, so both hold at once, and the bound on
epsilon with them. The event must have been fixed before the trials that are counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtri

Bounds = NDArray[np.float64]


def probability_bounds(hits: ArrayLike, trials: int, error: float) -> tuple[Bounds, Bounds]:
    """Clopper-Pearson bounds on a probability, from below and from above, each with this error.

    Examples
    --------
    >>> low, high = probability_bounds([0, 50, 100], 100, error=0.025)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.398, 0.964], [0.036, 0.602, 1.0])
    """
    seen = np.asarray(hits, np.float64)
    low = np.where(seen > 0, betaincinv(np.maximum(seen, 1), trials - seen + 1, error), 0.0)
    missed = np.maximum(trials - seen, 1)
    high = np.where(seen < trials, betaincinv(seen + 1, missed, 1.0 - error), 1.0)
    return low, high


def epsilon_bound(
    hits: ArrayLike, other_hits: ArrayLike, trials: int, *, delta: float, confidence: float
) -> Any:
    """The epsilon that an event proves from below: log((p - delta) / q), at least 0.

    Parameters
    ----------
    hits, other_hits : array-like of int
        How often the event happened in so many trials with the table that makes it likelier, and
        with the other.
    trials : int
        With each table.
    delta : float
        Of the guarantee.
    confidence : float
        Below 1.

    Examples
    --------
    >>> float(epsilon_bound(7310, 2690, 10_000, delta=0.0, confidence=0.999).round(2))
    0.93
    """
    error = (1.0 - confidence) / 2
    low, _ = probability_bounds(hits, trials, error)
    _, high = probability_bounds(other_hits, trials, error)
    return np.log(np.maximum((low - delta) / high, 1.0))


def mu_bound(hits: ArrayLike, other_hits: ArrayLike, trials: int, *, confidence: float) -> Bounds:
    """The mu that an event proves from below of a mechanism that claims to be mu-GDP.

    A mu-GDP mechanism is no easier to tell apart than N(0, 1) from N(mu, 1), so every event has
    Phi^-1(p) - Phi^-1(q) <= mu.

    Examples
    --------
    >>> float(mu_bound(6915, 3085, 10_000, confidence=0.999).round(2))
    0.91
    """
    error = (1.0 - confidence) / 2
    low, _ = probability_bounds(hits, trials, error)
    _, high = probability_bounds(other_hits, trials, error)
    with np.errstate(invalid="ignore"):
        gap = np.nan_to_num(ndtri(low) - ndtri(high), nan=0.0, neginf=0.0)
    return np.asarray(np.maximum(gap, 0.0))
