"""What a release tells of two tables, exactly: the log ratio of its two laws.

A release is written down with its law, the exact numbers it was drawn about and its outcome. Two
tables give two releases of one law and one outcome; what they lose is

- *discrete Laplace* of scale s on totals a and b: the outcome y has the log ratio
  sum(abs(y - a) - abs(y - b)) / s, a fraction; the most over all y is sum(abs(a - b)) / s;
- *discrete Gaussian*: mu from the L2 norm of a - b and the noise, as `accounting` proves;
- *choices*: the log ratio of the probabilities of the chosen candidate; the most is taken over all
  candidates, and the rows of one release, which are drawn independently, add up;
- *choices at a Gaussian price*: the log ratios of all candidates lie within a range, and mu follows
  from its length (`bounded_range`);
- *values that are named* where their noisy count reaches a threshold: those that both tables have
  lose what noisy counts lose; one that only one table has is named with a probability that counts
  as delta, and is not named otherwise.

Probabilities of choices are kept as logarithms in double precision, gaps of utilities as whole
numbers: candidates that are next to impossible have a log ratio as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_legendre

from dpforest.arrays import Integers
from dpforest.privacy.accounts.accounting import mu_of_discrete_gaussian
from dpforest.privacy.accounts.bounded_range import mu_of_bounded_range

Amount = Fraction | float
LAPLACE, GAUSSIAN, NO_NOISE = "discrete Laplace", "discrete Gaussian", "no noise"
THRESHOLD = "discrete Laplace, threshold"
EXPONENTIAL, PERMUTE_AND_FLIP = "exponential mechanism", "permute-and-flip"
BOUNDED_RANGE = "exponential mechanism, bounded range"


@dataclass(frozen=True)
class Loss:
    """What a release, or several, tell of two tables.

    Parameters
    ----------
    path : Fraction or float
        The log ratio of the probabilities of the outcome, the other table's over the one's.
    up, down : Fraction or float
        The most that this log ratio, and its negative, can be over all outcomes.
    mu_squared : float
        Of Gaussian releases, which have no part in the others.
    delta : float
        The probability of what only one of the tables can release, and a threshold hides.
    """

    path: Amount = Fraction(0)
    up: Amount = Fraction(0)
    down: Amount = Fraction(0)
    mu_squared: float = 0.0
    delta: float = 0.0

    def __add__(self, other: Loss) -> Loss:
        """Of both releases, one after the other."""
        return Loss(
            self.path + other.path,
            self.up + other.up,
            self.down + other.down,
            self.mu_squared + other.mu_squared,
            self.delta + other.delta,
        )

    def __sub__(self, other: Loss) -> Loss:
        """Of what is left when the other is taken out."""
        return Loss(
            self.path - other.path,
            self.up - other.up,
            self.down - other.down,
            self.mu_squared - other.mu_squared,
            self.delta - other.delta,
        )

    @property
    def largest(self) -> float:
        """The most that the pure releases can tell, either way."""
        return float(max(self.up, self.down))


CERTAIN = Loss(math.inf, math.inf, math.inf)
"""Where an outcome is possible with one of the tables only."""


@dataclass(frozen=True)
class Release:
    """Something that was drawn: by which law, about which exact numbers, and what came of it.

    Parameters
    ----------
    label : str
        What the ledger calls it.
    mechanism : str
    parameter : Fraction or None
        The scale, the variance, or the rate of a choice; None where nothing is random.
    exact : ndarray of int64
        Totals, or utilities with the candidates on the last axis.
    outcome : ndarray of int64
        Noisy totals, or the chosen candidates.
    weights : ndarray of int64, optional
        Of candidates, in the shape of utilities.
    """

    label: str
    mechanism: str
    parameter: Fraction | None
    exact: Integers
    outcome: Integers
    weights: Integers | None = None

    def follows_law_of(self, other: Release) -> bool:
        """Whether both are the same question: all but the exact numbers must be public."""
        mine = self.mechanism, self.parameter, self.exact.shape, self.outcome.shape
        return (
            mine == (other.mechanism, other.parameter, other.exact.shape, other.outcome.shape)
            and (self.weights is None) == (other.weights is None)
            and (self.weights is None or np.array_equal(self.weights, other.weights))  # type: ignore[arg-type]
        )

    def loss_to(self, other: Release) -> Loss:
        """What this release of one table and that of another, of one law and outcome, tell."""
        if np.array_equal(self.exact, other.exact):
            return Loss()
        if self.parameter is None:
            return self._loss_of_certainty(other)
        if self.mechanism == LAPLACE:
            return self._loss_of_laplace(other, self.parameter)
        if self.mechanism == GAUSSIAN:
            distance = [a - b for a, b in zip(*map(_flat, (self.exact, other.exact)), strict=True)]
            norm = math.sqrt(sum(d * d for d in distance))
            return Loss(mu_squared=mu_of_discrete_gaussian(norm, self.parameter) ** 2)
        return self._loss_of_choices(other, self.parameter)

    def _loss_of_certainty(self, other: Release) -> Loss:
        """Without noise: totals are told as they are, and of utilities the best one."""
        if self.mechanism == NO_NOISE:
            return CERTAIN
        best = [np.where(_visible(r), r.exact, np.iinfo(np.int64).min) for r in (self, other)]
        same = np.array_equal(*(utilities.argmax(axis=-1) for utilities in best))
        return Loss() if same else CERTAIN

    def _loss_of_laplace(self, other: Release, scale: Fraction) -> Loss:
        outcome, one, two = map(_flat, (self.outcome, self.exact, other.exact))
        nearer = sum(abs(y - a) - abs(y - b) for y, a, b in zip(outcome, one, two, strict=True))
        apart = sum(abs(a - b) for a, b in zip(one, two, strict=True)) / scale
        return Loss(nearer / scale, apart, apart)

    def _loss_of_choices(self, other: Release, rate: Fraction) -> Loss:
        log_ratio, visible, changed = self._log_ratios(other, rate)
        if self.mechanism == BOUNDED_RANGE:
            lengths = log_ratio.max(axis=-1) - log_ratio.min(axis=-1)
            return Loss(mu_squared=sum(mu_of_bounded_range(length) ** 2 for length in lengths))
        chosen = np.take_along_axis(log_ratio, self.outcome.ravel()[changed, np.newaxis], axis=-1)
        return Loss(
            float(chosen.sum()),
            float(np.where(visible, log_ratio, -np.inf).max(axis=-1).sum()),
            float(np.where(visible, -log_ratio, -np.inf).max(axis=-1).sum()),
        )

    def _log_ratios(
        self, other: Release, rate: Fraction
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Of every candidate, in the rows that differ; which are visible; which rows differ."""
        rows = -1, self.exact.shape[-1]
        changed = (self.exact != other.exact).any(axis=-1).ravel()
        visible = _visible(self).reshape(rows)[changed]
        one = _gaps(self.exact.reshape(rows)[changed], visible)
        two = _gaps(other.exact.reshape(rows)[changed], visible)
        weights = visible if self.weights is None else self.weights.reshape(rows)[changed]
        log_ratio = float(rate) * (one - two)
        log_ratio += _log_rest(self.mechanism, two, rate, weights)
        log_ratio -= _log_rest(self.mechanism, one, rate, weights)
        return np.asarray(log_ratio, np.float64), visible, changed


@dataclass(frozen=True)
class NamedCounts(Release):
    """Noisy counts of the values that occur, of which some are named.

    Parameters
    ----------
    levels : tuple
        The values.
    threshold : int
        The noisy count from which on a value is named.
    """

    levels: tuple[Any, ...] = ()
    threshold: int = 0

    def follows_law_of(self, other: Release) -> bool:
        """Whether both are the same question; which values occur is private."""
        return (
            isinstance(other, NamedCounts)
            and self.parameter == other.parameter
            and self.threshold == other.threshold
        )

    @property
    def noisy(self) -> dict[Any, int]:
        """The noisy count of each value."""
        return dict(zip(self.levels, _flat(self.outcome), strict=True))

    def loss_to(self, other: Release) -> Loss:
        """That of the values which both tables have, and delta for the others."""
        assert isinstance(other, NamedCounts)
        assert self.parameter is not None
        one, two = (dict(zip(r.levels, _flat(r.exact), strict=True)) for r in (self, other))
        both = [level for level in one if level in two]
        shared = [
            np.array([numbers[level] for level in both], np.int64)
            for numbers in (one, self.noisy, two)
        ]
        counts = Release("", LAPLACE, self.parameter, shared[0], shared[1])
        loss = counts.loss_to(replace(counts, exact=shared[2]))
        alone = [count for level, count in {**one, **two}.items() if level not in both]
        named = sum(_reaches(self.threshold - count, self.parameter) for count in alone)
        return replace(loss, delta=named)


def _reaches(least: int, scale: Fraction) -> float:
    """The probability that discrete Laplace noise is so large."""
    step = math.exp(-1 / scale)
    return step**least / (1 + step) if least > 0 else 1 - step ** (1 - least) / (1 + step)


def _flat(numbers: Integers) -> list[int]:
    """As Python's numbers, which do not overflow."""
    return list(numbers.ravel().tolist())


def _visible(release: Release) -> NDArray[np.bool_]:
    if release.weights is None:
        return np.ones(release.exact.shape, np.bool_)
    return np.asarray(release.weights > 0)


def _gaps(utilities: Integers, visible: NDArray[np.bool_]) -> Integers:
    """How far each candidate lies behind the best one; 0 for what is no candidate."""
    best = np.where(visible, utilities, np.iinfo(np.int64).min).max(axis=-1, keepdims=True)
    return np.asarray(np.where(visible, best - utilities, 0))


def _log_rest(
    mechanism: str, gaps: Integers, rate: Fraction, weights: NDArray[np.int64 | np.bool_]
) -> NDArray[np.float64]:
    """The logarithm of P(i) plus rate * gap_i, but for the weight of i: it does not overflow.

    Of the exponential mechanism minus the logarithm of the summed weights; of permute-and-flip
    the integral over the arrival time, by Gauss and Legendre without error
    (`selection.permute_and_flip_probabilities` has the formula): all its terms are positive.
    """
    coins = np.exp(-float(rate) * gaps)
    if mechanism in (EXPONENTIAL, BOUNDED_RANGE):
        return np.asarray(-np.log((weights * coins).sum(axis=-1, keepdims=True)))
    nodes, node_weights = roots_legendre((gaps.shape[-1] + 1) // 2)
    total = np.zeros(coins.shape)
    for node, weight in zip((nodes + 1) / 2, node_weights / 2, strict=True):
        lost = 1 - node * coins
        total += weight * np.prod(lost, axis=-1, keepdims=True) / lost
    return np.log(total)
