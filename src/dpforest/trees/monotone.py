"""Monotone sums of oblivious trees: scores that rise, or fall, with some features.

It is the sum of all trees that must not fall, and what a tree learns from a few noisy records often
goes too far: were each of them monotone by itself, nothing could take it back. So trees are held
one after the other, and a later one may fall where those before it rose.

Number the cuts of a feature to be followed: cut b lies between its bins b - 1 and b. The *slack*
S(b) is a step from one to the other that the trees so far are sure to make together, whatever the
bins of all other features; 0 before the first tree. A tree whose answers change at b gets S(b)
added on the far side of b (*lent*), for every such cut of every such feature. The table of its
leaves is then made monotone along all these features at once, S(b) becomes the least step of the
table across b, and what was lent is taken off again.

The sum never falls. Take any bins of the other features. Across b, the table of the tree makes a
step of at least the new S(b), and the tree itself one that is smaller by the old S(b): what was
lent for other features is the same on both sides. So its step is at least new S(b) - old S(b). A
tree whose answers are the same on both sides makes no step, and leaves S(b) as it is. Added up, the
steps of all trees across b are at least S(b), and that is never negative, as the table is monotone.
This holds after every tree. Bins of missing values are among those of the *other* features, but no
cut leads to them: they may do as they like. Leaves that no record can be in (two answers about a
feature that no bin gives) count for nothing.

A table is made monotone in two steps. Where the step across a cut falls in some leaves, those in
all leaves lean on their mean, weighted by Hessians, as far as that takes: each is a noisy look at
what the feature does, and to raise only those that fall would raise what they do on average, tree
after tree. Then the mean of two envelopes is taken: running maxima from below and running minima
from above. Either is monotone along all features at once, since a running maximum of functions that
never fall along another feature does not fall along it, too; and so is their mean. A table that is
monotone stays as it is. Where a feature's answers come again in a tree, as those of a range do,
nothing is lent along it, so the tree is monotone along it by itself.

Rounding might break this, as sums in floating point depend on their order. So in the end all values
become whole multiples of a power of two, so large that float32 adds up any of them without rounding
(`Monotone.settle`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.trees.monotone_kernels import hold_trees
from dpforest.trees.oblivious import ObliviousTrees

LARGEST_WHOLE = 2**24  # float32 has all whole numbers up to here


@dataclass(frozen=True)
class Monotone:
    """Which features scores follow.

    Only the bins of values are in order: missing values may do as they like.

    Parameters
    ----------
    signs : ndarray of int64, shape (n_features,)
        1 where scores may not fall as the feature rises, -1 where they may not rise, 0 elsewhere.
    n_values, n_bins : ndarray of int64, shape (n_features,)
        Bins that stand for values, and all bins.
    """

    signs: NDArray[np.int64]
    n_values: NDArray[np.int64]
    n_bins: NDArray[np.int64]

    @property
    def asks_anything(self) -> bool:
        """Whether there is any feature to be followed."""
        return bool(self.signs.any())

    def settle(self, trees: ObliviousTrees, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Leaf values of a whole forest that keep to it exactly: post-processing.

        Values become multiples of a power of two, of which all trees together have at most 2**24,
        so that their sums in float32 are exact, in any order. What keeps to it already is rounded
        so and otherwise left alone.

        Examples
        --------
        >>> right = np.zeros((3, 1, 256), np.bool_)
        >>> right[:, :, 5:] = True
        >>> trees = ObliviousTrees(np.zeros((3, 1), np.int32), right, np.ones(3, np.int32))
        >>> rising = Monotone(np.array([1]), np.array([9]), np.array([10]))
        >>> values = np.array([[[0.0, 4.0]], [[3.0, 1.0]], [[3.0, 0.0]]], np.float32)
        >>> rising.settle(trees, values).tolist()  # 4 up, 2 down; of 3 down, 2 are left
        [[[0.0, 4.0]], [[3.0, 1.0]], [[2.5, 0.5]]]
        """
        largest = _largest_sum(values)
        if not self.asks_anything or largest == 0.0:
            return values
        unit = 2.0 ** np.ceil(np.log2(2.0 * largest / LARGEST_WHOLE))
        while True:
            held = Holding(self, values.shape[1], unit).hold(trees, values)
            if _largest_sum(held) <= LARGEST_WHOLE * unit:
                return held
            unit *= 2.0


class Holding:
    """Holds trees, one after the other, to what they must follow together.

    Parameters
    ----------
    rule : Monotone
    n_outputs : int
        Scores; each is held by itself.
    unit : float, default=0.0
        What values become multiples of; 0 leaves them as fine as they are.
    """

    def __init__(self, rule: Monotone, n_outputs: int, unit: float = 0.0) -> None:
        self._rule, self._unit = rule, unit
        self._slack = np.zeros((n_outputs, len(rule.signs), 256))

    def hold(
        self, trees: ObliviousTrees, values: NDArray[np.float32], weights: Values | None = None
    ) -> NDArray[np.float32]:
        """The values of the next trees, held.

        Parameters
        ----------
        trees : ObliviousTrees
        values : ndarray of float32, shape (n_trees, n_outputs, n_leaves)
        weights : ndarray of float64, shape (n_trees, n_leaves), optional
            How much a leaf minds to be moved, more than 0; all alike if not given.
        """
        rule = self._rule
        if not rule.asks_anything:
            return values
        held = values.copy()
        if weights is None:
            weights = np.ones((len(values), values.shape[2]))
        arrays = trees.feature, trees.goes_right, trees.depth
        about = rule.signs, rule.n_values, rule.n_bins
        hold_trees(arrays, held, weights, *about, self._slack, self._unit)
        return held


def _largest_sum(values: NDArray[np.float32]) -> float:
    """A bound of all sums of some of the trees."""
    largest = np.abs(values).max(axis=2, initial=0.0).sum(axis=0, dtype=np.float64)
    return float(largest.max(initial=0.0))
