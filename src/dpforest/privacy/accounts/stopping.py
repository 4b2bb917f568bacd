"""Random stopping: a random number of trials of which the best is kept, and what that costs.

The number K of trials follows a truncated negative binomial law. With ``f`` its generating
function, a trial that a share p of all trials beats is kept with the density ``f'(1 - p)`` relative
to one trial; all bounds follow from that. ``docs/privacy/choice.md`` has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dpforest.privacy.accounts.accounting import mu_for
from dpforest.privacy.accounts.spends import exact

_SAFE = 1e-9  # relative: far above the errors of doubles, far below what matters
_PLACES = np.linspace(-6.0, 4.0, 64001)  # normal quantiles of the shares p that are looked at
_CHORDS = 96  # pieces of the privacy loss
_STEPS = 50  # of a bisection; a third of them where a step takes long


@dataclass(frozen=True, slots=True)
class Stopping:
    """The law of the number of trials: P(K = k) in proportion to (1 - 1/odds)^k c_k, k = 1, 2, ...

    Here c_k is the product of (l + eta) / (l + 1) over l = 1, ..., k - 1: 1 for the geometric law
    (eta = 1), 1/k for the logarithmic one (eta = 0). A smaller eta costs less and has longer tails.

    Parameters
    ----------
    eta : Fraction
        From 0 to 1.
    odds : int
        At least 2; more are more trials.

    Examples
    --------
    >>> geometric = Stopping(1, 20)
    >>> geometric.mean, round(geometric.pure_epsilon(0.3), 4)
    (20.0, 0.8421)
    """

    eta: Fraction
    odds: int

    def __post_init__(self) -> None:
        eta = exact(self.eta, "eta")
        if eta > 1:
            raise ValueError(f"eta is {self.eta!r}, expected a number from 0 to 1")
        if not isinstance(self.odds, int) or not 2 <= self.odds < 1 << 31:
            raise ValueError(f"odds are {self.odds!r}, expected a whole number from 2 to 2**31")
        object.__setattr__(self, "eta", eta)

    @property
    def mean(self) -> float:
        """The mean number of trials."""
        if not self.eta:
            return (self.odds - 1) / math.log(self.odds)
        eta = float(self.eta)
        return eta * (self.odds - 1) / -math.expm1(-eta * math.log(self.odds))

    def chance(self, n_candidates: int) -> float:
        """The probability that one of so many candidates, drawn uniformly, is tried at all."""
        left = 1 - (1 - 1 / self.odds) * (1 - 1 / n_candidates)
        if not self.eta:
            return 1 + math.log(left) / math.log(self.odds)
        eta = float(self.eta)
        return 1 - float(np.expm1(-eta * math.log(left)) / np.expm1(eta * math.log(self.odds)))

    def density(self, beaten_by: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """How likelier than in one trial an output is kept that this share of trials beats."""
        power = 1 + float(self.eta)
        return np.asarray(self.mean * (1 + (self.odds - 1) * np.asarray(beaten_by)) ** -power)

    def pure_epsilon(self, epsilon: float) -> float:
        """What keeping the best costs where each trial is epsilon-DP, rounded up."""
        larger = 1 / (1 + math.exp(-epsilon))
        ratio = (1 + (self.odds - 1) * larger) / (1 + (self.odds - 1) * (1 - larger))
        return (epsilon + (1 + float(self.eta)) * math.log(ratio)) * (1 + _SAFE)

    def delta(self, mu: float, epsilon: float) -> float:
        """A delta at epsilon of keeping the best where each trial is mu-GDP, rounded up."""
        return _delta(self, float(mu), float(epsilon)) if mu else 0.0

    def trial_epsilon(self, epsilon: float) -> float:
        """The largest epsilon of a trial with which keeping the best costs at most epsilon.

        Examples
        --------
        >>> law = Stopping(1, 20)
        >>> 0.99 < law.pure_epsilon(law.trial_epsilon(1.0)) <= 1.0
        True
        """
        low, high = 0.0, float(epsilon)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.pure_epsilon(middle) <= epsilon else (low, middle)
        return low

    def trial_mu(self, epsilon: float, delta: float) -> float:
        """The largest mu of a trial with which keeping the best costs at most (epsilon, delta).

        Examples
        --------
        >>> law = Stopping(1, 20)
        >>> law.delta(law.trial_mu(1.0, 1e-6), 1.0) <= 1e-6
        True
        """
        low, high = 0.0, mu_for(float(epsilon), float(delta))
        for _ in range(_STEPS // 3):
            middle = (low + high) / 2
            fits = self.delta(middle, epsilon) <= delta
            low, high = (middle, high) if fits else (low, middle)
        return low * (1 - _SAFE)


@lru_cache(maxsize=1024)
def _delta(law: Stopping, mu: float, epsilon: float) -> float:
    """The mean of h over the Gaussian privacy loss L, from above; h is that of the proof.

    ``h = sup_p (density(p) - t density(G(p)))+`` with ``t = exp(epsilon - L)``, where G(p) is the
    most that a share p can be with the neighbour. Between two points of `_PLACES` the first
    density is at most that of the left one, the second at least that of the right one. h is convex
    in t, so chords lie above it, and the mean of a chord follows from two normal probabilities.
    """
    above = np.append(law.mean, law.density(ndtr(_PLACES)))
    below = np.append(law.density(ndtr(_PLACES + mu)), law.density(1.0))
    lowest = epsilon - math.log((above / below).max())  # h is 0 up to here
    highest = max(lowest, mu * mu / 2) + 10 * mu
    losses = np.linspace(lowest, highest, _CHORDS + 1)
    t = np.exp(epsilon - losses)
    h = np.array([max(0.0, float((above - one * below).max())) for one in t])
    slope = np.diff(h) / np.diff(t)
    # Upper tails: their differences keep their digits where the loss is large.
    here, there = ndtr((mu * mu / 2 - losses) / mu), ndtr((-mu * mu / 2 - losses) / mu)
    chords = (h[:-1] - slope * t[:-1]) * -np.diff(here)
    chords += slope * math.exp(epsilon) * -np.diff(there)
    tail = law.mean * float(here[-1])
    rounding = 1e-12 * law.mean * float(here[0])
    return float(chords.sum() + tail + rounding) * (1 + _SAFE)
