"""Ensembles of multi-way trees, each over a few features of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.growers import grow_multiway
from dpforest.trees.structure import FeatureBins, Forest


@dataclass(frozen=True)
class Ensemble:
    """Multi-way trees over some of the features.

    Parameters
    ----------
    features : tuple of int
        The attributes of the ensemble's domain.
    forest : Forest
        Its trees; nodes name features of the whole table.
    """

    features: tuple[int, ...]
    forest: Forest

    @cached_property
    def leaf_cells(self) -> NDArray[np.int64]:
        """The value each leaf's way asks of each attribute, -1 for none, shape (n_leaves, d)."""
        forest = self.forest
        cells = np.full((forest.n_nodes, len(self.features)), -1, np.int64)
        position = np.zeros(max(self.features) + 1, np.int64)
        position[list(self.features)] = np.arange(len(self.features))
        for nodes in forest.levels[1:]:
            parents = forest.parent[nodes]
            cells[nodes] = cells[parents]
            child = nodes - forest.first_child[parents]
            cells[nodes, position[forest.feature[parents]]] = child
        return cells[forest.leaves]


def grow_ensembles(
    bins: FeatureBins,
    *,
    n_trees: int,
    max_depth: int,
    n_ensembles: int,
    n_features: int,
    rng: np.random.Generator,
) -> list[Ensemble]:
    """Ensembles of about equally many random trees, each over a random choice of features.

    Parameters
    ----------
    bins : FeatureBins
        The features of the table.
    n_trees : int
        Trees of all ensembles together.
    max_depth : int
    n_ensembles : int
    n_features : int
        Features of one ensemble.
    rng : numpy.random.Generator
        The public stream of the structure.
    """
    ensembles = []
    dealt: list[int] = []
    for part in np.array_split(np.arange(n_trees), n_ensembles):
        # Features are dealt like cards, so that all are used before one comes again.
        while len(set(dealt)) < n_features:
            dealt.extend(int(j) for j in rng.permutation(len(bins)))
        hand = list(dict.fromkeys(dealt))[:n_features]
        for j in hand:
            dealt.remove(j)
        features = np.sort(hand)
        own = FeatureBins(
            bins.n_values[features], bins.n_bins[features], bins.categorical[features]
        )
        forest = grow_multiway(own, len(part), max_depth, rng)
        named = replace(forest, feature=features[forest.feature].astype(np.int32))
        ensembles.append(Ensemble(tuple(int(j) for j in features), named))
    return ensembles


def join_forests(forests: Sequence[Forest]) -> Forest:
    """All trees of several forests of one kind as one, leaves in the same order."""
    sizes = np.array([f.n_nodes for f in forests])
    leaves = np.array([f.n_leaves for f in forests])
    node_shift = (np.cumsum(sizes) - sizes).astype(np.int32)
    leaf_shift = (np.cumsum(leaves) - leaves).astype(np.int32)
    shifted = list(zip(forests, node_shift, leaf_shift, strict=True))
    return Forest(
        roots=np.concatenate([f.roots + s for f, s, _ in shifted]),
        feature=np.concatenate([f.feature for f in forests]),
        first_child=np.concatenate([f.first_child + s for f, s, _ in shifted]),
        n_children=np.concatenate([f.n_children for f in forests]),
        goes_right=np.concatenate([f.goes_right for f in forests]),
        leaf_id=np.concatenate([np.where(f.leaf_id < 0, -1, f.leaf_id + s) for f, _, s in shifted]),
        multiway=forests[0].multiway,
        max_depth=max(f.max_depth for f in forests),
    )


def keep_trees(forest: Forest, kept: NDArray[np.int64]) -> tuple[Forest, NDArray[np.int64]]:
    """Some trees of a forest, in their order, and the numbers that their leaves had in it."""
    tree_of = np.searchsorted(forest.roots, np.arange(forest.n_nodes), side="right") - 1
    nodes = np.flatnonzero(np.isin(tree_of, kept))
    place = np.zeros(forest.n_nodes, np.int32)
    place[nodes] = np.arange(len(nodes))
    is_leaf = forest.leaf_id[nodes] >= 0
    leaves = np.sort(forest.leaf_id[nodes[is_leaf]])
    number = np.searchsorted(leaves, forest.leaf_id[nodes])
    some = Forest(
        roots=place[forest.roots[np.sort(kept)]],
        feature=forest.feature[nodes],
        first_child=place[forest.first_child[nodes]],
        n_children=forest.n_children[nodes],
        goes_right=forest.goes_right[nodes],
        leaf_id=np.where(is_leaf, number, -1).astype(np.int32),
        multiway=forest.multiway,
        max_depth=forest.max_depth,
    )
    return some, leaves.astype(np.int64)
