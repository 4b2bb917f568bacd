"""Oblivious trees as ordinary ones: a node for every row of answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.structure import WORDS_PER_NODE, Forest


def unfold(trees: ObliviousTrees) -> Forest:
    """The same trees as a binary `Forest`; leaves keep their numbers, tree after tree.

    Examples
    --------
    >>> right = np.arange(256) > np.array([[[1], [5]]])
    >>> forest = unfold(ObliviousTrees(np.array([[0, 1]], np.int32), right, np.array([2])))
    >>> forest.feature.tolist(), forest.first_child.tolist(), forest.leaf_id.tolist()
    ([0, 1, 1, 0, 0, 0, 0], [1, 3, 5, 3, 4, 5, 6], [-1, -1, -1, 0, 2, 1, 3])
    """
    n_leaves = 1 << trees.depth.astype(np.int64)
    sizes = 2 * n_leaves - 1
    starts, leaf_starts = np.cumsum(sizes) - sizes, np.cumsum(n_leaves) - n_leaves
    n_nodes = int(sizes.sum())
    feature = np.zeros(n_nodes, np.int32)
    first_child = np.arange(n_nodes, dtype=np.int32)
    n_children = np.zeros(n_nodes, np.int32)
    goes_right = np.zeros((n_nodes, WORDS_PER_NODE), np.uint64)
    leaf_id = np.full(n_nodes, -1, np.int32)
    words = np.packbits(trees.goes_right, axis=2, bitorder="little").view("<u8")
    for depth in np.unique(trees.depth):
        which = np.flatnonzero(trees.depth == depth)
        for level in range(depth):
            place = np.arange(1 << level)
            nodes = starts[which, None] + (1 << level) - 1 + place
            feature[nodes] = trees.feature[which, level, None]
            first_child[nodes] = starts[which, None] + (2 << level) - 1 + 2 * place
            n_children[nodes] = 2
            goes_right[nodes] = words[which, level, None]
        nodes = starts[which, None] + (1 << depth) - 1 + np.arange(1 << depth)
        leaf_id[nodes] = leaf_starts[which, None] + _backwards(int(depth))
    deepest = int(trees.depth.max(initial=0))
    return Forest(
        starts.astype(np.int32),
        feature,
        first_child,
        n_children,
        goes_right,
        leaf_id,
        False,
        deepest,
    )


def leaf_table(trees: ObliviousTrees, values: NDArray[np.float32]) -> Values:
    """The values of the leaves of `unfold`, shape (n_leaves, n_outputs)."""
    there = np.arange(values.shape[2]) < (1 << trees.depth)[:, None]
    return np.ascontiguousarray(values.transpose(0, 2, 1)[there], np.float64)


def _backwards(depth: int) -> NDArray[np.int64]:
    """Numbers of so many bits, read backwards: the first answer is the lowest bit of a leaf."""
    number, level = np.arange(1 << depth), np.arange(depth)
    return np.asarray((((number[:, None] >> level) & 1) << (depth - 1 - level)).sum(axis=1))
