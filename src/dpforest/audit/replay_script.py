"""What was drawn in a fit, and by which records: the script that another fit is to follow."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Integers
from dpforest.audit.replay_losses import Loss, Release


@dataclass(frozen=True)
class Seats:
    """Which records of a table are the odd ones: its last, after the first so many.

    Parameters
    ----------
    n_rows, common : int
    most : int, optional
        How many records of a person are kept, where persons are protected.
    """

    n_rows: int
    common: int
    most: int | None = None

    def odd(self, size: int) -> int:
        """How many of so many records are odd: all that there are, or those that were kept."""
        odd = self.n_rows - self.common
        return odd if self.most is None or size == self.n_rows else min(odd, self.most)


@dataclass(frozen=True)
class Joining:
    """Which odd records join which sample; in all others there are none."""

    sample: int = -1
    who: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Sample:
    """Coins of one tree: who joined of the common records, and the chances of everyone."""

    common: NDArray[np.bool_]
    chances: tuple[Fraction, ...]

    @property
    def odd_chances(self) -> tuple[Fraction, ...]:
        """Those of the odd records."""
        return self.chances[len(self.common) :]


@dataclass
class Script:
    """All that was drawn, in order."""

    releases: list[Release] = field(default_factory=list)
    coins: list[tuple[int, Integers]] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    apart: list[int] = field(default_factory=list)

    def losses_to(self, other: Script) -> list[Loss]:
        """What each release of this script and of another one tell."""
        pairs = zip(self.releases, other.releases, strict=True)
        return [one.loss_to(two) for one, two in pairs]
