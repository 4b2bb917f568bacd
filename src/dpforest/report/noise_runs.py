"""The same boosting on nothing but noise: what a released forest would show of useless features.

Two kinds of noise are in a released forest: what was added to the sums of leaves, of known
deviation, and what chance does because records are but a sample. Both are followed through the
rounds, on points drawn as records are spread (`dpforest.report.law`): every leaf adds its own
noise and, as boosting does, takes back part of what the noise before it has done, since that is in
the gradients (the score's error times the Hessian). Noise is drawn as signs of its variance.
Everything here follows from released numbers, so it is free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from dpforest.arrays import Values, stacked
from dpforest.report.law import NEIGHBOURS, Law, smooth
from dpforest.report.noise_kernels import noise_step
from dpforest.tables.routing import add_tree_values
from dpforest.tables.routing_kernels import find_oblivious_leaves
from dpforest.trees.oblivious import ObliviousTrees

RUNS = 24
POINTS = 2048
NORMAL = np.array([-1.35, -0.67, -0.32, 0.0, 0.32, 0.67, 1.35]) * 1.2  # quantiles of deviation 1
LAST_PART = 10  # the last tenth of the trees
NEARER = 0.5  # of the normal numbers: targets are often less smooth, and noise is heard of less
LEAST_HEARD = 0.02  # of targets at both ends of a range nearly every residual is clipped


@dataclass(frozen=True)
class LeafNoise:
    """What noise does to the leaves of a boosted forest; all of it released.

    Parameters
    ----------
    gains : ndarray of float32, shape (n_trees, n_leaves)
        What a unit of the gradient adds to the value of a leaf.
    hessians : ndarray of float32, shape (n_trees, n_leaves)
        The released Hessian of each leaf, as it is: noise may have made it negative.
    deviations : ndarray of float64, shape (n_trees,)
        Of the noise in the gradients of a tree's leaves.
    hessian_deviations : ndarray of float64, shape (n_trees,)
        Of the noise in their Hessians.
    dampings : ndarray of float64, shape (n_trees,)
        What was added to a Hessian before a gradient was divided by it.
    factors : ndarray of float64, shape (n_trees,)
        What scores were multiplied by since.
    """

    gains: NDArray[np.float32]
    hessians: NDArray[np.float32]
    deviations: Values
    hessian_deviations: Values
    dampings: Values
    factors: Values

    @property
    def leaf_deviations(self) -> Values:
        """The deviation of the noise in the value of each leaf."""
        return np.asarray(self.gains * self.deviations[:, None], np.float64)

    def gradient_deviations(self, values: NDArray[np.float32], spread: Values) -> Values:
        """The deviation of all noise in the gradient of each leaf, in one output.

        A Hessian that noise made too small makes too much of a gradient, as if there was more of
        it: the larger the gradient, the more. Of a gradient that is noise itself, gains tell as
        they are, so only the part of a tree's gradients counts that is more than noise.

        Parameters
        ----------
        values : ndarray of float32, shape (n_trees, n_outputs, n_leaves)
            What leaves add to the scores.
        spread : ndarray of float64, shape (n_trees, n_leaves)
            The share of the records in each leaf.
        """
        gains = self.gains.astype(np.float64)
        squares = (values**2).mean(axis=1, dtype=np.float64)
        squares = np.divide(squares, gains**2, out=np.zeros_like(gains), where=gains > 0.0)
        variances = self.deviations[:, None] ** 2
        known = squares.mean(axis=1, keepdims=True)
        meant = np.maximum(1.0 - variances / np.maximum(known, 1e-300), 0.0) * squares
        return np.asarray(np.sqrt(variances + meant * self._shaken(spread) ** 2))

    def _shaken(self, spread: Values) -> Values:
        """The deviation of a gain for the noise in its Hessian, relative to its mean."""
        expected = spread * self.hessians.sum(axis=1, keepdims=True, dtype=np.float64)
        noisy = expected + NORMAL[:, None, None] * self.hessian_deviations[:, None]
        gains = 1.0 / (np.maximum(noisy, 0.0) + np.maximum(self.dampings, 1e-30)[:, None])
        return np.asarray(gains.std(axis=0) / gains.mean(axis=0))

    def likely_hessians(self, spread: Values, largest: float) -> Values:
        """What leaves hold of the Hessian of all records, as far as noise lets one see.

        Noise that is cut off at 0 would be a Hessian where there are no records, so released
        Hessians lean on what their share of the records says, and the sum of all leaves on what it
        is at first: the more so, the more noise there is.

        Parameters
        ----------
        spread : ndarray of float64, shape (n_trees, n_leaves)
            The share of the records in each leaf.
        largest : float
            The Hessian of all records at most.
        """
        variances = self.hessian_deviations**2
        n_leaves = (spread > 0.0).sum(axis=1)
        whole = smooth(self.hessians.sum(axis=1, dtype=np.float64), self.hessian_deviations)
        whole = np.maximum(_leaning(whole, largest, n_leaves * variances / NEIGHBOURS), 0.0)
        expected = spread * whole[:, None]
        return np.maximum(_leaning(self.hessians, expected, variances[:, None]), 0.0)

    def multiplied(self, times: np.float32) -> LeafNoise:
        """The same where all scores, and so what leaves add, are multiplied."""
        return replace(self, gains=times * self.gains, factors=float(times) * self.factors)

    def fits(self, n_trees: int, n_leaves: int) -> bool:
        """Whether there is one of everything for each leaf or tree."""
        of_leaves = self.gains, self.hessians
        of_trees = self.deviations, self.hessian_deviations, self.dampings, self.factors
        return all(a.shape == (n_trees, n_leaves) for a in of_leaves) and all(
            a.shape == (n_trees,) for a in of_trees
        )

    @classmethod
    def stack(cls, rounds: Sequence[LeafNoise]) -> LeafNoise:
        """All rounds as one; the leaves that shallower trees lack are 0."""
        if not rounds:
            nothing = np.zeros((0, 1), np.float32)
            return cls(nothing, nothing, *np.zeros((4, 0)))
        of_leaves = stacked([p.gains for p in rounds]), stacked([p.hessians for p in rounds])
        of_trees = zip(
            *((p.deviations, p.hessian_deviations, p.dampings, p.factors) for p in rounds),
            strict=True,
        )
        return cls(*of_leaves, *map(np.concatenate, of_trees))


@dataclass(frozen=True)
class EarlierTrees:
    """Trees that were there before: what their leaves add, and what they add in runs of noise."""

    trees: ObliviousTrees
    values: NDArray[np.float32]
    noise: NDArray[np.float32]


@dataclass(frozen=True)
class Chance:
    """What chance does to gradients, and how many of them tell of errors.

    Parameters
    ----------
    variance : float
        Of a record's gradient by chance, in one output, relative to its Hessian.
    spread : float, optional
        Of targets around their mean, in units of the residual at which gradients are clipped; None
        where they are not, so that all tell of errors.
    near : float, default=0.0
        The share of the targets that are nearer to their mean than that.
    answered : float, default=1.0
        Where there is no spread: how much of an error the gradients tell, relative to the Hessian,
        while nothing is explained. Of a model that is sure and right it is twice that, up to 1.
    """

    variance: float
    spread: float | None = None
    near: float = 0.0
    answered: float = 1.0

    @property
    def at_first(self) -> tuple[float, float]:
        """The same as `of_residuals` while nothing is explained."""
        return self.of_residuals(np.zeros((1, 1), np.float32), np.zeros((1, 1)))

    def of_residuals(self, scores: NDArray[np.float32], errors: Values) -> tuple[float, float]:
        """The variance of a gradient, and the share of gradients that tell of errors.

        A residual's mean square is that of targets, less what the scores explain, and more by their
        errors; by Chebyshev's inequality no more residuals than that are clipped. Those of a model
        that explains nothing are the targets themselves, and half as many come near as of normal
        numbers whose mean square falls as much.

        Parameters
        ----------
        scores : ndarray of float32, shape (n_outputs, n_points)
            Of the released model, errors included.
        errors : ndarray of float64, shape (n_points, RUNS)

        Examples
        --------
        >>> explained = np.array([[-1.2, 1.2]], np.float32)
        >>> Chance(1.0, 1.3).of_residuals(explained, np.zeros((2, 1)))
        (0.2..., 0.7...)
        >>> Chance(1.0, 1.3).of_residuals(explained, explained.T)
        (1.0, 0.02)
        """
        if self.spread is None:
            meant = max(float(scores.var(axis=1).mean() - errors.var(axis=0).mean()), 0.0)
            return self.variance, min(2.0 * float(expit(meant**0.5)) * self.answered, 1.0)
        square = self.spread**2 - float(scores.var()) + 2.0 * float((errors**2).mean())
        square = max(square, 0.0)
        far, farther = (_share_beyond_one(each) for each in (square, self.spread**2))
        near = self.near + (1.0 - self.near) * NEARER * max(1.0 - far / farther, 0.0)
        return min(square, self.variance), max(1.0 - square, near, LEAST_HEARD)


def noise_values(
    trees: ObliviousTrees,
    values: NDArray[np.float32],
    noise: LeafNoise,
    law: Law,
    chance: Chance,
    largest: float,
    start: EarlierTrees | None = None,
) -> NDArray[np.float32]:
    """Leaf values of forests that learnt from noise alone, shape (n_trees, RUNS, n_leaves).

    Parameters
    ----------
    trees : ObliviousTrees
    values : ndarray of float32, shape (n_trees, n_outputs, n_leaves)
        What the leaves add to the scores of the released model.
    noise : LeafNoise
    law : Law
        How records spread over bins.
    chance : Chance
    largest : float
        The Hessian of all records at most, which is that of a model that says nothing.
    start : EarlierTrees, optional
        The trees that were there before.
    """
    found = np.zeros((trees.n_trees, RUNS, noise.gains.shape[1]), np.float32)
    if not trees.n_trees:
        return found
    rng = np.random.default_rng(0)
    points = np.asfortranarray(law.draw(POINTS, rng))
    leaf = np.empty((trees.n_trees, POINTS), np.uint8)
    find_oblivious_leaves(points.T, trees.routing_arrays, leaf)
    n_leaves = noise.gains.shape[1]
    scores = np.zeros((values.shape[1], POINTS), np.float32)
    before = np.zeros((RUNS, POINTS), np.float32)
    if start is not None:
        add_tree_values(start.trees, points, start.values, scores)
        add_tree_values(start.trees, points, start.noise, before)
    errors, luck = np.ascontiguousarray(before.T, np.float64), _signs(rng, POINTS)
    steps = np.empty((n_leaves, RUNS))
    # Chance is what the last trees still saw: a model that grew sure has explained the rest.
    # A unit of a score that was multiplied since moves gradients by less.
    spread = np.array([np.bincount(of_tree, minlength=n_leaves) for of_tree in leaf]) / POINTS
    hessians = noise.likely_hessians(spread, largest) / noise.factors[:, None]
    whole = hessians.sum(axis=1)
    last = whole[-max(1, len(whole) // LAST_PART) :].mean()
    unsure = np.minimum(last / np.maximum(whole, 1e-300), 1.0)
    deviations = noise.gradient_deviations(values[:, :, :n_leaves], spread)
    for t in range(trees.n_trees):
        added = deviations[t][:, None] * _signs(rng, n_leaves)
        variance, heard = chance.of_residuals(scores, errors)
        of_leaves = noise.gains[t], hessians[t], unsure[t] * variance, heard
        noise_step(leaf[t], luck, *of_leaves, added, errors, steps)
        found[t] = steps.T
        scores += values[t][:, leaf[t]]
    return found


def _leaning(released: NDArray[np.floating], expected: Values | float, variance: Values) -> Values:
    """What is expected, and as much of what was released as noise is less than that."""
    squares = np.square(expected)
    heard = squares / np.maximum(squares + variance, 1e-300)
    return np.asarray(expected + heard * (released - expected))


def _share_beyond_one(square: float) -> float:
    """Of normal numbers with this mean square."""
    return float(2.0 * ndtr(-1.0 / max(square, 1e-12) ** 0.5))


def _signs(rng: np.random.Generator, n: int) -> Values:
    return np.asarray(2.0 * rng.integers(0, 2, (n, RUNS)) - 1.0)
