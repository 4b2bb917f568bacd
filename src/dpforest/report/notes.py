"""What a fit leaves for its explanations: how records spread over bins, and how leaves were noisy.

Every level of every tree divides the released Hessians of its records into two sums. For a feature,
these are many noisy sums over known sets of its bins, so least squares gives what each bin
holds: post-processing, and free. A Hessian is small where the model is sure; how small it was on
average in each bin, by the model so far, is reckoned with, so that shares are of records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.losses import Loss
from dpforest.privacy.gradients import GradientRelease
from dpforest.report.noise_runs import LeafNoise
from dpforest.report.points import draw_points
from dpforest.tables.routing import add_tree_values
from dpforest.trees.oblivious import ObliviousTrees

if TYPE_CHECKING:
    from dpforest.forests.boosting import BoostedTrees

POINTS = 1024
EXACT = 1e-3  # the least deviation of a contrast that is reckoned with
LOUD_DEVIATIONS = 3.0  # a share stands out of its noise from here on
NEARLY_ALL = 0.9
PRIOR_MISSING = 0.3  # how many records may be missing, before anything is known
SEEN = 0.02
DOUBT = 0.3  # of the spread of Hessians that features may not explain
FIRM = 0.1  # how far a released share may be moved, relative to it


class Round(NamedTuple):
    """A round of trees: what its leaves add, and how its questions divide the Hessians.

    Parameters
    ----------
    trees : ObliviousTrees
    values : ndarray of float32, shape (n_trees, n_outputs, n_leaves)
    whole : float
        The sum of all records' Hessians, at least 1.
    contrasts : ndarray of float64, shape (n_trees, n_levels)
        What goes right less what goes left, relative to the whole.
    noise : float
        The deviation of the noise in a contrast.
    """

    trees: ObliviousTrees
    values: NDArray[np.float32]
    whole: float
    contrasts: Values
    noise: float


class Questions(NamedTuple):
    """The questions of all levels of all trees, and what is known of each.

    Parameters
    ----------
    feature, number : ndarray of int, shape (n,)
        What is asked, and in which round.
    goes_right : ndarray of bool, shape (n, 256)
    contrasts : ndarray of float64, shape (n,)
    """

    feature: NDArray[np.integer]
    number: NDArray[np.integer]
    goes_right: NDArray[np.bool_]
    contrasts: Values

    @classmethod
    def of_rounds(cls, rounds: Sequence[Round]) -> Questions:
        """Those of some rounds, at least one."""
        trees = [each.trees for each in rounds]
        levels = [np.arange(t.feature.shape[1]) < t.depth[:, None] for t in trees]
        return cls(
            np.concatenate([t.feature[at] for t, at in zip(trees, levels, strict=True)]),
            np.repeat(np.arange(len(rounds)), [int(at.sum()) for at in levels]),
            np.concatenate([t.goes_right[at] for t, at in zip(trees, levels, strict=True)]),
            np.concatenate([r.contrasts[at] for r, at in zip(rounds, levels, strict=True)]),
        )

    def of_feature(self, feature: int) -> Questions:
        """Those about one feature."""
        asks = self.feature == feature
        return Questions(*(part[asks] for part in self))


@dataclass
class Notes:
    """Takes note of what explanations need of the released sums, round after round.

    ``start`` is the forest that was there before, if any.
    """

    start: BoostedTrees | None = None
    rounds: list[Round] = field(default_factory=list)
    noise: list[LeafNoise] = field(default_factory=list)

    def learn(
        self,
        trees: ObliviousTrees,
        steps: NDArray[np.float32],
        values: NDArray[np.float32],
        release: GradientRelease,
        hessian_deviation: float,
        damping: float,
    ) -> None:
        """Take note of a round.

        Parameters
        ----------
        trees : ObliviousTrees
        steps, values : ndarray of float32, shape (n_trees, n_outputs, n_leaves)
            What the leaves would add to the scores, and what they do, held to constraints. Noise
            enters by the steps: to hold them averages it, so gains are bounds of what is left.
        release : GradientRelease
        hessian_deviation : float
            Of the noise in a released Hessian.
        damping : float
            What was added to Hessians before gradients were divided by them.
        """
        gradients, hessians, deviation = release
        n_trees, n_leaves = hessians.shape
        size = np.linalg.norm(gradients, axis=2)
        lengths = np.linalg.norm(steps, axis=1)
        gains = np.divide(lengths, size, out=np.zeros_like(size), where=size > 0.0)
        arrays = gains.astype(np.float32), hessians.astype(np.float32)
        of_trees = (np.full(n_trees, x) for x in (deviation, hessian_deviation, damping, 1.0))
        self.noise.append(LeafNoise(*arrays, *of_trees))
        level = np.arange(trees.feature.shape[1])[:, None]
        signs = np.where(np.arange(n_leaves) >> level & 1, 1.0, -1.0)
        whole = max(float(hessians.sum(axis=1).mean()), 1.0)
        noise = hessian_deviation * float(np.sqrt(n_leaves)) / whole
        self.rounds.append(Round(trees, values, whole, hessians @ signs.T / whole, noise))

    def shares(
        self,
        loss: Loss,
        n_bins: NDArray[np.int64],
        n_values: NDArray[np.int64],
        released: Sequence[Values | None],
    ) -> tuple[Values, ...]:
        """The share of the records in each bin, missing and unseen values included.

        Parameters
        ----------
        loss : Loss
        n_bins, n_values : ndarray of int64
            All bins of each feature, and those of values.
        released : sequence of arrays or None
            Shares of the bins of values that were paid for.
        """
        priors = [
            _prior(int(n), int(v), known)
            for n, v, known in zip(n_bins, n_values, released, strict=True)
        ]
        # Some points go to bins of missing values, to see what the model does there.
        seen = tuple(np.where((s > 0.0) & (mean == 0.0), SEEN, mean) for mean, s in priors)
        if not self.rounds:
            return tuple(
                _posterior(*prior, np.zeros((0, len(prior[0]))), *np.zeros((2, 0)))
                for prior in priors
            )
        curvatures, doubts = self._curvatures(loss, seen)
        noise = np.array([each.noise for each in self.rounds])
        weights = 1.0 / (noise**2 + doubts**2 + EXACT**2)
        questions = Questions.of_rounds(self.rounds)
        found = []
        for j, (prior, curvature) in enumerate(zip(priors, curvatures, strict=True)):
            asked = questions.of_feature(j)
            signs = np.where(asked.goes_right[:, : len(curvature)], 1.0, -1.0)
            rows = signs * curvature.T[asked.number]
            found.append(_posterior(*prior, rows, asked.contrasts, weights[asked.number]))
        return tuple(found)

    def _curvatures(self, loss: Loss, weights: tuple[Values, ...]) -> tuple[list[Values], Values]:
        """The mean Hessian in each bin of each feature, round by round; 1 on average.

        And how far contrasts may be off for it: the less the model is the same for all, the more.
        """
        points = np.asfortranarray(draw_points(weights, POINTS, np.random.default_rng(0)))
        # All bins of all features are numbered, so that one look counts them all.
        first = np.cumsum([0, *map(len, weights)])
        place = (points + first[:-1]).ravel()
        counts = np.bincount(place, minlength=first[-1])
        n_outputs = loss.n_outputs
        scores = np.zeros((n_outputs, POINTS), np.float32)
        if self.start is not None:
            add_tree_values(self.start.trees, points, self.start.values, scores)
        target, slopes = np.zeros(POINTS, np.int32), np.zeros((n_outputs, POINTS))
        hessians = np.zeros(POINTS)
        found, doubts, whole = [], [], []
        # Where Hessians never change, one round tells of all.
        for each in self.rounds[: 1 if loss.constant_hessian else None]:
            loss.derivatives(scores, target, slopes, hessians)
            whole.append(max(float(hessians.mean()), 1e-12))
            relative = hessians / whole[-1]
            doubts.append(DOUBT * float(relative.std()))
            sums = np.bincount(place, relative.repeat(len(weights)), first[-1])
            # One point more, of the mean, for bins that were hardly met.
            found.append((sums + 1.0) / (counts + 1.0))
            if not loss.constant_hessian:
                add_tree_values(each.trees, points, each.values, scores)
        times = len(self.rounds) if loss.constant_hessian else 1
        found, doubts, whole = times * found, times * doubts, times * whole
        # Where records' Hessians sink faster than those of points, points are not like records.
        unlike = np.log([each.whole for each in self.rounds]) - np.log(whole)
        of_features = np.split(np.stack(found, axis=1), first[1:-1])
        return of_features, np.asarray(np.hypot(doubts, unlike - unlike[:1]))


def _posterior(mean: Values, spread: Values, rows: Values, seen: Values, weights: Values) -> Values:
    """Least squares that lean on a prior; what stays in the noise is taken for nothing."""
    free = spread > 0.0
    # How many records have a value at all is open, whatever is known of those that do.
    scale = PRIOR_MISSING**2 * np.outer(mean[free], mean[free])
    precision = np.linalg.inv(np.diag(spread[free] ** 2) + scale)
    weighted = weights * rows[:, free].T
    covariance = np.linalg.inv(precision + weighted @ rows[:, free])
    found, deviations = mean.copy(), np.zeros(len(mean))
    found[free] += covariance @ (weighted @ (seen - rows @ mean))
    deviations[free] = np.sqrt(np.diag(covariance))
    kept = standing_out(np.maximum(found, 0.0), deviations)
    # Where noise leaves nothing at all, what was known before is all that is known.
    return np.asarray(kept / kept.sum() if kept.sum() > 0.0 else mean)


def standing_out(shares: Values, deviations: Values | float) -> Values:
    """Leave out what does not stand out of the noise, where all else may be in one place.

    Examples
    --------
    >>> standing_out(np.array([0.89, 0.02, 0.09]), 0.04).round(2).tolist()
    [1.0, 0.0, 0.0]
    >>> standing_out(np.array([0.8, 0.01, 0.19]), 0.04).round(2).tolist()
    [0.81, 0.0, 0.19]
    >>> standing_out(np.array([0.4, 0.3, 0.3]), 0.2).tolist()
    [0.4, 0.3, 0.3]
    """
    deviations = np.broadcast_to(deviations, shares.shape)
    loud = shares >= LOUD_DEVIATIONS * deviations
    # In one place they may be all there is; a feature with two places may as well have more.
    alone = loud.sum() == 1
    kept = np.where(loud if alone else shares >= deviations, shares, 0.0)
    doubt = deviations[loud].sum() if alone else 0.0
    return kept / kept.sum() if shares[loud].sum() + doubt >= NEARLY_ALL else shares


def _prior(n_bins: int, n_values: int, released: Values | None) -> tuple[Values, Values]:
    """What is known of the shares of all bins before a tree is asked, and how far it may be off."""
    mean, spread = np.zeros(n_bins), np.full(n_bins, PRIOR_MISSING)
    if released is None:
        mean[:n_values] = spread[:n_values] = 1.0 / n_values
    else:
        mean[:n_values] = released / released.sum()
        spread[:n_values] = FIRM * mean[:n_values]
    return mean, spread
