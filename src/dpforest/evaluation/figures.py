"""Figures with intervals, from noisy counts: post-processing of released numbers.

An interval speaks of the population that the records are a sample of, so it holds two errors. The
records are a sample: a count of c has the variance c (of Poisson's law), times the most records of
a person where persons have several, whose records may be alike. And the counts have noise, of which
the variance is public. Both go through the figure by its first derivatives (the delta method).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from dpforest.arrays import Values

UNIT = (0.0, 1.0)
NEARLY_ALL = 0.95  # of a range: an interval as wide says nothing


@dataclass(frozen=True)
class Figure:
    """An estimate and its interval; numbers, or arrays of one shape.

    Parameters
    ----------
    value, low, high : float or ndarray
        The value is nan where the noise covers it.

    Examples
    --------
    >>> print(Figure(0.81, 0.79, 0.83))
    0.8100 (0.7900 to 0.8300)
    >>> print(Figure(math.nan, 0.0, 1.0))
    not known (0.0000 to 1.0000)
    """

    value: Any
    low: Any
    high: Any

    def __str__(self) -> str:
        """The value and, in brackets, the interval."""
        if np.ndim(self.value):
            return "; ".join(str(self[i]) for i in range(len(self.value)))
        value = "not known" if math.isnan(self.value) else f"{self.value:.4f}"
        return f"{value} ({self.low:.4f} to {self.high:.4f})"

    def __getitem__(self, place: Any) -> Figure:
        """The figure at a place of arrays."""
        return Figure(*(_plain(part[place]) for part in (self.value, self.low, self.high)))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe form; None where a value is not known, or there is no bound."""
        return {name: _written(part) for name, part in vars(self).items()}

    def if_known(self, within: tuple[float, float]) -> Figure:
        """Without a value where the interval covers nearly all of this range."""
        covered = np.minimum(self.high, within[1]) - np.maximum(self.low, within[0])
        unknown = covered >= NEARLY_ALL * (within[1] - within[0])
        return Figure(_plain(np.where(unknown, math.nan, self.value)), self.low, self.high)


@dataclass(frozen=True)
class Curve:
    """A curve with a band: at each ``x`` an interval for ``y``, each at the level by itself.

    Parameters
    ----------
    x, y, low, high : ndarray
        ``y`` is nan where the noise covers it.
    """

    x: Values
    y: Values
    low: Values
    high: Values

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe form; None where a value is not known."""
        return {name: _written(part) for name, part in vars(self).items()}


class Level(NamedTuple):
    """How wide an interval is, in standard deviations of sampling and of noise.

    A single Laplace variable has heavier tails than the normal one, so noise gets the wider of the
    two; sums of many are then covered with room to spare.
    """

    sampling: float
    noise: float

    @classmethod
    def of(cls, level: float) -> Level:
        """The widths of a two-sided interval that covers with this probability."""
        normal = float(ndtri((1 + level) / 2))
        return cls(normal, max(normal, -math.log(1 - level) / math.sqrt(2)))

    def around(
        self,
        value: Any,
        sampling: Any,
        noise: Any,
        limits: tuple[float, float] = (-math.inf, math.inf),
    ) -> Figure:
        """The interval around a value with these variances, within limits."""
        half = np.sqrt(
            self.sampling**2 * np.maximum(sampling, 0.0) + self.noise**2 * np.asarray(noise)
        )
        value = np.clip(value, *limits)
        low, high = np.clip(value - half, *limits), np.clip(value + half, *limits)
        return Figure(_plain(value), _plain(low), _plain(high))


class Counted(NamedTuple):
    """Noisy counts, the variance of their noise and how many records of a person may be alike."""

    counts: Values
    noise: float
    alike: int = 1

    def mean(
        self,
        weights: Any,
        level: Level,
        limits: tuple[float, float] = UNIT,
        cells: Any = 1.0,
        times: Any = 1.0,
    ) -> Figure:
        """The mean of ``weights`` over the last axis, the counts being how often each comes.

        ``cells`` says how many noisy counts went into each, ``times`` how often each record. Where
        the total does not stand out of its noise nothing is known: no value, and the interval is as
        wide as the limits.
        """
        cells = np.broadcast_to(cells * np.square(times), self.counts.shape)
        total = self.counts.sum(axis=-1)
        known = total > level.noise * np.sqrt(self.noise * cells.sum(axis=-1))
        divisor = np.where(known, total, 1.0)
        mean = (weights * self.counts).sum(axis=-1) / divisor
        lever = ((weights - mean[..., np.newaxis]) / divisor[..., np.newaxis]) ** 2
        # Counts as they are, below 0 or not: their mean error is 0, and so is that of the sum.
        sampling = self.alike * (lever * times * self.counts).sum(axis=-1)
        found = level.around(mean, sampling, (lever * cells).sum(axis=-1) * self.noise, limits)
        return Figure(
            _plain(np.where(known, found.value, math.nan)),
            _plain(np.where(known, found.low, limits[0])),
            _plain(np.where(known, found.high, limits[1])),
        )


def share(
    part: Any, rest: Any, of: Counted, level: Level, cells: tuple[Any, Any], times: float = 1.0
) -> Figure:
    """The share of a part in itself and the rest.

    Each is the sum of so many noisy counts; records of the rest count several ``times``.
    """
    part, rest, *numbers = np.broadcast_arrays(part, rest, *cells)
    both = of._replace(counts=np.stack([part, rest], axis=-1))
    weights, often = np.array([1.0, 0.0]), np.array([1.0, times])
    return both.mean(weights, level, cells=np.stack(numbers, axis=-1), times=often)


def _written(part: Any) -> Any:
    """A number, or a list of them, as JSON has them: None in the place of nan and infinity."""
    written = np.array(part, object)
    written[~np.isfinite(part)] = None
    return written.tolist()


def _plain(number: Any) -> Any:
    """A float for an array of no dimensions."""
    return float(number) if np.ndim(number) == 0 else np.asarray(number)
