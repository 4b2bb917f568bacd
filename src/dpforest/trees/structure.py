"""A forest as a handful of flat arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Sampling = Literal["shared", "disjoint", "without_replacement"]
"""Which records a tree sees: all of them, those dealt to it alone, or a sample of its own."""
WORDS_PER_NODE = 4  # 256 bins, one bit a bin


@dataclass(frozen=True)
class FeatureBins:
    """What a grower may know of the features: how many bins each has, and of which kind.

    Parameters
    ----------
    n_values : ndarray of int64
        Bins that stand for values (intervals of a numeric feature, or categories).
    n_bins : ndarray of int64
        All bins of a feature: those of its values, then missing, then unseen (categories only).
    categorical : ndarray of bool
        Whether the values have no order.
    """

    n_values: NDArray[np.int64]
    n_bins: NDArray[np.int64]
    categorical: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.n_bins)


@dataclass(frozen=True)
class Forest:
    """The structure of many trees; the values of the leaves are kept beside it.

    Nodes of all trees stand in one numbering, parents before their children, the children of a
    node side by side. Leaves have a numbering of their own, tree after tree.

    Parameters
    ----------
    roots : ndarray of int32, shape (n_trees,)
        The root of each tree.
    feature : ndarray of int32, shape (n_nodes,)
        The feature a node asks for; 0 at leaves.
    first_child : ndarray of int32, shape (n_nodes,)
        The first child of a node. A leaf points at itself, so that routing needs no test for it.
    n_children : ndarray of int32, shape (n_nodes,)
        2 in a binary forest, the bins of the feature in a multi-way one, 0 at leaves.
    goes_right : ndarray of uint64, shape (n_nodes, 4)
        Binary forests: bit b is set when bin b goes to the second child.
    leaf_id : ndarray of int32, shape (n_nodes,)
        The number of a leaf, -1 at inner nodes.
    multiway : bool
        Whether a node has one child for each bin instead of two.
    max_depth : int
        The longest way from a root to a leaf.
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int32]
    first_child: NDArray[np.int32]
    n_children: NDArray[np.int32]
    goes_right: NDArray[np.uint64]
    leaf_id: NDArray[np.int32]
    multiway: bool
    max_depth: int

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return len(self.roots)

    @property
    def n_nodes(self) -> int:
        """The number of nodes of all trees."""
        return len(self.feature)

    @cached_property
    def leaves(self) -> NDArray[np.int64]:
        """The node of each leaf, in the order of the leaf numbers."""
        nodes = np.flatnonzero(self.leaf_id >= 0)
        return nodes[np.argsort(self.leaf_id[nodes])]

    @property
    def n_leaves(self) -> int:
        """The number of leaves of all trees."""
        return len(self.leaves)

    @cached_property
    def leaf_offsets(self) -> NDArray[np.int64]:
        """The leaves of tree t are those from ``leaf_offsets[t]`` to ``leaf_offsets[t + 1]``."""
        tree_of_leaf = np.searchsorted(self.roots, self.leaves, side="right") - 1
        return np.searchsorted(tree_of_leaf, np.arange(self.n_trees + 1)).astype(np.int64)

    @cached_property
    def parent(self) -> NDArray[np.int64]:
        """The parent of each node, -1 at roots."""
        inner = np.flatnonzero(self.n_children > 0)
        fan_out = self.n_children[inner]
        starts = np.repeat(self.first_child[inner], fan_out)
        position = np.arange(fan_out.sum()) - np.repeat(np.cumsum(fan_out) - fan_out, fan_out)
        parent = np.full(self.n_nodes, -1, np.int64)
        parent[starts + position] = np.repeat(inner, fan_out)
        return parent

    @cached_property
    def levels(self) -> tuple[NDArray[np.int64], ...]:
        """The nodes of each level, from the roots down."""
        levels = [self.roots.astype(np.int64)]
        while True:
            inner = levels[-1][self.n_children[levels[-1]] > 0]
            if not len(inner):
                return tuple(levels)
            is_inner = np.zeros(self.n_nodes + 1, np.bool_)
            is_inner[inner] = True
            levels.append(np.flatnonzero(is_inner[self.parent]))

    @cached_property
    def routing_arrays(self) -> tuple[Any, ...]:
        """What compiled routing reads: a node's feature and first child in one word, and so on."""
        links = self.feature.astype(np.uint64)
        links |= self.first_child.astype(np.uint64) << np.uint64(32)
        right_bytes = np.ascontiguousarray(self.goes_right, "<u8").view(np.uint8).ravel()
        roots, leaf_id = self.roots.astype(np.uint32), self.leaf_id.astype(np.uint32)
        shape = self.multiway, self.max_depth
        return roots, links, right_bytes, self.n_children, leaf_id, *shape

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, for saving."""
        return {
            "roots": self.roots,
            "feature": self.feature,
            "first_child": self.first_child,
            "n_children": self.n_children,
            "goes_right": self.goes_right,
            "leaf_id": self.leaf_id,
            "shape": np.array([self.multiway, self.max_depth], np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Forest:
        """The forest that `to_arrays` took apart; ValueError when the arrays make no forest."""
        parts = dict(arrays)
        multiway, max_depth = parts.pop("shape")
        forest = cls(**parts, multiway=bool(multiway), max_depth=int(max_depth))
        forest._refuse_broken_links()
        return forest

    def _refuse_broken_links(self) -> None:
        """Compiled code follows the links unchecked, so a damaged file must not get that far."""
        n = self.n_nodes
        nodes = np.arange(n)
        leaf = self.n_children == 0
        last_child = np.where(leaf, nodes, self.first_child + np.maximum(self.n_children, 1) - 1)
        whole = (
            all(len(a) == n for a in (self.first_child, self.n_children, self.leaf_id))
            and self.goes_right.shape == (n, WORDS_PER_NODE)
            and bool(((self.roots >= 0) & (self.roots < n)).all())
            and bool((self.feature >= 0).all())
            and bool((np.where(leaf, self.first_child == nodes, self.first_child > nodes)).all())
            and bool((last_child < n).all())
            and bool(self.multiway or np.isin(self.n_children, (0, 2)).all())
            and np.array_equal(self.leaf_id >= 0, leaf)
            and np.array_equal(np.sort(self.leaf_id[leaf]), np.arange(leaf.sum()))
        )
        # Each node has one parent at most, so that no way is longer than the levels are many.
        whole = whole and int((self.parent >= 0).sum()) == int(self.n_children.sum())
        if not (whole and len(self.levels) - 1 <= self.max_depth):
            raise ValueError("the arrays do not make a forest: the file is damaged")

    def refuse_other_features(self, n_bins: NDArray[np.int64]) -> None:
        """ValueError unless the nodes ask for features that have so many bins."""
        inner = self.n_children > 0
        known = self.feature.max(initial=0) < len(n_bins)
        fan_out = n_bins[self.feature[inner]] if known and self.multiway else 0
        if not known or (self.multiway and not np.array_equal(self.n_children[inner], fan_out)):
            raise ValueError("the forest asks for a feature that is not there")
