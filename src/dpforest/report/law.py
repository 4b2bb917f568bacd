"""How records spread over the bins of all features together, by the released sums of leaves.

Features go together, and shares of single bins do not say so. A leaf does: it holds the
records with so many answers at once. Records are taken to come from a few latent classes, in each
of which features are independent (Lazarsfeld and Henry 1968); what a leaf should hold follows, and
expectation maximisation looks for the classes under which leaves hold what was released.
Categories, missing values and features that are nearly copies of each other need no further rule.

Sums have noise of known size: a step goes from what is expected towards what was released as
far as the noise allows, so that no sum is cut off at 0, and a prior leans every class towards the
shares of all records. Where noise drowns the leaves, features stay independent. Sums are of
Hessians, which shrink where a model grows sure of a record: only trees from before that count.
All of it is post-processing of released numbers, and free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dpforest.arrays import Values
from dpforest.report.law_kernels import latent_step
from dpforest.report.points import draw_points
from dpforest.trees.oblivious import ObliviousTrees

CLASSES = 16
STEPS = 150
PRIOR = 2.0  # records a class has of every feature before a leaf has spoken
SEEN_AGAIN = 10.0  # trees that see the same records tell as much as so many samples of them
MOST_LEAVES = 1 << 15
STILL_UNSURE = 0.4  # of the first Hessians
NEIGHBOURS = 81  # trees over which noisy sums of all leaves are averaged


@dataclass(frozen=True)
class Law:
    """A mixture of classes, in each of which features are independent.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_classes,)
        The share of the records in each class.
    chances : tuple of arrays
        Of the bins of each feature in each class, shape (n_classes, n_bins of the feature).
    """

    weights: Values
    chances: tuple[Values, ...]

    @classmethod
    def independent(cls, shares: tuple[Values, ...]) -> Law:
        """One class: features as if they had nothing to do with each other."""
        return cls(np.ones(1), tuple(of_bins[None] for of_bins in shares))

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[np.uint8]:
        """Draw the bins of records, shape (n, n_features), evenly spread within each class.

        Examples
        --------
        >>> twins = Law(np.array([0.5, 0.5]), (np.eye(2), np.eye(2)))
        >>> sorted(map(tuple, twins.draw(4, np.random.default_rng(0)).tolist()))
        [(0, 0), (0, 0), (1, 1), (1, 1)]
        """
        stops = np.rint(n * np.cumsum(self.weights) / self.weights.sum()).astype(int)
        members = np.diff(stops, prepend=0).tolist()
        parts = [
            draw_points(tuple(of_class[z] for of_class in self.chances), size, rng)
            for z, size in enumerate(members)
        ]
        return np.asarray(rng.permutation(np.concatenate(parts)))


def law_of_leaves(
    trees: ObliviousTrees,
    sums: NDArray[np.floating],
    deviations: Values,
    shares: tuple[Values, ...],
) -> Law:
    """The law under which leaves hold what was released of them.

    Parameters
    ----------
    trees : ObliviousTrees
    sums : ndarray of float, shape (n_trees, n_leaves)
        Released Hessians.
    deviations : ndarray of float64, shape (n_trees,)
        Of the noise in a sum.
    shares : tuple of arrays
        The share of the records in each bin of each feature, where classes begin.
    """
    sums = sums.astype(np.float64)
    whole = smooth(sums.sum(axis=1), deviations)
    stop = _first_trees(trees, whole)
    if not stop or len(shares) < 2:
        return Law.independent(shares)
    longest = max(map(len, shares))
    prior = np.array(
        [np.pad(of_bins / of_bins.sum(), (0, longest - len(of_bins))) for of_bins in shares]
    )
    arrays = trees.feature[:stop], trees.goes_right[:stop], trees.depth[:stop]
    released = sums[:stop], whole[:stop], deviations[:stop] ** 2, max(1.0, stop / SEEN_AGAIN)
    apart = ndtri(np.random.default_rng(0).random((len(shares), CLASSES, longest)))
    chances = np.ascontiguousarray((prior[:, None] * np.exp(apart)).swapaxes(1, 2))
    chances /= chances.sum(axis=1, keepdims=True)
    weights = np.full(CLASSES, 1.0 / CLASSES)
    for _ in range(STEPS):
        members, counts = (
            np.full(CLASSES, PRIOR),
            np.repeat(PRIOR * prior[:, :, None], CLASSES, axis=2),
        )
        latent_step(arrays, *released, weights, chances, members, counts)
        weights, chances = members / members.sum(), counts / counts.sum(axis=1, keepdims=True)
    return Law(
        weights, tuple(of_bins[: len(s)].T for of_bins, s in zip(chances, shares, strict=True))
    )


def smooth(whole: Values, deviations: Values) -> Values:
    """The sum over all leaves, which is the same for neighbouring trees but for the noise."""
    if not deviations.any():
        return whole
    side = NEIGHBOURS // 2
    padded = np.pad(whole, side, mode="edge")
    return np.asarray(np.convolve(padded, np.full(NEIGHBOURS, 1.0 / NEIGHBOURS), "valid"))


def _first_trees(trees: ObliviousTrees, whole: Values) -> int:
    """How many trees there are before the model grew sure, or before there are leaves enough."""
    there = (whole > STILL_UNSURE * whole[:1]) & (whole > 1.0)
    there &= np.cumsum(1 << trees.depth) <= MOST_LEAVES
    return int(np.logical_and.accumulate(there).sum())
