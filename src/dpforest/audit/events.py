"""Learn, from releases on two neighbouring tables, an event that tells them apart.

A release is a row of numbers (leaf values, labels, splits, predictions); a number that is missing
because a model has another shape is NaN, which is a value like others. Learning looks at half of
the releases, and whatever it finds is judged on the other half, so it can be as greedy as it likes.

For numbers with independent noise the best statistic is the sum of their log likelihood ratios
(Neyman and Pearson). They are read off histograms of each number, and added up: as they are
("naive"), and weighted for their correlations ("discriminant"). Single numbers compete too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

Releases = NDArray[np.float64]
Score = Callable[[Releases], NDArray[np.float64]]
Tell = Callable[[NDArray[np.int64], NDArray[np.int64], int], NDArray[np.float64]]

MOST_BINS = 32
MOST_NUMBERS = 64  # that enter a sum
SINGLES = 6
MOST_THRESHOLDS = 200
ABSENT = -1e300  # stands for NaN


@dataclass(frozen=True)
class Event:
    """A score beyond a threshold.

    Parameters
    ----------
    description : str
        What the score is.
    score : callable
        From releases to numbers.
    threshold : float
    above : bool
        Whether the event is a score of at least the threshold, or of at most it.
    likelier : int
        The table, 0 or 1, that makes the event likelier.
    promise : float
        What the event seems to prove, on the releases it was learnt from.
    width : int
        How many numbers a release had then; later ones may have fewer.
    """

    description: str
    score: Score
    threshold: float
    above: bool
    likelier: int
    promise: float = 0.0
    width: int = 0

    def happens(self, releases: Releases) -> NDArray[np.bool_]:
        """In which releases it happens."""
        scores = self.score_of(releases)
        return scores >= self.threshold if self.above else scores <= self.threshold

    def score_of(self, releases: Releases) -> NDArray[np.float64]:
        """The score of each release."""
        missing = max(0, self.width - releases.shape[1])
        padded = np.pad(releases, ((0, 0), (0, missing)), constant_values=np.nan)
        return self.score(filled(padded))

    def __str__(self) -> str:
        """Say when it happens."""
        return f"{self.description} {'>=' if self.above else '<='} {self.threshold:.6g}"


def learn_event(one: Releases, other: Releases, names: list[str], tell: Tell) -> Event:
    """Find the event that would prove most if it were seen as often again.

    The first half of the releases makes the scores, the second chooses among them and their
    thresholds.

    Parameters
    ----------
    one, other : ndarray, shape (trials, width)
        Releases on the two tables.
    names : list of str
        What the numbers are.
    tell : callable
        What counts of an event would prove: from hits with the table that makes it likelier, hits
        with the other, and the number of trials.
    """
    first, second = filled(one), filled(other)
    half = len(first) // 2

    best = Event("nothing", lambda rows: np.zeros(len(rows)), 0.0, True, 0)
    for description, score in _scores(first[:half], second[:half], names):
        for event in _events(description, score, first[half:], second[half:], tell):
            if event.promise > best.promise:
                best = event
    return replace(best, width=first.shape[1])


def filled(releases: Releases) -> Releases:
    """Releases with a plain number for what is absent."""
    return np.nan_to_num(releases, nan=ABSENT, posinf=1e300, neginf=-1e299)


def _scores(one: Releases, other: Releases, names: list[str]) -> Iterator[tuple[str, Score]]:
    ratios = [_Ratio.of(one, other, column) for column in range(one.shape[1])]
    ratios.sort(key=lambda ratio: -ratio.evidence)
    for ratio in ratios[:SINGLES]:
        name = names[ratio.column]
        yield name, partial(_column, column=ratio.column)
        yield f"log likelihood ratio of {name}", ratio
    chosen = [ratio for ratio in ratios[:MOST_NUMBERS] if ratio.evidence > 0]
    if len(chosen) > 1:
        listed = ", ".join(names[ratio.column] for ratio in chosen[:3])
        listed += f" and {len(chosen) - 3} more" if len(chosen) > 3 else ""
        yield f"sum of log likelihood ratios of {listed}", _Sum(chosen)
        weighted = _Sum(chosen).weighted(one, other)
        yield f"discriminant of log likelihood ratios of {listed}", weighted


def _column(rows: Releases, column: int) -> NDArray[np.float64]:
    return rows[:, column]


@dataclass(frozen=True)
class _Ratio:
    """The log likelihood ratio of one number, as a step function."""

    column: int
    edges: NDArray[np.float64]
    values: NDArray[np.float64]
    evidence: float

    @classmethod
    def of(cls, one: Releases, other: Releases, column: int) -> _Ratio:
        a, b = one[:, column], other[:, column]
        levels = np.unique(np.concatenate([a, b]))
        if len(levels) > MOST_BINS:
            pooled = np.concatenate([a, b])
            levels = np.unique(np.quantile(pooled, np.linspace(0, 1, MOST_BINS), method="lower"))
        edges = levels[1:]
        n_bins = len(levels)
        in_one = np.bincount(np.searchsorted(edges, a, side="right"), minlength=n_bins)
        in_other = np.bincount(np.searchsorted(edges, b, side="right"), minlength=n_bins)
        values = np.log((in_other + 0.5) / (in_one + 0.5))
        # Chi-square against its mean and three deviations: noise is kept out of the sums.
        total = np.maximum(in_one + in_other, 1)
        chi2 = float(((in_one - in_other) ** 2 / total).sum())
        freedom = n_bins - 1
        return cls(column, edges, values, chi2 - freedom - 3.0 * np.sqrt(2.0 * freedom))

    def __call__(self, rows: Releases) -> NDArray[np.float64]:
        """The ratio of each release."""
        return self.values[np.searchsorted(self.edges, rows[:, self.column], side="right")]


@dataclass(frozen=True)
class _Sum:
    """Log likelihood ratios of several numbers, added up with weights."""

    ratios: list[_Ratio]
    weights: NDArray[np.float64] | None = None

    def __call__(self, rows: Releases) -> NDArray[np.float64]:
        """The sum of each release."""
        parts = self._parts(rows)
        # Rounding puts atoms of the sum together again.
        return np.round(parts.sum(1) if self.weights is None else parts @ self.weights, 9)

    def weighted(self, one: Releases, other: Releases) -> _Sum:
        """Fisher's discriminant: numbers that say the same thing count once."""
        a, b = self._parts(one), self._parts(other)
        spread = (np.atleast_2d(np.cov(a.T)) + np.atleast_2d(np.cov(b.T))) / 2
        ridge = 1e-3 * np.trace(spread) / len(spread) + 1e-12
        shift = b.mean(0) - a.mean(0)
        return replace(self, weights=np.linalg.solve(spread + ridge * np.eye(len(spread)), shift))

    def _parts(self, rows: Releases) -> NDArray[np.float64]:
        return np.column_stack([ratio(rows) for ratio in self.ratios])


def _events(
    description: str, score: Score, one: Releases, other: Releases, tell: Tell
) -> Iterator[Event]:
    """The best threshold of a score, each way and for each table."""
    scores = score(one), score(other)
    levels = np.unique(np.concatenate(scores))
    if len(levels) > MOST_THRESHOLDS:
        levels = np.unique(np.quantile(levels, np.linspace(0, 1, MOST_THRESHOLDS)))
    trials = len(one)
    for above in (True, False):
        hits = [_hits(s, levels, above) for s in scores]
        for likelier in (0, 1):
            promises = tell(hits[likelier], hits[1 - likelier], trials)
            best = int(promises.argmax())
            promise = float(promises[best])
            yield Event(description, score, float(levels[best]), above, likelier, promise)


def _hits(
    scores: NDArray[np.float64], levels: NDArray[np.float64], above: bool
) -> NDArray[np.int64]:
    ordered = np.sort(scores)
    if above:
        return len(scores) - np.searchsorted(ordered, levels, side="left")
    return np.searchsorted(ordered, levels, side="right")
