"""What follows from noisy histograms of scores: AUC and its curve, calibration, loss, Brier score.

``own[c]`` counts the records of class c by the score that the model gave to c; ``other[c]`` counts
records of other classes by the same score. With two classes the score of one says that of the
other, so one histogram a class is enough. With more, every record was dealt to one of the other
classes by a coin, and stands for all of them: ``times`` says how often.

Scores are known to a cell, so these are the figures of a model that answers the middle of the cell
(`dpforest.privacy.outcome_cells`), half a cell away from the model at most: 0.016.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpforest.arrays import Values
from dpforest.evaluation.figures import UNIT, Counted, Curve, Figure, Level, share
from dpforest.privacy.outcome_cells import SCORE_CELLS, SCORE_EDGES

CLIP = 1e-3
"""Log loss takes probabilities below this for this."""
MIDDLES = (SCORE_EDGES[:-1] + SCORE_EDGES[1:]) / 2
BIN_STARTS = np.round(np.linspace(0, SCORE_CELLS, 14)).astype(int)[:-1]
"""Where the thirteen bins of the calibration curve begin, three or four cells each."""
MEAN_OF_ABSOLUTE = math.sqrt(2 / math.pi)  # of a normal variable of deviation 1


class Scores(NamedTuple):
    """Noisy histograms of scores, shape (n_classes, SCORE_CELLS)."""

    own: Counted
    other: Counted
    times: int

    @classmethod
    def of_two(cls, own: Counted) -> Scores:
        """With two classes: a record's score of the other class is 1 less that of its own."""
        return cls(own, own._replace(counts=own.counts[::-1, ::-1]), 1)

    @property
    def looked_at(self) -> tuple[int, ...]:
        """The classes whose scores say something of their own: the second of two, all of more."""
        return (1,) if self.is_binary else tuple(range(len(self.own.counts)))

    def to_dict(self) -> dict[str, object]:
        """Return a JSON-safe form of the counts."""
        return {"own": self.own.counts.tolist(), "other": self.other.counts.tolist()}

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes."""
        return len(self.own.counts) == 2


def area(scores: Scores, level: Level) -> Figure:
    """The area under the ROC curve, the mean over classes of one against the rest.

    Classes share records, so their sampling errors may go together and are added up as deviations;
    the noise is independent. Ties within a cell count one half. A class too small to stand out of
    the noise has no part in the value, and may have any area in the interval.
    """
    every = [_area_of(scores, c) for c in scores.looked_at]
    parts = [part for part in every if part is not None]
    if not parts:
        return Figure(math.nan, *UNIT)
    values, sampling, noise = np.array(parts, float).T
    deviation = np.sqrt(np.maximum(sampling, 0)).mean()
    known = level.around(values.mean(), deviation**2, noise.sum() / len(values) ** 2, UNIT)
    share_known = len(parts) / len(every)
    low, high = share_known * known.low, share_known * known.high + 1 - share_known
    return Figure(known.value, low, high)


def _area_of(scores: Scores, c: int) -> tuple[float, float, float] | None:
    """The area of a class, its variance of sampling and of noise; None where nothing is known."""
    own, other = scores.own.counts[c], scores.other.counts[c]
    n_own, n_other = own.sum(), other.sum()
    if min(n_own, n_other) <= 3 * math.sqrt(SCORE_CELLS * scores.own.noise):
        return None
    below = (np.cumsum(other) - other / 2) / n_other  # share of others that a score beats
    above = (n_own - np.cumsum(own) + own / 2) / n_own
    value = float(own @ below / n_own)
    by_own, by_other = (below - value) / n_own, (above - value) / n_other
    sampling = scores.own.alike * (by_own**2 @ own + by_other**2 @ other)
    noise = scores.own.noise * (by_own @ by_own) + scores.other.noise * (by_other @ by_other)
    # The product of two noises is not linear: small where the totals stand out of the noise.
    noise += scores.own.noise * scores.other.noise * SCORE_CELLS**2 / 2 / (n_own * n_other) ** 2
    return value, float(sampling), float(noise)


def roc(scores: Scores, c: int, level: Level) -> Curve | None:
    """False positives (x) and true positives (y) of a class, for thresholds from high to low.

    None where the class or the others do not stand out of the noise.
    """
    true = rates(scores.own, c, level)
    false = rates(scores.other, c, level)
    if np.isnan(true.value).any() or np.isnan(false.value).any():
        return None
    x = np.maximum.accumulate(false.value[::-1])
    y = np.maximum.accumulate(true.value[::-1])
    return Curve(x, y, np.minimum(true.low[::-1], y), np.maximum(true.high[::-1], y))


def rates(histogram: Counted, c: int, level: Level) -> Figure:
    """The shares of a class's records with scores at and above every border of the cells."""
    cells = np.arange(SCORE_CELLS, -1, -1)
    above = np.append(np.cumsum(histogram.counts[c][::-1])[::-1], 0.0)
    return share(above, above[0] - above, histogram, level, (cells, SCORE_CELLS - cells))


def log_loss(scores: Scores, level: Level) -> Figure:
    """The mean of minus the logarithm of the score of the true class, clipped at `CLIP`."""
    losses = -np.log(np.maximum(MIDDLES, CLIP))
    return _mean_over_own(scores, losses, level, -math.log(CLIP))


def brier(scores: Scores, level: Level) -> Figure:
    """The mean squared distance of scores from what is true.

    Of two classes the second's alone, as is usual; of more the sum over classes, from 0 to 2.
    """
    own = _mean_over_own(scores, (1 - MIDDLES) ** 2, level, 1.0)
    if scores.is_binary:
        return own
    flat = scores.other._replace(counts=scores.other.counts.ravel())
    other = flat.mean(np.tile(MIDDLES**2, len(scores.own.counts)), level)
    value = own.value + scores.times * other.value
    # Both are of the same records: their errors may go together.
    low = own.low + scores.times * other.low
    high = own.high + scores.times * other.high
    return Figure(*(float(np.clip(number, 0.0, 2.0)) for number in (value, low, high)))


def _mean_over_own(scores: Scores, weights: Values, level: Level, most: float) -> Figure:
    flat = scores.own._replace(counts=scores.own.counts.ravel())
    return flat.mean(np.tile(weights, len(scores.own.counts)), level, (0.0, most))


class Calibration(NamedTuple):
    """How often things come that the model gives a probability.

    Attributes
    ----------
    curve : Curve
        Mean score (x) and share of records of the class (y) in bins of the score.
    error : Figure
        Expected calibration error: the mean distance between both, over records.
    """

    curve: Curve
    error: Figure

    def to_dict(self) -> dict[str, object]:
        """Return a JSON-safe form."""
        return {"curve": self.curve.to_dict(), "error": self.error.to_dict()}


def calibration(scores: Scores, level: Level) -> Calibration:
    """The calibration of the scores of `Scores.looked_at`, all together; in thirteen public bins.

    A bin's distance |share - mean score| has an error of deviation s, and so the mean of its
    estimate lies up to 0.8 s above it: the interval reaches down by as much more.
    """
    classes = list(scores.looked_at)
    hits = scores.own.counts[classes].sum(axis=0)
    misses = scores.times * scores.other.counts[classes].sum(axis=0)
    h, m = _in_bins(hits), _in_bins(misses)
    cells = _in_bins(np.full(SCORE_CELLS, float(len(classes))))
    # With more than two classes a record is in both histograms of the bin, perhaps.
    own = scores.own._replace(alike=scores.own.alike * (1 if scores.is_binary else 2))
    shares = share(h, m, own, level, (cells, cells), scores.times)
    # A hundredth of a record everywhere: bins without any lie at their middle.
    everyone = np.maximum(hits + misses, 0.0) + 0.01
    score = _in_bins(everyone * MIDDLES) / _in_bins(everyone)
    curve = Curve(score, shares.value, shares.low, shares.high)
    return Calibration(curve, _calibration_error(own, scores.times, (h, m, cells), score, level))


def _in_bins(numbers: Values) -> Values:
    return np.asarray(np.add.reduceat(numbers, BIN_STARTS))


def _calibration_error(
    own: Counted,
    times: int,
    binned: tuple[Values, Values, Values],
    score: Values,
    level: Level,
) -> Figure:
    h, m, cells = binned
    n = float((h + m).sum())
    noise_of_n = float((own.noise * cells * (1 + times**2)).sum())
    if n <= level.noise * math.sqrt(noise_of_n):
        return Figure(math.nan, *UNIT)
    # A bin's part of the error is |gap| / n with gap = h - score * (h + m).
    gap = (1 - score) * h - score * m
    noise = own.noise * cells * ((1 - score) ** 2 + (score * times) ** 2)
    found = (1 - score) ** 2 * np.maximum(h, 0) + score**2 * times * np.maximum(m, 0)
    sampling = own.alike * found
    variance = sampling + noise
    plug_in = float(np.abs(gap).sum() / n)
    around = level.around(plug_in, sampling.sum() / n**2, noise.sum() / n**2)
    too_high = MEAN_OF_ABSOLUTE * float(np.sqrt(variance).sum()) / n
    value = float(np.sqrt(np.maximum(gap**2 - variance, 0)).sum() / n)
    low, high = max(around.low - too_high, 0.0), min(around.high, 1.0)
    return Figure(min(max(value, low), high), low, high)
