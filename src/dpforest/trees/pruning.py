"""Inner nodes from released leaves: what a tree knows above its leaves, for free."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.structure import Forest

Values = NDArray[np.float64]


def node_totals(forest: Forest, leaf_values: Values) -> Values:
    """Sum released leaf values up to every node.

    Parameters
    ----------
    forest : Forest
    leaf_values : ndarray of float64, shape (n_leaves, k)

    Returns
    -------
    ndarray of float64, shape (n_nodes, k)
    """
    totals = np.zeros((forest.n_nodes, leaf_values.shape[1]))
    totals[forest.leaves] = leaf_values
    for nodes in forest.levels[:0:-1]:
        np.add.at(totals, forest.parent[nodes], totals[nodes])
    return totals


def signal_to_noise(forest: Forest, totals: Values, epsilon_per_tree: float) -> Values:
    """How far the records of a node stand out of the noise in their count.

    Fletcher and Islam's ratio: epsilon times the count, over the number of classes times the
    deviation of the noise of the leaves below, sqrt(2 * leaves). Infinite without noise.
    """
    n_leaves = node_totals(forest, np.ones((forest.n_leaves, 1)))[:, 0]
    if math.isinf(epsilon_per_tree):
        return np.where(totals.sum(axis=1) > 0, np.inf, 0.0)
    noise: Values = totals.shape[1] * np.sqrt(2.0 * n_leaves)
    ratio: Values = epsilon_per_tree * totals.sum(axis=1) / noise
    return ratio


def prune(forest: Forest, leaf_counts: Values, epsilon_per_tree: float) -> Values:
    """Give each leaf the counts of the deepest node on its way that stands out of the noise.

    A node does when its signal-to-noise ratio is at least 1; the root always counts as one.
    The structure stays; only what the leaves say changes.
    """
    totals = node_totals(forest, leaf_counts)
    stands_out = signal_to_noise(forest, totals, epsilon_per_tree) >= 1.0
    speaker = np.arange(forest.n_nodes)
    for nodes in forest.levels[1:]:
        speaker[nodes] = np.where(stands_out[nodes], nodes, speaker[forest.parent[nodes]])
    return totals[speaker[forest.leaves]]


def most_confident_nodes(forest: Forest, leaf_counts: Values, epsilon_per_tree: float) -> Values:
    """Give each leaf the counts of the most confident node on its way from the root.

    Only nodes that stand out of the noise are asked; the share of the largest class is the
    confidence; a node further down wins a tie.
    """
    totals = node_totals(forest, leaf_counts)
    stands_out = signal_to_noise(forest, totals, epsilon_per_tree) >= 1.0
    confidence = np.where(stands_out, largest_share(totals), -1.0)
    speaker = np.arange(forest.n_nodes)
    for nodes in forest.levels[1:]:
        above = speaker[forest.parent[nodes]]
        keeps = confidence[nodes] >= np.maximum(confidence[above], 0.0)
        speaker[nodes] = np.where(keeps, nodes, above)
    return totals[speaker[forest.leaves]]


def largest_share(counts: Values) -> Values:
    """The share of the largest class among counts clipped at zero; 0 where nothing is left."""
    clipped = np.clip(counts, 0.0, None)
    total = clipped.sum(axis=1)
    shares: Values = np.zeros_like(total)
    np.divide(clipped.max(axis=1), total, out=shares, where=total > 0)
    return shares
