"""Trees in the making: flat arrays that grow at their leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.growers import refuse_too_many_leaves
from dpforest.trees.structure import WORDS_PER_NODE, Forest

Nodes = NDArray[np.int64]


class GrowingTrees:
    """Trees of one kind, all of them roots at first.

    Parameters
    ----------
    n_trees : int
    multiway : bool
        Whether a node has a child for each bin of its feature instead of two.

    Attributes
    ----------
    choices : ndarray of int64, shape (n_nodes,)
        The choices made on the way from the root to a node, its own among them.
    """

    def __init__(self, n_trees: int, *, multiway: bool) -> None:
        self._multiway = multiway
        self._roots = np.arange(n_trees)
        self._tree = np.arange(n_trees)
        self._feature = np.zeros(n_trees, np.int64)
        self._first_child = np.arange(n_trees)
        self._n_children = np.zeros(n_trees, np.int64)
        self._goes_right = np.zeros((n_trees, WORDS_PER_NODE), np.uint64)
        self._depth = np.zeros(n_trees, np.int64)
        self.choices = np.zeros(n_trees, np.int64)

    def split(
        self,
        nodes: Nodes,
        feature: Nodes,
        fan_out: Nodes,
        goes_right: NDArray[np.uint64] | None = None,
    ) -> Nodes:
        """Give children to leaves; the numbers of the new nodes, node after node."""
        n_before, n_new = len(self._feature), int(fan_out.sum())
        refuse_too_many_leaves(float((self._n_children == 0).sum() - len(nodes) + n_new))
        children = n_before + np.arange(n_new)
        self._feature[nodes] = feature
        self._n_children[nodes] = fan_out
        self._first_child[nodes] = n_before + np.cumsum(fan_out) - fan_out
        if goes_right is not None:
            self._goes_right[nodes] = goes_right
        self._tree = np.append(self._tree, np.repeat(self._tree[nodes], fan_out))
        self._depth = np.append(self._depth, np.repeat(self._depth[nodes] + 1, fan_out))
        self.choices = np.append(self.choices, np.repeat(self.choices[nodes], fan_out))
        self._feature = np.append(self._feature, np.zeros(n_new, np.int64))
        self._n_children = np.append(self._n_children, np.zeros(n_new, np.int64))
        self._first_child = np.append(self._first_child, children)
        none = np.zeros((n_new, WORDS_PER_NODE), np.uint64)
        self._goes_right = np.concatenate([self._goes_right, none])
        return children

    @property
    def leaf_choices(self) -> Nodes:
        """The choices made on the way to each leaf, in the order of the nodes."""
        return np.asarray(self.choices[self._n_children == 0])

    def forest(self, numbered_first: Nodes) -> Forest:
        """The trees as they are; some leaves are numbered before all others."""
        is_leaf = self._n_children == 0
        leaf_id = np.full(len(is_leaf), -1, np.int32)
        leaf_id[numbered_first] = np.arange(len(numbered_first))
        others = is_leaf & (leaf_id < 0)
        leaf_id[others] = np.arange(len(numbered_first), is_leaf.sum())
        return Forest(
            roots=self._roots.astype(np.int32),
            feature=self._feature.astype(np.int32),
            first_child=self._first_child.astype(np.int32),
            n_children=self._n_children.astype(np.int32),
            goes_right=self._goes_right.copy(),
            leaf_id=leaf_id,
            multiway=self._multiway,
            max_depth=int(self._depth.max()),
        )

    def finish(self) -> Forest:
        """The forest, its nodes numbered tree after tree; ``choices`` follows."""
        order = np.argsort(self._tree, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self._roots = place[self._roots]
        self._first_child = place[self._first_child[order]]
        for name in ("_tree", "_feature", "_n_children", "_goes_right", "_depth", "choices"):
            setattr(self, name, getattr(self, name)[order])
        return self.forest(np.empty(0, np.int64))
