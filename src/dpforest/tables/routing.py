"""Send the records of a user's question down a finished forest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.tables import routing_kernels as kernels
from dpforest.tables.threads import map_rows
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.structure import Forest


def add_leaf_values(
    forest: Forest,
    bins: NDArray[np.uint8],
    values: NDArray[np.float64],
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """For each record, the sum over the trees of the values of its leaves.

    Parameters
    ----------
    forest : Forest
    bins : ndarray of uint8, shape (n, n_features)
    values : ndarray of float64, shape (n_leaves, k)
    n_jobs : int, optional

    Returns
    -------
    ndarray of float64, shape (n, k)
    """
    out = np.zeros((len(bins), values.shape[1]))
    arrays = forest.routing_arrays
    map_rows(
        lambda rows: kernels.add_leaf_values(bins[rows], arrays, values, out[rows]),
        len(bins),
        n_jobs,
    )
    return out


def strongest_leaf(
    forest: Forest,
    bins: NDArray[np.uint8],
    strength: NDArray[np.float64],
    n_jobs: int | None = None,
) -> NDArray[np.int64]:
    """For each record, the strongest of the leaves it falls into; the first tree wins a tie."""
    out = np.zeros(len(bins), np.int64)
    arrays = forest.routing_arrays
    map_rows(
        lambda rows: kernels.strongest_leaf(bins[rows], arrays, strength, out[rows]),
        len(bins),
        n_jobs,
    )
    return out


def find_leaves(
    forest: Forest, bins: NDArray[np.uint8], n_jobs: int | None = None
) -> NDArray[np.int64]:
    """For each record, its leaf in each tree, shape (n, n_trees)."""
    out = np.empty((forest.n_trees, len(bins)), np.uint32)
    arrays = forest.routing_arrays
    map_rows(lambda rows: kernels.find_leaves(bins[rows], arrays, out[:, rows]), len(bins), n_jobs)
    return out.T.astype(np.int64)


def find_oblivious_leaves(
    trees: ObliviousTrees, bins: NDArray[np.uint8], n_jobs: int | None = None
) -> NDArray[np.int64]:
    """For each record, its leaf number in each oblivious tree, shape (n, n_trees)."""
    out = np.empty((trees.n_trees, len(bins)), np.uint8)
    arrays = trees.routing_arrays
    map_rows(
        lambda rows: kernels.find_oblivious_leaves(bins[rows].T, arrays, out[:, rows]),
        len(bins),
        n_jobs,
    )
    return out.T.astype(np.int64)


def add_tree_values(
    trees: ObliviousTrees,
    bins: NDArray[np.uint8],
    values: NDArray[np.float32],
    scores: NDArray[np.float32],
    n_jobs: int | None = None,
) -> None:
    """Add to the score of each record the values of its leaves in oblivious trees.

    Parameters
    ----------
    trees : ObliviousTrees
    bins : ndarray of uint8, shape (n, n_features), the bins of a feature together
    values : ndarray of float32, shape (n_trees, n_outputs, n_leaves)
    scores : ndarray of float32, shape (n_outputs, n)
        Changed in place.
    n_jobs : int, optional
    """
    arrays = trees.routing_arrays
    map_rows(
        lambda rows: kernels.add_tree_values(bins[rows].T, arrays, values, scores[:, rows]),
        len(bins),
        n_jobs,
    )
