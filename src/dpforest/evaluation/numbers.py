"""What follows from noisy sums of errors and a noisy histogram of residuals."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpforest.arrays import Values
from dpforest.evaluation.figures import Curve, Figure, Level
from dpforest.privacy.outcome_cells import SIDE_CELLS, residual_edges

PROBABILITIES = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
"""The quantiles of residuals that are told."""
IN_SIGHT = 2.0  # deviations of the noise that a tail must reach to count


class Sums(NamedTuple):
    """Noisy sums over records, in the units of `dpforest.records.error_sums.ErrorSums`."""

    values: Values
    noise: float
    alike: int
    bounds: tuple[float, float]
    most: float

    @property
    def half(self) -> float:
        """Half the range of the target: the unit in which it is measured."""
        return (self.bounds[1] - self.bounds[0]) / 2


def bound_of_errors(histogram: Values, deviation: float, bounds: tuple[float, float]) -> float:
    """Where to clip errors: a border beyond which no residuals stand out of the noise.

    A rule on released counts: from the outside in, as long as all that lies beyond is within
    two deviations of its noise; and two borders further out than that.
    """
    edges = residual_edges(bounds)
    beyond = np.cumsum(histogram[:SIDE_CELLS] + histogram[::-1][:SIDE_CELLS])
    noise = deviation * np.sqrt(2 * np.arange(1, SIDE_CELLS + 1))
    seen = np.flatnonzero(beyond > IN_SIGHT * noise)
    outermost = int(seen[0]) if len(seen) else SIDE_CELLS
    return float(edges[-1 - max(outermost - 2, 0)])


def mean_error(sums: Sums, level: Level) -> Figure:
    """The mean absolute error; errors above ``most`` count as ``most``."""
    n, errors, squares = sums.values[:3]
    if not _is_known(sums, level):
        return Figure(math.nan, 0.0, sums.most)
    mean, square = _clip(errors / n), _clip(squares / n)
    sampling = sums.alike * max(square - mean**2, 0.0) / n
    found = level.around(mean, sampling, sums.noise * (1 + mean**2) / n**2, (0.0, 1.0))
    return _scaled(found, sums.most)


def squared_error(sums: Sums, histogram: Values, level: Level) -> Figure:
    """The mean squared error; errors above ``most`` count as ``most``."""
    n, _, squares = sums.values[:3]
    if not _is_known(sums, level):
        return Figure(math.nan, 0.0, sums.most**2)
    mean = _clip(squares / n)
    sampling = sums.alike * max(_fourth_moment(sums, histogram, mean) - mean**2, 0.0) / n
    found = level.around(mean, sampling, sums.noise * (1 + mean**2) / n**2, (0.0, 1.0))
    return _scaled(found, sums.most**2)


def r2(sums: Sums, mse: Figure, level: Level) -> Figure:
    """1 less the mean squared error over the variance of the target; at most 1.

    The two may err together in any way, so the interval takes the worst: each bound of the error
    with the bound of the variance that goes with it.
    """
    n, places, squares = sums.values[0], sums.values[3], sums.values[4]
    if not _is_known(sums, level):
        return Figure(math.nan, -math.inf, 1.0)
    mean, square = float(np.clip(places / n, -1, 1)), _clip(squares / n)
    variance = square - mean**2
    # With |place| <= 1 its fourth moment is at most the second: Var((place - mean)^2) is bounded.
    sampling = sums.alike * max((1 + abs(mean)) ** 2 * variance - variance**2, 0.0) / n
    noise = sums.noise * (1 + 4 * mean**2 + (square - 2 * mean**2) ** 2) / n**2
    spread = _scaled(level.around(variance, sampling, noise, (0.0, 1.0)), sums.half**2)
    if spread.low <= 0:
        return Figure(math.nan, -math.inf, 1.0)
    value = 1 - mse.value / spread.value
    return Figure(value, 1 - mse.high / spread.low, min(1 - mse.low / spread.high, 1.0))


def residual_quantiles(
    histogram: Values, deviation: float, alike: int, bounds: tuple[float, float], level: Level
) -> Curve:
    """Quantiles (y) of residuals, truth less prediction, at `PROBABILITIES` (x).

    Where the noisy distribution function first reaches the probability; within a cell residuals
    count as evenly spread. Where they lie in it is not known, so intervals go from the lower border
    of the cell where the upper band gets there to the upper border where the lower one does.
    """
    edges = residual_edges(bounds)
    n = max(float(histogram.sum()), 1.0)
    below = np.append(0.0, np.cumsum(histogram)) / n
    cells = np.arange(len(below), dtype=float)
    left, right = below * n, n - below * n
    noise = deviation**2 * (cells * right**2 + cells[::-1] * left**2) / n**4
    band = level.around(below, alike * np.clip(below * (1 - below), 0, 1) / n, noise, (0.0, 1.0))
    rising = np.maximum.accumulate(np.clip(below, 0, 1))
    value = np.array([_first_at(rising, edges, p) for p in PROBABILITIES])
    last = len(edges) - 1
    first = np.searchsorted(np.maximum.accumulate(band.high), PROBABILITIES) - 1
    latest = np.searchsorted(np.maximum.accumulate(band.low), PROBABILITIES)
    low = np.minimum(edges[np.maximum(first, 0)], value)
    high = np.maximum(edges[np.minimum(latest, last)], value)
    known = Figure(value, low, high).if_known((float(edges[0]), float(edges[-1])))
    return Curve(PROBABILITIES.copy(), known.value, low, high)


def _first_at(rising: Values, edges: Values, probability: float) -> float:
    k = int(np.searchsorted(rising, probability))
    if k == 0 or k == len(rising):
        return float(edges[min(k, len(edges) - 1)])
    share = (probability - rising[k - 1]) / (rising[k] - rising[k - 1])
    return float(edges[k - 1] + share * (edges[k] - edges[k - 1]))


def _fourth_moment(sums: Sums, histogram: Values, second: float) -> float:
    """Of errors in units of ``most``: by the histogram, between the bounds that must hold."""
    edges = residual_edges(sums.bounds) / sums.most
    middles = np.minimum(np.abs(edges[:-1] + edges[1:]) / 2, 1.0)
    found = float(histogram @ middles**4) / max(float(sums.values[0]), 1.0)
    return min(max(found, second**2), second)


def _is_known(sums: Sums, level: Level) -> bool:
    return bool(sums.values[0] > level.noise * math.sqrt(sums.noise))


def _clip(number: float) -> float:
    return min(max(float(number), 0.0), 1.0)


def _scaled(figure: Figure, unit: float) -> Figure:
    return Figure(figure.value * unit, figure.low * unit, figure.high * unit)
