"""Importances one can trust: how far the released scores move with a feature, less the noise.

Draw two points as records are spread (`dpforest.report.law`), and give one the value of the other
in one feature: half the mean squared move of the score is what shuffling this feature costs, in
squared error of the score, if the score is right. Noise moves scores as well, and its part is
taken out, in one of two ways.

Where it is known what noise does to leaves (`dpforest.report.noise_runs`), there are forests of
nothing but noise. If the score is off by an error e, half the squared move is more than shuffling
costs by the mean of e times the move of e: that is subtracted. Of a feature with nothing to do with
the others it is all that noise does; but noise in features that go together may cancel on
records, and shuffling sets it free, which costs. A feature is told from noise when it stands out
of it (by three deviations, if some feature moves by nine more than noise alone).

Where all that is known is that every tree had noise of its own, the square of a sum over trees
without the squares of single trees, the sum over pairs of different trees, holds no noise. It
stands out when it is more than it could be if groups of trees had nothing in common: their moves
with signs by fair coins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.report.explained import Explained
from dpforest.report.moving_kernels import moved_scores
from dpforest.tables.routing import add_leaf_values

Bins = NDArray[np.uint8]
POINTS = 1024
MOST_MOVES = 1 << 23  # numbers at a time
GROUPS = 20
DEVIATIONS = 2.0  # on either side of a value
DEVIATIONS_OF_NOISE = 3.0  # above its mean, beyond which it is no noise
DEVIATIONS_OF_THE_FIRST = 9.0  # which some feature must reach before any other counts
DEVIATIONS_OF_COINS = (
    2.5  # the same for pairs; groups of trees allow for 1.4 less than a group each
)
LEAST_OF_PAIRS = 0.4  # of all moves along a feature: what noise is does not come to the last digit
LEAST_OF_MANY_TREES, MORE_OF_FEW = 0.25, 1.5  # the same next to noise; few trees average out less
MOST_OF_FEW_TREES = 0.6  # a linear model or a rule has a tree a feature, and they are no average

CHOSEN_ONCE = "chosen once: whether by chance cannot be told"


@dataclass(frozen=True)
class Importances:
    """The importance of every feature, with an interval.

    Values are shares of all that moves the released score, noise included: what is missing to 1 is
    noise, and what cannot be told from it. They are all 0 where nothing but noise was learnt.

    Parameters
    ----------
    names : tuple of str
        The features.
    value : ndarray of float64, shape (n_features,)
        0 where a feature cannot be told from noise.
    low, high : ndarray of float64, shape (n_features,)
        Two deviations below and above, by the noise; NaN where the model was chosen once.
    chosen_once : bool, default=False
        Whether the model is a rule, chosen once as a whole: values are what it says, and whether
        it does so by chance cannot be told.
    """

    names: tuple[str, ...]
    value: Values
    low: Values
    high: Values
    chosen_once: bool = False

    @property
    def distinguishable(self) -> tuple[str, ...]:
        """The features that can be told from noise, the most important first."""
        if self.chosen_once:
            return ()
        order = np.argsort(-self.value, kind="stable")
        return tuple(self.names[j] for j in order if self.value[j] > 0.0)

    def __str__(self) -> str:
        width = max(map(len, self.names))
        order = np.argsort(-self.value, kind="stable")
        return "\n".join(
            f"{self.names[j]:<{width}}  {self.value[j]:.3f}{self._doubt(j)}" for j in order
        )

    def _doubt(self, j: int) -> str:
        """What a line says behind the value."""
        if self.chosen_once:
            return f"  {CHOSEN_ONCE}" if self.value[j] else ""
        interval = f"  ({self.low[j]:.3f} to {self.high[j]:.3f})"
        return interval if self.value[j] else f"{interval}  not distinguishable from 0"


def importances_of(model: Explained) -> Importances:
    """The importance of every feature of a released model; see the module."""
    rng = np.random.default_rng(0)
    points, others = (model.law.draw(POINTS, rng) for _ in range(2))
    measure = _next_to_noise if model.null is not None else _in_pairs
    moved, signal, noise, deviation = measure(model, points, others)
    loud = signal > noise
    value = np.where(loud, signal, 0.0)
    low = np.where(loud, signal - DEVIATIONS * deviation, 0.0)
    high = np.maximum(signal, 0.0) + DEVIATIONS * deviation
    if model.chosen_once:
        low = high = np.full_like(value, np.nan)
    everything = max(float(moved.sum()), np.finfo(np.float64).tiny)
    value, low, high = (np.clip(x / everything, 0.0, 1.0) for x in (value, low, high))
    return Importances(model.names, value, low, high, model.chosen_once)


def _next_to_noise(model: Explained, points: Bins, others: Bins) -> tuple[Values, ...]:
    """Half the squared moves; these less those of noise; what noise may reach; the deviation."""
    assert model.null is not None
    n_outputs, n_runs = model.table.shape[1], model.null.shape[1]
    table = np.concatenate([model.table, model.null], axis=1)
    one_group = np.zeros(model.forest.n_trees, np.int64)
    errors = add_leaf_values(model.forest, points, model.null)
    squares = np.zeros((len(model.names), n_outputs + n_runs))
    told = np.zeros((len(model.names), n_runs))
    for part, moves, _ in _moves(model, points, others, table, one_group):
        squares += 0.5 / POINTS * (moves[:, :, 0] ** 2).sum(axis=0)
        told += np.einsum("ir,ijr->jr", errors[part], moves[:, :, 0, n_outputs:]) / POINTS
    moved = squares[:, :n_outputs].sum(axis=1)
    alone, doubt = _over_runs(n_outputs * squares[:, n_outputs:], n_outputs)
    mean, noise = _over_runs(n_outputs * told, n_outputs)
    signal = moved - mean
    # Noise of variance `mean` in so many directions (noise / mean says how many) meets the signal.
    cross = 2.0 * np.maximum(signal, 0.0) * noise**2 / np.maximum(mean, 1e-300)
    # A forest asks again what noise spoke for at first, so noise may reach further than it should:
    # where nothing stands out beyond doubt, nothing does.
    sure = bool((moved - alone > DEVIATIONS_OF_THE_FIRST * doubt).any())
    least = LEAST_OF_MANY_TREES + MORE_OF_FEW / np.sqrt(model.forest.n_trees)
    least = min(least, MOST_OF_FEW_TREES)
    reach = np.maximum(DEVIATIONS_OF_NOISE * noise, least * moved)
    return moved, signal, reach if sure else reach + np.inf, np.sqrt(noise**2 + cross)


def _moves(
    model: Explained, points: Bins, others: Bins, table: Values, group: NDArray[np.int64]
) -> Iterator[tuple[slice, Values, Values]]:
    """As many points at a time as memory is meant for: their moves, and those of single trees."""
    shape = len(model.names), int(group.max()) + 1, table.shape[1]
    step = max(1, MOST_MOVES // math.prod(shape))
    for start in range(0, POINTS, step):
        part = slice(start, min(start + step, POINTS))
        moves = np.zeros((part.stop - start, *shape))
        arrays = model.forest.routing_arrays
        yield part, moves, moved_scores(points[part], others[part], arrays, table, group, moves)


def _over_runs(runs: Values, n_outputs: int) -> tuple[Values, Values]:
    """The mean over runs of noise, and how far as many outputs may be off it."""
    return runs.mean(axis=1), runs.std(axis=1, ddof=1) / np.sqrt(n_outputs)


def _in_pairs(model: Explained, points: Bins, others: Bins) -> tuple[Values, ...]:
    """The same from pairs of different trees, with a jackknife over groups for the deviation."""
    n_trees = model.forest.n_trees
    n_groups = max(2, min(GROUPS, n_trees))
    group = np.arange(n_trees) % n_groups
    products = np.zeros((len(model.names), n_groups, n_groups))
    of_single_trees = np.zeros((len(model.names), n_groups))
    for _, moves, own in _moves(model, points, others, model.table, group):
        products += 0.5 / POINTS * np.einsum("ijgc,ijhc->jgh", moves, moves, optimize=True)
        of_single_trees += 0.5 / POINTS * own
    moved = products.sum(axis=(1, 2))
    np.einsum("jgg->jg", products)[...] -= of_single_trees
    squares = products**2
    noise = np.sqrt(2.0 * squares.sum(axis=(1, 2)) - np.einsum("jgg->j", squares))
    signal = products.sum(axis=(1, 2))
    of_group = 2.0 * products.sum(axis=2) - np.einsum("jgg->jg", products)
    without = (signal[:, None] - of_group) * (n_groups / (n_groups - 1)) ** 2
    deviation = np.sqrt((n_groups - 1) * without.var(axis=1))
    reach = np.maximum(DEVIATIONS_OF_COINS * noise, LEAST_OF_PAIRS * moved)
    return moved, signal * n_trees / max(n_trees - 1, 1), reach, deviation
