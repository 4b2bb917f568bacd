"""The same boosting on nothing but noise: what a released forest would show of useless features.

Two kinds of noise are in a released forest: what was added to the sums of leaves, of known
deviation, and what chance does because records are but a sample. Both are followed through the
rounds, on points drawn from the released shares of bins: every leaf adds its own noise and, as
boosting does, takes back part of what the noise before it has done, since that is in the gradients
(the score's error times the Hessian). Noise is drawn as signs, which have its variance.
Everything here follows from released numbers, so it is free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.report.noise_kernels import noise_step
from dpforest.report.points import draw_points
from dpforest.tables.routing_kernels import find_oblivious_leaves
from dpforest.trees.oblivious import ObliviousTrees

RUNS = 24
POINTS = 2048
LAST_PART = 10  # the last tenth of the trees


@dataclass(frozen=True)
class LeafNoise:
    """What noise does to the leaves of a boosted forest; all of it released.

    Parameters
    ----------
    gains : ndarray of float32, shape (n_trees, n_leaves)
        What a unit of the gradient adds to the value of a leaf.
    hessians : ndarray of float32, shape (n_trees, n_leaves)
        The Hessian of each leaf, at least 0.
    deviations : ndarray of float64, shape (n_trees,)
        Of the noise in the gradients of a tree's leaves.
    """

    gains: NDArray[np.float32]
    hessians: NDArray[np.float32]
    deviations: Values

    @property
    def leaf_deviations(self) -> Values:
        """The deviation of the noise in the value of each leaf."""
        return np.asarray(self.gains * self.deviations[:, None], np.float64)

    @classmethod
    def stack(cls, rounds: Sequence[LeafNoise]) -> LeafNoise:
        """All rounds as one; the leaves that shallower trees lack are 0."""
        widest = max(part.gains.shape[1] for part in rounds)
        gains, hessians = (
            np.concatenate([np.pad(a, ((0, 0), (0, widest - a.shape[1]))) for a in arrays])
            for arrays in ([p.gains for p in rounds], [p.hessians for p in rounds])
        )
        return cls(gains, hessians, np.concatenate([part.deviations for part in rounds]))


def noise_values(
    trees: ObliviousTrees,
    noise: LeafNoise,
    shares: tuple[Values, ...],
    gradient_variance: float,
) -> NDArray[np.float32]:
    """Leaf values of forests that learnt from noise alone, shape (n_trees, RUNS, n_leaves).

    Parameters
    ----------
    trees : ObliviousTrees
    noise : LeafNoise
    shares : tuple of arrays
        Of the records in each bin of each feature.
    gradient_variance : float
        Of a record by chance, in one output, relative to its Hessian.
    """
    rng = np.random.default_rng(0)
    points = np.asfortranarray(draw_points(shares, POINTS, rng))
    leaf = np.empty((trees.n_trees, POINTS), np.uint8)
    find_oblivious_leaves(points.T, trees.routing_arrays, leaf)
    n_leaves = noise.gains.shape[1]
    errors, chance = np.zeros((POINTS, RUNS)), _signs(rng, POINTS)
    steps = np.empty((n_leaves, RUNS))
    found = np.empty((trees.n_trees, RUNS, n_leaves), np.float32)
    # Chance is what the last trees still saw: a model that grew sure has explained the rest.
    whole = noise.hessians.sum(axis=1, dtype=np.float64)
    last = whole[-max(1, len(whole) // LAST_PART) :].mean()
    variance = gradient_variance * np.minimum(last / np.maximum(whole, 1e-300), 1.0)
    for t in range(trees.n_trees):
        added = noise.deviations[t] * _signs(rng, n_leaves)
        of_leaves = noise.gains[t], noise.hessians[t], variance[t]
        noise_step(leaf[t], chance, *of_leaves, added, errors, steps)
        found[t] = steps.T
    return found


def _signs(rng: np.random.Generator, n: int) -> Values:
    return np.asarray(2.0 * rng.integers(0, 2, (n, RUNS)) - 1.0)
