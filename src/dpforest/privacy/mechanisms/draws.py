"""All that is random in a release, behind one object: an auditor puts another in its place."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from numpy.typing import ArrayLike

from dpforest.arrays import Integers
from dpforest.privacy.accounts.stopping import Stopping
from dpforest.privacy.mechanisms import selection
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.privacy.mechanisms.coins import KeyedCoins
from dpforest.privacy.mechanisms.randomness import RandomBits
from dpforest.privacy.mechanisms.stopping import draw_number_of_trials
from dpforest.records.coins import Coins


class Draws:
    """Noise, private choices and secret coins from one source of random bits.

    Whatever a desk releases is drawn here, so that a record of these calls is a record of the
    release: `dpforest.audit` replays and enumerates fits with subclasses of this.

    Parameters
    ----------
    seed : int, RandomBits or None, default=None
        None takes the operating system's secure randomness; see `RandomBits`.

    Examples
    --------
    >>> Draws(7).below(10, 3).tolist() == Draws(7).below(10, 3).tolist()
    True
    """

    def __init__(self, seed: int | RandomBits | None = None) -> None:
        self.bits = seed if isinstance(seed, RandomBits) else RandomBits(seed)

    @property
    def reproducible(self) -> bool:
        """Whether a seed fixes all draws: then nothing drawn is for release."""
        return self.bits.reproducible

    def looked(self) -> None:
        """To be told whenever records were looked at: draws after it may depend on draws before."""

    def below(self, m: int, size: int) -> Integers:
        """Secret uniform draws from 0, ..., m - 1, in order; never released."""
        return self.bits.uniform_below(m, size)

    def coins(self) -> Coins:
        """Secret coins under a fresh key, for records by their addresses; never released."""
        return KeyedCoins(self.bits.words(4))

    def apart(self, m: int) -> int:
        """A secret uniform draw from 0, ..., m - 1 in which no record has a part."""
        return int(self.bits.uniform_below(m, 1)[0])

    def number_of_trials(self, law: Stopping) -> int:
        """How often to try, by a law of stopping; see `stopping.draw_number_of_trials`."""
        return draw_number_of_trials(law, self.apart)

    def add_noise(self, noise: AdditiveNoise, totals: Integers) -> Integers:
        """The totals with noise."""
        return noise.added_to(totals, self.bits)

    def count_levels(
        self, noise: AdditiveNoise, levels: Sequence[Any], counts: Integers, threshold: int
    ) -> Integers:
        """Noisy counts of the values that occur; those that reach the threshold may be named."""
        return self.add_noise(noise, counts)

    def permute_and_flip(
        self,
        utilities: ArrayLike,
        *,
        epsilon: Fraction | float,
        sensitivity: Fraction | int,
        monotone: bool,
    ) -> Integers:
        """A candidate for each row; see `selection.permute_and_flip`."""
        return selection.permute_and_flip(
            utilities, epsilon=epsilon, sensitivity=sensitivity, monotone=monotone, bits=self.bits
        )

    def exponential_at(
        self, utilities: Integers, rate: Fraction | float, weights: Integers | None = None
    ) -> Integers:
        """A candidate, by the exponential mechanism at a rate; paid for as a bounded range."""
        # Twice the rate is the epsilon of a sensitivity of 1.
        return selection.exponential_mechanism(
            utilities,
            epsilon=2 * rate,
            sensitivity=1,
            monotone=False,
            bits=self.bits,
            weights=weights,
        )

    def exponential(
        self,
        utilities: ArrayLike,
        *,
        epsilon: Fraction | float,
        sensitivity: Fraction | int,
        monotone: bool,
        weights: Any = None,
    ) -> Integers:
        """A candidate for each row; see `selection.exponential_mechanism`."""
        return selection.exponential_mechanism(
            utilities,
            epsilon=epsilon,
            sensitivity=sensitivity,
            monotone=monotone,
            bits=self.bits,
            weights=weights,
        )
