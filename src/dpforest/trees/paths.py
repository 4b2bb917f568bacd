"""A binary tree as oblivious ones: one for each leaf, which asks what is asked on the way to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.structure import Forest


def as_oblivious(forest: Forest, leaf_values: Values) -> tuple[ObliviousTrees, NDArray[np.float32]]:
    """Oblivious trees that together give each record the values of its leaf in one binary tree.

    Parameters
    ----------
    forest : Forest
        Of one tree, at most 8 levels deep.
    leaf_values : ndarray of float64, shape (n_leaves, n_outputs)

    Returns
    -------
    trees : ObliviousTrees
        One for each leaf. It asks the questions on the way to the leaf, the last one first.
    values : ndarray of float32, shape (n_trees, n_outputs, n_leaves)
        0 but where all answers are those that lead to the leaf.

    Examples
    --------
    >>> from dpforest.trees.unfolding import unfold
    >>> right = np.arange(256) > np.array([[[1], [5]]])
    >>> forest = unfold(ObliviousTrees(np.array([[0, 1]], np.int32), right, np.array([2])))
    >>> trees, values = as_oblivious(forest, np.array([[1.0], [2.0], [3.0], [4.0]]))
    >>> trees.feature.tolist(), values.argmax(axis=2).ravel().tolist()
    ([[1, 0], [1, 0], [1, 0], [1, 0]], [0, 2, 1, 3])
    """
    n_levels, n_leaves = max(forest.max_depth, 1), forest.n_leaves
    feature = np.zeros((n_leaves, n_levels), np.int32)
    goes_right = np.zeros((n_leaves, n_levels, 256), np.bool_)
    depth, number = np.zeros(n_leaves, np.int32), np.zeros(n_leaves, np.int64)
    bits = np.ascontiguousarray(forest.goes_right, "<u8").view(np.uint8)
    node = forest.leaves
    for level in range(forest.max_depth):
        above = forest.parent[node]
        below = np.flatnonzero(above >= 0)
        parents = above[below]
        feature[below, level] = forest.feature[parents]
        goes_right[below, level] = np.unpackbits(bits[parents], axis=1, bitorder="little")
        number[below] |= (node[below] != forest.first_child[parents]).astype(np.int64) << level
        depth[below] += 1
        node = np.where(above >= 0, above, node)
    values = np.zeros((n_leaves, leaf_values.shape[1], 1 << n_levels), np.float32)
    values[np.arange(n_leaves), :, number] = leaf_values
    # A leaf without a question is a tree whose only question has one answer.
    return ObliviousTrees(feature, goes_right, np.maximum(depth, 1)), values
