"""How many trees and how deep: rules that read public facts and a noisy number of records."""

from __future__ import annotations

import math

import numpy as np

RECORDS_PER_NOISE = 8.0  # a leaf should hold this many times the scale of its noise
TREES = (3, 63)
RECORDS_PER_TREE = 500.0  # of a greedy tree, times epsilon
GREEDY_TREES = (3, 35)
LEAF_NODES = (4, 1024)  # of a greedy tree


def random_depth(n_features: int, n_records: float, epsilon_per_tree: float) -> int:
    """Deep enough to meet half of the features, no deeper than the noise allows.

    Fletcher and Islam: the smallest depth d with ``s * ((s - 1) / s) ** d < s / 2``, the depth
    at which a path through s features is expected to have met half of them. A leaf should
    still hold `RECORDS_PER_NOISE` times the noise of its count, 1 / epsilon a tree.

    Examples
    --------
    >>> random_depth(14, 50_000, 0.05)
    8
    >>> random_depth(4, 1_000_000, 0.1)
    3
    """
    half_met = (
        math.floor(math.log(0.5) / math.log1p(-1.0 / n_features)) + 1 if n_features > 1 else 1
    )
    if math.isinf(epsilon_per_tree):
        return max(half_met, 1)
    above_noise = n_records * epsilon_per_tree / RECORDS_PER_NOISE
    return max(1, min(half_met, int(math.log2(max(above_noise, 2.0)))))


def random_trees(n_records: float, epsilon: float) -> int:
    """An odd number of trees that grows with the square root of what the data can afford.

    With k trees the noise in a count grows like k, and the number of records like n, so that
    k about sqrt(n * epsilon) keeps trees and leaves growing together.

    Examples
    --------
    >>> random_trees(1_000, 1.0), random_trees(50_000, 1.0), random_trees(50_000, 0.1)
    (3, 27, 9)
    """
    if math.isinf(epsilon):
        return TREES[1]
    affordable = math.sqrt(max(n_records, 1.0) * epsilon / (8.0 * RECORDS_PER_NOISE))
    return int(np.clip(2 * int(affordable / 2.0) + 1, *TREES))


def greedy_trees(n_records: float, epsilon: float) -> int:
    """An odd number of greedy trees, each with `RECORDS_PER_TREE` / epsilon records of its own.

    Examples
    --------
    >>> greedy_trees(1_000, 1.0), greedy_trees(10_000, 1.0), greedy_trees(1_000_000, 1.0)
    (3, 21, 35)
    """
    if math.isinf(epsilon):
        return GREEDY_TREES[1]
    affordable = n_records * epsilon / RECORDS_PER_TREE
    return int(np.clip(2 * int(affordable / 2.0) + 1, *GREEDY_TREES))


def supported_leaves(n_records: float, epsilon: float, min_support: float) -> int:
    """Leaves of a tree when each has ``min_support`` / epsilon records, if spread evenly.

    Parameters
    ----------
    n_records, epsilon : float
        What one tree sees, and may spend.
    min_support : float
        0 for as many as there may be, 1024.

    Examples
    --------
    >>> supported_leaves(320, 1.0, 4.0), supported_leaves(320, 0.1, 4.0)
    (80, 8)
    """
    if not min_support:
        return LEAF_NODES[1]
    return int(np.clip(n_records * min(epsilon, 1.0) / min_support, *LEAF_NODES))


def greedy_depth(max_leaf_nodes: int, fan_out: float) -> int:
    """The levels after which that many leaves are there, if a node has so many children.

    Examples
    --------
    >>> greedy_depth(80, 2.0), greedy_depth(80, 5.0)
    (7, 3)
    """
    return max(1, math.ceil(math.log(max_leaf_nodes) / math.log(max(fan_out, 2.0))))


def snr_trees(
    n_records: float, n_features: int, n_classes: int, mean_bins: float, epsilon: float
) -> int:
    """The number of trees of Fletcher and Islam (2015).

    The most, up to the number of features, for which a node two levels down is expected to hold
    more than ``sqrt(2) * n_classes / (epsilon of a tree)`` records; a feature has ``mean_bins``
    values on average.

    Examples
    --------
    >>> snr_trees(1_000, 9, 2, 5.0, 1.0), snr_trees(100, 9, 2, 5.0, 1.0)
    (9, 1)
    """
    most = n_records * epsilon / (math.sqrt(2.0) * n_classes * mean_bins**2)
    return n_features if most > n_features else max(1, math.ceil(most) - 1)
