"""Random tree structures: they depend on public facts and a public random stream only."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.structure import WORDS_PER_NODE, FeatureBins, Forest

DEEPEST = 64  # levels beyond which the arithmetic of leaves makes no difference
MAX_LEAVES = 1 << 22  # a forest beyond this would not fit the memory of an ordinary machine

Words = NDArray[np.uint64]


def _as_words(bits: NDArray[np.bool_]) -> Words:
    """Rows of 256 bits, the lowest first, as words."""
    return np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64)


BINS = 64 * WORDS_PER_NODE
LOWEST_BITS = _as_words(np.tri(BINS + 1, BINS, -1, dtype=np.bool_))  # row c: the lowest c bits
ONE_BIT = _as_words(np.eye(BINS, dtype=np.bool_))


def grow_binary(
    bins: FeatureBins, n_trees: int, max_depth: int, rng: np.random.Generator
) -> Forest:
    """Complete binary trees: each inner node draws a feature, then a random split of its bins.

    A numeric feature is cut between two of its bins, uniformly; a categorical one is split into
    two random non-empty sets of categories. Missing and unseen go either way by a coin.

    Parameters
    ----------
    bins : FeatureBins
        The features.
    n_trees, max_depth : int
        The shape of the forest.
    rng : numpy.random.Generator
        The public stream of the structure.

    Returns
    -------
    Forest
    """
    refuse_too_many_leaves(n_trees * 2.0**max_depth)
    nodes_per_tree = 2 ** (max_depth + 1) - 1
    n_nodes = n_trees * nodes_per_tree
    in_tree = np.tile(np.arange(nodes_per_tree), n_trees)
    inner = in_tree < 2**max_depth - 1
    roots = np.arange(n_trees) * nodes_per_tree
    first_child = np.repeat(roots, nodes_per_tree) + 2 * in_tree + 1
    first_child[~inner] = np.flatnonzero(~inner)
    feature = np.zeros(n_nodes, np.int32)
    feature[inner] = rng.integers(0, len(bins), inner.sum())
    goes_right = np.zeros((n_nodes, WORDS_PER_NODE), np.uint64)
    goes_right[inner] = _random_splits(bins, feature[inner], rng)
    return Forest(
        roots=roots.astype(np.int32),
        feature=feature,
        first_child=first_child.astype(np.int32),
        n_children=np.where(inner, 2, 0).astype(np.int32),
        goes_right=goes_right,
        leaf_id=_number_leaves(~inner),
        multiway=False,
        max_depth=max_depth,
    )


def grow_multiway(
    bins: FeatureBins, n_trees: int, max_depth: int, rng: np.random.Generator
) -> Forest:
    """Trees in the manner of ID3: a node takes a feature not yet used on its way from the root.

    Each bin of the feature (missing and unseen among them) has a child of its own.

    Parameters
    ----------
    bins : FeatureBins
        The features.
    n_trees, max_depth : int
        The shape of the forest; a tree is never deeper than it has features.
    rng : numpy.random.Generator
        The public stream of the structure.

    Returns
    -------
    Forest
    """
    depth = min(max_depth, len(bins))
    trees = [_grow_one_multiway(bins, depth, rng) for _ in range(n_trees)]
    sizes = np.array([len(feature) for feature, _ in trees])
    roots = np.cumsum(sizes) - sizes
    feature = np.concatenate([f for f, _ in trees])
    first_child = np.concatenate([c + root for (_, c), root in zip(trees, roots, strict=True)])
    is_leaf = first_child == np.arange(len(feature))
    n_children = np.where(is_leaf, 0, bins.n_bins[feature])
    return Forest(
        roots=roots.astype(np.int32),
        feature=feature.astype(np.int32),
        first_child=first_child.astype(np.int32),
        n_children=n_children.astype(np.int32),
        goes_right=np.zeros((len(feature), WORDS_PER_NODE), np.uint64),
        leaf_id=_number_leaves(is_leaf),
        multiway=True,
        max_depth=depth,
    )


def _grow_one_multiway(
    bins: FeatureBins, depth: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Grow one tree level by level; gives the feature and the first child of its nodes."""
    features: list[NDArray[np.int64]] = []
    first_children: list[NDArray[np.int64]] = []
    used = np.zeros((1, len(bins)), np.bool_)
    n_before = 0
    for _ in range(depth):
        chosen = np.where(used, -1.0, rng.random(used.shape)).argmax(axis=1)
        fan_out = bins.n_bins[chosen]
        refuse_too_many_leaves(float(fan_out.sum()))
        n_before += len(chosen)
        features.append(chosen)
        first_children.append(n_before + np.cumsum(fan_out) - fan_out)
        used[np.arange(len(chosen)), chosen] = True
        used = np.repeat(used, fan_out, axis=0)
    features.append(np.zeros(len(used), np.int64))
    first_children.append(n_before + np.arange(len(used)))
    return np.concatenate(features), np.concatenate(first_children)


def _random_splits(
    bins: FeatureBins, feature: NDArray[np.int32], rng: np.random.Generator
) -> Words:
    """Which bins go right, as bits, for nodes that ask for these features."""
    n_values = bins.n_values[feature]
    coins = rng.integers(0, 2**64, (len(feature), WORDS_PER_NODE), dtype=np.uint64)
    cut = rng.integers(0, np.maximum(n_values - 1, 1))
    values = LOWEST_BITS[n_values]
    numeric = values & ~LOWEST_BITS[cut + 1]
    left = rng.integers(0, n_values)
    right = (left + rng.integers(1, np.maximum(n_values, 2))) % n_values
    # One category is forced to each side, so that no split is empty.
    categorical = ((coins & values) | ONE_BIT[right]) & ~ONE_BIT[left]
    split = np.where(bins.categorical[feature][:, None], categorical, numeric)
    split |= coins & ~values
    return np.asarray(split, np.uint64)


def _number_leaves(is_leaf: NDArray[np.bool_]) -> NDArray[np.int32]:
    return np.where(is_leaf, np.cumsum(is_leaf) - 1, -1).astype(np.int32)


def refuse_deep_trees(n_trees: int | Literal["auto"], max_depth: int | Literal["auto"]) -> None:
    """ValueError when binary trees of what is given would not fit the memory, if all were full."""
    depth = 0 if max_depth == "auto" else min(max_depth, DEEPEST)
    refuse_too_many_leaves((1 if n_trees == "auto" else n_trees) * 2.0**depth)


def most_trees(max_depth: int | Literal["auto"]) -> int:
    """Binary trees of that depth that fit the memory: a bound for rules that choose their number.

    Examples
    --------
    >>> most_trees(20), most_trees(22)
    (4, 1)
    """
    return MAX_LEAVES if max_depth == "auto" else max(1, MAX_LEAVES >> max_depth)


def refuse_too_many_leaves(n_leaves: float) -> None:
    """ValueError when a forest of so many leaves would not fit the memory."""
    if n_leaves > MAX_LEAVES:
        raise ValueError(
            f"the forest would have {n_leaves:.0f} leaves, more than {MAX_LEAVES}: "
            "lower max_depth or n_estimators, or max_bins for multi-way splits"
        )
