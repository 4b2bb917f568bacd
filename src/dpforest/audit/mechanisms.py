"""Mechanisms as games: a sampler of releases, its claim and its tables, without an estimator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpforest.audit.games import Tick
from dpforest.audit.worlds import Pair, Table
from dpforest.privacy.accounts.ledger import Guarantee
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.mechanisms import noise
from dpforest.privacy.mechanisms.randomness import RandomBits

Sampler = Callable[[Table, int, RandomBits], NDArray[np.float64]]


@dataclass(frozen=True)
class Mechanism:
    """A release of numbers about a table, sampled many times at once.

    What is computed from the table alone is the same in every release; only the noise is drawn
    again, which is why many releases cost little more than one.

    Parameters
    ----------
    name : str
    epsilon : float
        What is claimed, with delta = 0.
    pairs : sequence of Pair
    sampler : callable
        From a table, a number of trials and random bits to releases, shape (trials, width).
    flaw : str
        What is wrong with it, if anything.
    protection : Protection
    """

    name: str
    epsilon: float
    pairs: Sequence[Pair]
    sampler: Sampler
    flaw: str = ""
    protection: Protection = field(default_factory=Protection)
    mu: float | None = None

    @property
    def guarantee(self) -> Guarantee:
        """What is claimed."""
        return Guarantee(self.epsilon, 0.0, self.protection)

    def release(
        self, pair: Pair, which: int, trials: int, bits: RandomBits, tick: Tick
    ) -> tuple[NDArray[np.float64], list[str]]:
        """Sample so many releases on one of the tables."""
        releases = self.sampler(pair.tables[which], trials, bits)
        tick(trials)
        return releases, [f"release[{i}]" for i in range(releases.shape[1])]


def table(x: ArrayLike, y: ArrayLike) -> Table:
    """A table of numbers; x may be one column."""
    X = np.asarray(x, np.float64)
    return Table(X.reshape(len(X), -1), np.asarray(y))


def noisy(
    totals: ArrayLike, epsilon: Fraction | float, trials: int, bits: RandomBits
) -> NDArray[np.float64]:
    """Totals with discrete Laplace noise of scale 1 / epsilon, so many times over."""
    exact = np.atleast_1d(np.asarray(totals))
    scale, _ = noise.laplace_scale(epsilon, 1)
    return exact + noise.discrete_laplace(scale, (trials, len(exact)), bits).astype(np.float64)


def laplace_count(epsilon: float = 1.0) -> Mechanism:
    """The plain noisy count: the yardstick of the auditor's power.

    Examples
    --------
    >>> from dpforest.audit import audit
    >>> audit(laplace_count(), trials=20_000, random_state=0).leaks
    False
    """
    pair = Pair("one more record", table([0.0], [0]), table([0.0, 0.0], [0, 0]))
    return Mechanism(
        "plain Laplace count",
        epsilon,
        [pair],
        lambda t, trials, bits: noisy(len(t.y), epsilon, trials, bits),
    )
