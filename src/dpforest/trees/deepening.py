"""How deep oblivious trees are: deeper where released sums show that many answers act together."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.trees import learning_kernels
from dpforest.trees.oblivious import MAX_DEPTH

TREES = 50  # that are looked at before the next decision
SHARE = 0.3  # at depth 4, of the energy of single answers
MORE = 1.5  # so much more of it at every level, as the noise of a tree grows
STRUCTURED = 0.5  # from this share on few questions matter, and only together
SURE = 2.5  # standard errors
MEMORY = 0.95  # what is left, a round later: first of all single answers are learnt


class Deepening:
    """Grows the depth of the next trees while questions that act together still show something.

    The leaf sums of a tree of depth D are turned into 2^D contrasts: of single answers (order 1),
    of pairs (order 2), up to that of all answers together. Their *energy* is the mean square of
    the contrasts of an order, in units of the noise, less the noise. A sum of functions of single
    features has little energy in the high orders; what depends on many features at once has as
    much there as in the first. Another level is worth its noise where the two highest orders have
    a share of the energy of the first, and one that is more than chance. All of it follows from
    released sums: post-processing, and free. ``structured`` is whether any such look showed nearly
    as much energy in the highest orders as in the first.

    Parameters
    ----------
    depth : int
        To start with.
    deepest : int, optional

    Examples
    --------
    >>> deepening, rng = Deepening(2), np.random.default_rng(0)
    >>> leaves = np.array([1.0, -1.0, -1.0, 1.0])  # exclusive or: single answers tell nothing
    >>> sums = 9.0 * leaves[:, None] + rng.standard_normal((60, 4, 1))
    >>> deepening.learn(contrasts(sums), 1.0)
    >>> deepening.depth
    3
    """

    def __init__(self, depth: int, deepest: int = MAX_DEPTH) -> None:
        self.depth = depth
        self._deepest = deepest
        self.structured = False
        self._forget()

    def learn(self, together: Values, deviation: float) -> None:
        """Take note of what some trees released, as `contrasts`, (trees, leaves, outputs)."""
        n_trees, n_leaves, n_outputs = together.shape
        squares = (together**2).sum(axis=(0, 2))
        orders, noise = _orders(n_leaves), deviation**2
        sizes = n_trees * n_outputs * np.bincount(orders, minlength=MAX_DEPTH + 1)
        self._energy *= MEMORY
        self._counts *= MEMORY
        self._energy += np.bincount(orders, squares, MAX_DEPTH + 1) - noise * sizes
        self._counts += sizes
        self._n_trees += n_trees
        self._noise = noise
        if self._n_trees < TREES:
            return
        self.structured |= self._is_above(STRUCTURED)
        if self.depth < self._deepest and self._is_above(SHARE * MORE ** (self.depth - 4)):
            self.depth += 1
            self._forget()

    def _is_above(self, share: float) -> bool:
        """Whether the two highest orders surely have more than this share of the first's energy."""
        first, high = slice(1, 2), slice(max(self.depth - 1, 2), self.depth + 1)
        (low, low_doubt), (top, top_doubt) = self._mean_energy(first), self._mean_energy(high)
        return bool(top - share * max(low, 0.0) > SURE * np.hypot(top_doubt, share * low_doubt))

    def _mean_energy(self, orders: slice) -> tuple[float, float]:
        """The mean energy of some orders and its standard error."""
        count = max(float(self._counts[orders].sum()), 1.0)
        mean = float(self._energy[orders].sum()) / count
        # The variance of a squared Gaussian: twice that of the noise, and what the signal adds.
        variance = 2.0 * self._noise**2 + 4.0 * self._noise * max(mean, 0.0)
        return mean, float(np.sqrt(variance / count))

    def _forget(self) -> None:
        self._energy, self._counts = np.zeros(MAX_DEPTH + 1), np.zeros(MAX_DEPTH + 1)
        self._n_trees = 0


def contrasts(sums: Values) -> Values:
    """Walsh's transform of the leaves of trees: what each set of answers does together.

    Parameters
    ----------
    sums : ndarray, shape (n_trees, 2**depth, n_outputs)

    Examples
    --------
    >>> contrasts(np.array([[[3.0], [1.0]]])).ravel().round(2).tolist()
    [2.83, 1.41]
    """
    out = np.ascontiguousarray(sums / np.sqrt(sums.shape[1]))
    learning_kernels.transform(out)
    return out


@lru_cache(maxsize=MAX_DEPTH + 1)
def _orders(n_leaves: int) -> NDArray[np.int64]:
    """How many answers belong to each contrast: the ones among the bits of its number."""
    return np.array([number.bit_count() for number in range(n_leaves)])
