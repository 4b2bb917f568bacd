"""Draws that write down what was drawn, and draws that follow what was written.

Coins of records are secret, and never written out. The records that two tables share, which come
first, have the same coins in both; those in which the tables differ, which come last, have coins of
their own, or, where that is asked for, the coins of those in whose place they come: the law of a
coin does not depend on the record. Whether an odd record joins a sample is for the replay to say,
one tree at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpforest.arrays import Integers
from dpforest.audit.replay_losses import (
    BOUNDED_RANGE,
    EXPONENTIAL,
    GAUSSIAN,
    LAPLACE,
    NO_NOISE,
    PERMUTE_AND_FLIP,
    THRESHOLD,
    NamedCounts,
    Release,
)
from dpforest.audit.replay_script import Joining, Sample, Script, Seats
from dpforest.privacy.accounts.spends import Gaussian
from dpforest.privacy.mechanisms import selection
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.privacy.mechanisms.coins import CoinsInOrder
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.records.coins import Coins


class PartedError(Exception):
    """A fit leaves the way it was to follow: it asks what the other table's fit did not."""


class InterruptedFitError(RuntimeError):
    """A fit fails after a release, because the audit wants it to."""


class RecordingDraws(Draws):
    """Draws as usual, from a seed, and writes everything down.

    Parameters
    ----------
    seed : int
    seats : Seats
        Of the table that is fitted.
    """

    def __init__(self, seed: int, seats: Seats, joining: Joining | None = None) -> None:
        super().__init__(seed)
        self.script = Script()
        self.label: Callable[[], str] = str  # what is being paid for, where somebody knows
        self.interrupt_after = 0  # so many releases the fit under way is to fail, once
        self.coupled = False  # whether odd records have the coins of those in whose place they come
        self._seats = seats
        self._joining = joining or Joining()

    def below(self, m: int, size: int) -> Integers:
        """Secret coins: written down with the number of records that have the same ones."""
        coins = self._coins(m, super().below(m, size))
        self.script.coins.append((m, coins[: self._with_same_coins(size)]))
        return coins

    def _with_same_coins(self, size: int) -> int:
        """How many of so many records have the same coins in both tables."""
        return size if self.coupled else size - self._seats.odd(size)

    def coins(self) -> Coins:
        """Coins that are written down, in the order of the records."""
        return CoinsInOrder(self.below, self.joins)

    def apart(self, m: int) -> int:
        """A draw in which no record has a part: the same with both tables."""
        self.script.apart.append(self._apart(super().apart(m)))
        return self.script.apart[-1]

    def joins(self, chances: Integers, out_of: int) -> NDArray[np.bool_]:
        """Common records by their coins, odd ones as the replay says."""
        size = len(chances)
        common = size - self._seats.odd(size)
        drawn = self.bits.uniform_below(out_of, size) < chances
        sample = Sample(drawn[:common], tuple(Fraction(int(c), out_of) for c in chances))
        joined = self._joined(sample)
        here = len(self.script.samples) == self._joining.sample
        who = self._joining.who if here else (False,) * (size - len(joined))
        self.script.samples.append(Sample(joined, sample.chances))
        return np.concatenate([joined, np.array(who, np.bool_)])

    def add_noise(self, noise: AdditiveNoise, totals: Integers) -> Integers:
        """The totals with noise."""
        mechanism = GAUSSIAN if isinstance(noise.loss, Gaussian) else LAPLACE
        return self._release(
            NO_NOISE if noise.parameter is None else mechanism,
            noise.parameter,
            totals,
            totals.shape,
            lambda: super(RecordingDraws, self).add_noise(noise, totals),
        )

    def count_levels(
        self, noise: AdditiveNoise, levels: Sequence[Any], counts: Integers, threshold: int
    ) -> Integers:
        """Noisy counts of values that occur."""
        outcome = np.empty(counts.shape, np.int64)
        named = tuple(levels), threshold
        asked = NamedCounts(
            self.label(), THRESHOLD, noise.parameter, counts.copy(), outcome, None, *named
        )
        return self._settle(asked, lambda: Draws.add_noise(self, noise, counts))

    def permute_and_flip(self, utilities: ArrayLike, **terms: Any) -> Integers:
        """A candidate for each row."""
        draw = super().permute_and_flip
        return self._choose(PERMUTE_AND_FLIP, utilities, lambda: draw(utilities, **terms), **terms)

    def exponential(self, utilities: ArrayLike, **terms: Any) -> Integers:
        """A candidate for each row."""
        draw = super().exponential
        return self._choose(EXPONENTIAL, utilities, lambda: draw(utilities, **terms), **terms)

    def exponential_at(
        self, utilities: Integers, rate: Fraction | float, weights: Integers | None = None
    ) -> Integers:
        """A candidate, paid for as a bounded range."""
        draw, shape = super().exponential_at, utilities.shape[:-1]
        law = None if isinstance(rate, float) else rate
        return self._release(
            BOUNDED_RANGE, law, utilities, shape, lambda: draw(utilities, rate, weights), weights
        )

    def _choose(
        self,
        mechanism: str,
        utilities: ArrayLike,
        draw: Callable[[], Integers],
        *,
        epsilon: Any,
        sensitivity: Any,
        monotone: bool,
        weights: Any = None,
    ) -> Integers:
        table = np.asarray(utilities)
        rate = None
        if not np.isinf(float(epsilon)):
            rate = selection.selection_rate(epsilon, sensitivity, monotone=monotone)
        measure = None if weights is None else np.broadcast_to(weights, table.shape).copy()
        return self._release(mechanism, rate, table, table.shape[:-1], draw, measure)

    def _release(
        self,
        mechanism: str,
        parameter: Fraction | None,
        exact: Integers,
        shape: tuple[int, ...],
        draw: Callable[[], Integers],
        weights: Integers | None = None,
    ) -> Integers:
        asked = Release(
            self.label(), mechanism, parameter, np.array(exact), np.empty(shape, np.int64), weights
        )
        return self._settle(asked, draw)

    def _settle(self, asked: Release, draw: Callable[[], Integers]) -> Integers:
        """Find the outcome and write it down."""
        asked.outcome[...] = self._outcome(asked, draw)
        self.script.releases.append(asked)
        if len(self.script.releases) == self.interrupt_after:
            raise InterruptedFitError("interrupted by the audit")
        return asked.outcome.copy()

    def _outcome(self, asked: Release, draw: Callable[[], Integers]) -> Integers:
        return draw()

    def _coins(self, m: int, coins: Integers) -> Integers:
        return coins

    def _apart(self, drawn: int) -> int:
        return drawn

    def _joined(self, sample: Sample) -> NDArray[np.bool_]:
        return sample.common


class ForcedDraws(RecordingDraws):
    """Gives what a script has, and writes down what it would have been drawn from.

    Parameters
    ----------
    seed : int
        For the coins of odd records.
    seats : Seats
    joining : Joining
    script : Script
        Of the fit to follow.
    """

    def __init__(self, seed: int, seats: Seats, joining: Joining, script: Script) -> None:
        super().__init__(seed, seats, joining)
        self._followed = script

    def refuse_less(self) -> None:
        """PartedError when the fit ended before the script did."""
        if len(self.script.releases) < len(self._followed.releases):
            raise PartedError("one fit makes releases that the other does not")

    def _outcome(self, asked: Release, draw: Callable[[], Integers]) -> Integers:
        followed: Any = self._next(self._followed.releases, self.script.releases)
        if not asked.follows_law_of(followed):
            number = len(self.script.releases) + 1
            raise PartedError(f"the law of release {number}, {asked.label}, depends on the records")
        if isinstance(asked, NamedCounts):
            return self._counts_of(asked, followed)
        outcome: Integers = followed.outcome
        return outcome

    def _counts_of(self, asked: NamedCounts, followed: NamedCounts) -> Integers:
        """Those of the script; values that it does not have are not named."""
        noisy = followed.noisy
        lost = [noisy[level] for level in followed.levels if level not in asked.levels]
        if lost and max(lost) >= asked.threshold:
            raise PartedError("a value is named that only one table has: what delta is for")
        unnamed = asked.threshold - 1
        return np.array([noisy.get(level, unnamed) for level in asked.levels], np.int64)

    def _coins(self, m: int, coins: Integers) -> Integers:
        others, followed = self._next(self._followed.coins, self.script.coins)
        if others != m:
            raise PartedError("what secret coins are drawn from depends on the records")
        common = min(len(followed), self._with_same_coins(len(coins)))
        coins[:common] = followed[:common]
        return coins

    def _apart(self, drawn: int) -> int:
        return int(self._next(self._followed.apart, self.script.apart))

    def _joined(self, sample: Sample) -> NDArray[np.bool_]:
        followed: Sample = self._next(self._followed.samples, self.script.samples)
        common = len(sample.common)
        if sample.chances[:common] != followed.chances[: len(followed.common)]:
            raise PartedError("the chance of a record to be in a sample depends on others")
        return followed.common

    @staticmethod
    def _next(followed: Sequence[Any], done: Sequence[Any]) -> Any:
        if len(done) == len(followed):
            raise PartedError("one fit draws what the other does not")
        return followed[len(done)]
