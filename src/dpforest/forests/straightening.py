"""Answers that clipping has bent: moved and stretched in the end, by one more release.

Trees learn numbers from residuals that are clipped, or noise would drown them. What clipping keeps
from them are the far residuals: where a target has a long tail on one side, answers lie too near
its middle. A line mends most of that, and has two numbers to learn only. Four sums of residuals
that are clipped much further out, of the records with the lowest scores, the next ones, and so on,
tell both; each is taken as far as it stands out of its noise. All but the sums
(`dpforest.privacy.gradients.gradients_by_score`) is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpforest.arrays import Values
from dpforest.forests.boosting import BoostedTrees
from dpforest.forests.purse import Purse
from dpforest.losses import LARGEST_GRID, IntegerLoss, Squared
from dpforest.privacy.accounts.prices import finest_grid
from dpforest.privacy.accounts.spends import Price
from dpforest.privacy.desk import Desk
from dpforest.privacy.gradients import GradientRelease, gradients_by_score
from dpforest.report.points import draw_points
from dpforest.tables.routing import add_tree_values

CELLS = 4  # fewer sums have less noise in all; a line needs two
POINTS = 4096
SHARES = 0.005, 0.06  # the least and the most of the budget
ENOUGH = 300.0  # records times budget: more would tell no more
SIGNAL_PER_WIDTH = 22.5  # that allows residuals to reach a width further
NEAREST, FURTHEST = 5.0, 16.0  # widths at which residuals are clipped; nearer, noise is all
HESSIAN_PART = 0.3
LARGEST_STRETCH = 1.0


@dataclass(frozen=True)
class StraighteningPlan:
    """What is paid, and how far residuals reach, in widths.

    Parameters
    ----------
    share : Fraction
        Of the budget for the model; 0 leaves answers as they are.
    reach : float
    """

    share: Fraction
    reach: float


NOT_STRAIGHTENED = StraighteningPlan(Fraction(0), 0.0)


def plan_straightening(purse: Purse, n_records: float) -> StraighteningPlan:
    """Pay as little as tells a line; nothing under Laplace noise, without noise, or in too much.

    Examples
    --------
    >>> plan_straightening(Purse(1.0, 1e-6), 3_000.0)
    StraighteningPlan(share=Fraction(3, 50), reach=7.7...)
    >>> plan_straightening(Purse(1.0, 1e-6), 300.0) == NOT_STRAIGHTENED
    True
    """
    if purse.pure or not purse.private or n_records <= 0:
        return NOT_STRAIGHTENED
    signal = n_records * purse.strength
    share = min(max((ENOUGH / signal) ** 2, SHARES[0]), SHARES[1])
    reach = signal * share**0.5 / SIGNAL_PER_WIDTH
    if reach < NEAREST:
        return NOT_STRAIGHTENED
    return StraighteningPlan(Fraction(share).limit_denominator(1000), min(reach, FURTHEST))


def expected_scores(forest: BoostedTrees, shares: tuple[Values, ...]) -> Values:
    """What a forest says of points drawn from the released shares of bins."""
    points = np.asfortranarray(draw_points(shares, POINTS, np.random.default_rng(0)))
    scores = np.zeros((1, POINTS), np.float32)
    add_tree_values(forest.trees, points, forest.values, scores)
    return np.asarray(scores[0], np.float64)


def straightened(
    desk: Desk, loss: Squared, expected: Values, reach: float, price: Price
) -> Squared:
    """The same loss, with a center and a width that turn scores into straight answers.

    Parameters
    ----------
    desk : Desk
        With the scores of the whole forest.
    loss : Squared
    expected : ndarray of float64
        Scores as they may be, for the edges and middles of the cells.
    reach : float
        Where residuals are clipped, in widths.
    price : Gaussian
    """
    edges = np.quantile(expected, np.arange(1, CELLS) / CELLS)
    cell = np.searchsorted(edges, expected)
    if len(np.unique(cell)) < CELLS:
        middles = np.full(CELLS, expected.mean())
    else:
        middles = np.array([expected[cell == number].mean() for number in range(CELLS)])
    grid = finest_grid(price, desk.steps, LARGEST_GRID)
    wide = IntegerLoss(loss, 2, grid, reach, HESSIAN_PART)
    label = "residuals by score, to move and stretch the answers"
    release = gradients_by_score(desk, tuple(edges.tolist()), wide, price, label)
    shift, stretch = line(release, middles)
    return replace(
        loss, center=loss.center + loss.width * shift, width=loss.width * (1.0 + stretch)
    )


def line(release: GradientRelease, middles: Values) -> tuple[float, float]:
    """By how much answers are to be moved at score 0, and stretched; 0 and 0 for what is noise.

    Examples
    --------
    >>> middles, counts = np.array([-1.5, -0.5, 0.5, 1.5]), np.full(4, 100.0)
    >>> residuals = counts * (0.2 + 0.1 * middles)
    >>> release = GradientRelease(-residuals.reshape(1, 4, 1), counts.reshape(1, 4), 0.01)
    >>> [round(number, 3) for number in line(release, middles)]
    [0.2, 0.1]
    """
    residuals, counts = -release.gradients[0, :, 0], np.maximum(release.hessians[0], 0.0)
    n = max(float(counts.sum()), 1.0)
    aside = middles - counts @ middles / n
    variance = release.deviation**2
    shift = _beyond(float(residuals.sum()) / n, len(residuals) * variance / n**2)
    spread = float(counts @ aside**2)
    if spread**2 == 0.0:  # all scores are alike, or hardly any records are left by the noise
        return shift, 0.0
    stretch = _beyond(
        float(residuals @ aside) / spread, variance * float(aside @ aside) / spread**2
    )
    stretch = min(max(stretch, -LARGEST_STRETCH / 2.0), LARGEST_STRETCH)
    return shift - stretch * float(counts @ middles / n), stretch


def _beyond(number: float, variance: float) -> float:
    """What of a number stands out of its noise: James and Stein's rule for one."""
    square = number**2  # of the smallest numbers it is 0
    return number * max(0.0, 1.0 - variance / square) if square else 0.0
