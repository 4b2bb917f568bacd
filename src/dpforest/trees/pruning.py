"""Inner nodes from released leaves: what a tree knows above its leaves, for free."""

from __future__ import annotations

import math

import numpy as np

from dpforest.arrays import Values
from dpforest.trees.structure import Forest
from dpforest.trees.votes import normalise

TINY = 1e-12


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


def lean_on_parents(forest: Forest, leaf_values: Values, noise_variance: float) -> Values:
    """Shares of noisy sums in each leaf, leaning on the shares of the nodes above.

    From the roots down, a node of n noisy records below which the leaves' noise in n has the
    variance v says w of itself and 1 - w of its parent, w = n^2 / (n^2 + v): its shares carry
    noise of about v / n^2, and where that is as large as the shares themselves it says half.

    Parameters
    ----------
    forest : Forest
    leaf_values : ndarray of float64, shape (n_leaves, k)
        Noisy sums whose total is a number of records.
    noise_variance : float
        Of each of them; 0 without noise.

    Returns
    -------
    ndarray of float64, shape (n_leaves, k)
        From 0 to 1, with the total 1.
    """
    totals = node_totals(forest, leaf_values)
    below = node_totals(forest, np.ones((forest.n_leaves, 1)))
    size = np.clip(totals.sum(axis=1, keepdims=True), 0.0, None)
    trust = size**2 / np.maximum(size**2 + noise_variance * below, TINY)
    own = normalise(totals)
    said = np.zeros_like(own)
    everywhere = normalise(totals[forest.roots].sum(axis=0, keepdims=True))
    for nodes in forest.levels:
        is_root = forest.parent[nodes, np.newaxis] < 0
        above = np.where(is_root, everywhere, said[forest.parent[nodes]])
        said[nodes] = above + trust[nodes] * (own[nodes] - above)
    return said[forest.leaves]


def largest_share(counts: Values) -> Values:
    """The share of the largest class among counts clipped at zero; 0 where nothing is left."""
    clipped = np.clip(counts, 0.0, None)
    total = clipped.sum(axis=1)
    shares: Values = np.zeros_like(total)
    np.divide(clipped.max(axis=1), total, out=shares, where=total > 0)
    return shares
