"""How records spread over bins, by the released counts of leaves: each leaf allows some bins.

The shares under which the counts are most likely, were features independent, by expectation
maximisation: what a leaf counts is handed to the bins it allows, by their shares so far.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.report.explained import even_shares
from dpforest.report.points import draw_points
from dpforest.tables.routing import find_leaves
from dpforest.trees.structure import Forest

STEPS = 50
RUNS = 24
POINTS = 2048


def shares_of_leaves(
    forest: Forest, counts: Values, n_bins: NDArray[np.int64], n_values: NDArray[np.int64]
) -> tuple[Values, ...]:
    """The share of the records in each bin of each feature.

    Parameters
    ----------
    forest : Forest
    counts : ndarray of float64, shape (n_leaves,)
        Released numbers of records.
    n_bins, n_values : ndarray of int64
        All bins of each feature, and those of values: the start, before a leaf has spoken.

    Examples
    --------
    >>> from dpforest.trees.growers import grow_multiway
    >>> from dpforest.trees.structure import FeatureBins
    >>> bins = FeatureBins(np.array([2]), np.array([3]), np.array([True]))
    >>> forest = grow_multiway(bins, 1, 1, np.random.default_rng(0))
    >>> shares_of_leaves(forest, np.array([30.0, 10.0, 0.0]), bins.n_bins, bins.n_values)
    (array([0.75, 0.25, 0.  ]),)
    """
    found = []
    for j, start in enumerate(even_shares(n_bins, n_values)):
        allowed = _allowed(forest, j, len(start))
        sets, of_leaf = np.unique(allowed, axis=0, return_inverse=True)
        told = sets.any(axis=1) & ~sets.all(axis=1)
        weight = np.maximum(np.bincount(of_leaf.ravel(), counts, minlength=len(sets)), 0.0)[told]
        found.append(_most_likely(start, sets[told].astype(np.float64), weight))
    return tuple(found)


def shared_chance(forest: Forest, shares: tuple[Values, ...], n_records: float) -> Values:
    """What chance does to the counts of a class in leaves, shape (RUNS, n_leaves).

    In units of the deviation of one record's class; trees that see the same records share it.
    """
    rng = np.random.default_rng(0)
    points = draw_points(shares, POINTS, rng)
    leaves = find_leaves(forest, points)
    scale = np.sqrt(max(n_records, 0.0) / POINTS)
    signs = scale * (2.0 * rng.integers(0, 2, (RUNS, POINTS, 1)) - 1.0)
    return np.array(
        [
            np.bincount(
                leaves.ravel(), np.broadcast_to(sign, leaves.shape).ravel(), forest.n_leaves
            )
            for sign in signs
        ]
    )


def noise_of_counts(chance: Values, deviations: Values, classes: Values) -> Iterator[Values]:
    """The error of noisy counts that say nothing of the classes, a run at a time."""
    rng = np.random.default_rng(1)
    for run in chance:
        signs = 2.0 * rng.integers(0, 2, (len(deviations), len(classes))) - 1.0
        # What one class has too many, the others have too few.
        against = np.where(np.arange(len(classes)) == 0, 1.0, -1.0 / (len(classes) - 1))
        spread = np.sqrt(classes * (1.0 - classes))
        yield run[:, None] * spread * against + deviations[:, None] * signs


def _most_likely(start: Values, sets: Values, weight: Values) -> Values:
    shares = np.where(start > 0.0, start, start.max() / len(start))
    if not weight.sum() > 0.0:
        return start
    for _ in range(STEPS):
        inside = sets * shares
        shares = weight @ (inside / np.maximum(inside.sum(axis=1, keepdims=True), 1e-300))
        shares = shares / shares.sum()
    return np.asarray(shares)


def _allowed(forest: Forest, feature: int, n_bins: int) -> NDArray[np.bool_]:
    """The bins of a feature with which a record may reach each leaf, shape (n_leaves, n_bins)."""
    bins = np.arange(n_bins)
    allowed = np.ones((forest.n_nodes, n_bins), np.bool_)
    for nodes in forest.levels[1:]:
        parents = forest.parent[nodes]
        child = nodes - forest.first_child[parents]
        if forest.multiway:
            here = bins == child[:, None]
        else:
            right = forest.goes_right[parents][:, bins // 64] >> (bins % 64).astype(np.uint64)
            here = (right & np.uint64(1)).astype(np.bool_) == (child[:, None] == 1)
        asks = (forest.feature[parents] == feature)[:, None]
        allowed[nodes] = allowed[parents] & (here | ~asks)
    return allowed[forest.leaves]
