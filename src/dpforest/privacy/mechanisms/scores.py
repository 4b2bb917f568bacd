"""How good a split is: whole-number scores of class counts, whose sensitivity is proved.

The score of a split is the sum of the scores of its children; that of no split is the score of the
node as its own only child. A record added to the table joins one child of *every* split, so it is
enough to bound what a record of class k changes in a child with the counts n_1, ..., n_K and n
records; ``docs/privacy/greedy.md`` has this in full. In units of ``STEP`` = 1024:

**gini**, minus n times the Gini impurity: (sum n_k^2) / n - n. It is minus the sum of squared
errors of unit vectors, so it falls by something between 0 and 2 (see `splitting`), and
its floor by a whole number between 0 and 2 STEP.

**information_gain**, minus n times the entropy: sum F(n_k) - F(n), with F(m) = g(0) + ... +
g(m - 1) for whole numbers 0 <= g(0) <= g(1) <= ... (close to STEP times the steps of m log2 m) that
stay at g(n_bound - 1) from there on. It changes by g(n_k) - g(n): as n_k <= n, by at most 0, and by
no less than -g(n_bound - 1). This holds for every table: a node with more than n_bound records
scores less sharply, and costs no more.

**max**, the largest n_k, in units of 1: it rises by 0 or 1.

**f_max**, (largest n_k)^2 / n: with m = max n_k, a record of the largest class raises it by
(2 m n + n - m^2) / (n^2 + n), at most 1 as m <= n; another that does not lift the maximum lowers it
by m^2 / (n^2 + n), less than 1. Up or down: not monotone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np

from dpforest.arrays import Integers
from dpforest.privacy.mechanisms import split_kernels
from dpforest.privacy.mechanisms.splitting import CLASS_STEP

ScoreName = Literal["gini", "information_gain", "max", "f_max"]
STEP = CLASS_STEP**2  # scores but that of the max operator are counted in 1 / 1024
LARGEST_BOUND = 1 << 24  # of n for information gain: a table of 128 MB


@dataclass(frozen=True)
class Score:
    """A score of splits by the class counts of their children.

    Parameters
    ----------
    name : {"gini", "information_gain", "max", "f_max"}
    sensitivity : int
        The most that one added record changes the score of any split.
    monotone : bool
        Whether an added record moves no two splits of a node in opposite directions.
    fill : callable
        Writes the score of each row of counts into an array.
    """

    name: ScoreName
    sensitivity: int
    monotone: bool
    fill: Callable[[Integers, Integers], None] = field(repr=False, compare=False)

    def of_children(self, counts: Integers) -> Integers:
        """The score of each child, exact up to 2**28 records a child.

        Parameters
        ----------
        counts : ndarray of int64, shape (..., n_classes)

        Returns
        -------
        ndarray of int64, shape (...)

        Examples
        --------
        Two children, of 3 and 1 and of 0 and 4 records: minus 4 times the Gini impurity is -1.5.

        >>> score_of("gini", n_bound=100).of_children(np.array([[3, 1], [0, 4]])).tolist()
        [-1536, 0]
        """
        rows = np.ascontiguousarray(counts, np.int64).reshape(-1, counts.shape[-1])
        out = np.empty(len(rows), np.int64)
        self.fill(rows, out)
        return out.reshape(counts.shape[:-1])


def score_of(name: ScoreName, n_bound: int) -> Score:
    """The score of a name.

    Parameters
    ----------
    name : {"gini", "information_gain", "max", "f_max"}
    n_bound : int
        Public number of records from which on information gain is blunted, between 2 and 2**24;
        its sensitivity is log2(n_bound) + 1.44, in units of ``STEP``. Privacy does not rest on it.

    Examples
    --------
    >>> score = score_of("information_gain", n_bound=100_000)
    >>> score.monotone, score.sensitivity / STEP
    (True, 18.052734375)
    """
    if name == "gini":
        return Score(name, 2 * STEP, True, _minus_gini)
    if name == "information_gain":
        powers = _powers(n_bound)

        def minus_entropy(counts: Integers, out: Integers) -> None:
            split_kernels.minus_entropy(counts, powers, out)

        return Score(name, int(powers[-1] - powers[-2]), True, minus_entropy)
    if name == "max":
        return Score(name, 1, True, split_kernels.largest)
    if name == "f_max":
        return Score(name, STEP, False, _largest_square_over_size)
    raise ValueError(f"score must be 'gini', 'information_gain', 'max' or 'f_max', got {name!r}.")


def _minus_gini(counts: Integers, out: Integers) -> None:
    split_kernels.minus_gini(counts, CLASS_STEP, out)


def _largest_square_over_size(counts: Integers, out: Integers) -> None:
    split_kernels.largest_square_over_size(counts, CLASS_STEP, out)


@lru_cache(maxsize=1)
def _powers(n_bound: int) -> Integers:
    """F(0), ..., F(n_bound): close to STEP m log2 m, in whole steps that never shrink."""
    if not 2 <= n_bound <= LARGEST_BOUND:
        raise ValueError(f"n_bound must be between 2 and 2**24, got {n_bound}.")
    m = np.arange(1, n_bound, dtype=np.float64)
    steps = np.rint(STEP * (np.log2(m + 1) + m * np.log1p(1 / m) / np.log(2))).astype(np.int64)
    powers = np.zeros(n_bound + 1, np.int64)
    # Whatever floating point made of the logarithms, the steps are whole and in order.
    np.cumsum(np.maximum.accumulate(steps), out=powers[2:])
    powers.flags.writeable = False
    return powers
