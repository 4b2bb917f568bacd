"""The four flaws of DiPriMe trees as printed, one control each.

A node of the printed tree has epsilon_1 for its split: half for a median cut of each of K
attributes, half for the choice among them.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.audit.mechanisms import Mechanism, table
from dpforest.audit.worlds import Pair, Table
from dpforest.privacy.mechanisms import noise, selection
from dpforest.privacy.mechanisms.randomness import RandomBits

GRID = 1 << 20  # steps in the unit range of a feature, of a score or of a mean


def diprime_controls() -> list[Mechanism]:
    """All four."""
    return [cut_by_gap(), many_medians(), mean_squared_error(), leaf_mean()]


def cut_by_gap(epsilon: float = 1.0) -> Mechanism:
    """Flaw 1: a gap between two records by rank alone, then a cut uniformly within it.

    P(j) is proportional to exp(-epsilon / 2 |N - 2 j|) whatever the width of gap j, so a new
    record close to another one draws cuts into the narrow space between them.
    """

    def sample(t: Table, trials: int, bits: RandomBits) -> NDArray[np.float64]:
        ends = np.concatenate([[0.0], np.sort(t.X[:, 0]), [1.0]])
        n = len(t.y)
        ranks = -np.abs(n - 2 * np.arange(n + 1))
        gap = selection.exponential_mechanism(
            np.tile(ranks, (trials, 1)), epsilon=epsilon, sensitivity=1, monotone=False, bits=bits
        )
        within = bits.uniform_below(GRID, trials) / GRID
        cut = ends[gap] + within * (ends[gap + 1] - ends[gap])
        return np.asarray(cut[:, None])

    values = [0.0, 0.5, 1.0]
    pair = Pair("close to another", table(values, [0] * 3), table([*values, 0.501], [0] * 4))
    flaw = "the cut's density depends on the gap between two records"
    return Mechanism("diprime-1-gap", epsilon, [pair], sample, flaw)


def many_medians(epsilon: float = 2.0, n_attributes: int = 10) -> Mechanism:
    """Flaw 2: a private median for each of K attributes from the same records, paid for once.

    Two cuts are on offer, of which the second splits the target perfectly; the choice among the K
    attributes then takes any attribute whose median found it. The first cut comes out only if all
    K medians took it: a loss K times that of one median.
    """

    def sample(t: Table, trials: int, bits: RandomBits) -> NDArray[np.float64]:
        n = len(t.y)
        below = np.array([(t.X[:, 0] < cut).sum() for cut in (0.25, 0.75)])
        balance = -np.abs(n - 2 * below)
        cuts = selection.exponential_mechanism(
            np.tile(balance, (trials, n_attributes, 1)),
            epsilon=epsilon / 2, sensitivity=1, monotone=False, bits=bits,
        )  # fmt: skip
        errors = np.array([_squared_error(t, cut) for cut in (0.25, 0.75)])
        attribute = selection.exponential_mechanism(
            -errors[cuts], epsilon=epsilon / 2, sensitivity=GRID, monotone=False, bits=bits
        )
        return cuts[np.arange(trials), attribute].astype(np.float64)[:, None]

    x = [0.0] * 60 + [0.5] * 60 + [1.0] * 60
    y = [0] * 120 + [1] * 60
    pair = Pair("tips the balance", table(x, y), table([0.0, *x], [0, *y]))
    flaw = "K medians are released and one is paid for"
    return Mechanism("diprime-2-medians", epsilon, [pair], sample, flaw)


def _squared_error(t: Table, cut: float) -> int:
    """The sum of squared errors after a cut, on a grid."""
    right = t.X[:, 0] >= cut
    total = Fraction(0)
    for side in (right, ~right):
        ones, n = int(t.y[side].sum()), int(side.sum())
        if n:
            total += ones - Fraction(ones * ones, n)
    return int(total * GRID)


def mean_squared_error(epsilon: float = 1.0) -> Mechanism:
    """Flaw 3: the choice by mean squared error, with a sensitivity of 4 B^2 / N_i.

    Printed: P(a) is proportional to exp(-epsilon N_i / (8 B^2) MSE(a)), where "the mean squared
    error is equivalent to the variance". Read as the mean of the two children's variances, one
    record in a small child moves it by up to B^2 / 2 whatever N_i is, and the exponent by
    epsilon N_i / 16. (Read as the pooled sum over N_i, the N_i cancels: the exponent is the sum of
    squared errors, and the rule is private by accident, though not for the printed reason.)
    """

    def sample(t: Table, trials: int, bits: RandomBits) -> NDArray[np.float64]:
        scores = [-_mean_variance(t, j) for j in range(t.X.shape[1])]
        chosen = selection.exponential_mechanism(
            np.tile(scores, (trials, 1)),
            epsilon=epsilon, sensitivity=Fraction(4 * GRID, len(t.y)), monotone=False, bits=bits,
        )  # fmt: skip
        return chosen.astype(np.float64)[:, None]

    n = 100
    y = np.tile([-1, 1], n // 2)
    alone = np.zeros(n)
    alone[1] = 1.0  # a child of one record
    X = np.column_stack([alone, np.arange(n) % 4 >= 2])
    pair = Pair(
        "second record of a child",
        table(X, y),
        table(np.vstack([X, [1.0, 0.0]]), np.append(y, -1)),
    )
    flaw = "the sensitivity of a mean over a child is not 4 B^2 / N_i, and N_i is private"
    return Mechanism("diprime-3-mse", epsilon, [pair], sample, flaw)


def _mean_variance(t: Table, feature: int) -> int:
    """The mean of the variances of a target in [-1, 1] in the two children, on a grid."""
    right = t.X[:, feature] > 0.5
    total = Fraction(0)
    for side in (right, ~right):
        n, s = int(side.sum()), int(t.y[side].sum())
        if n:
            total += 1 - Fraction(s * s, n * n)
    return int(total * GRID / 2)


def leaf_mean(epsilon: float = 1.0) -> Mechanism:
    """Flaw 4: the mean of a leaf with noise of scale (B_U - B_L) / (N_i epsilon)."""

    def sample(t: Table, trials: int, bits: RandomBits) -> NDArray[np.float64]:
        n, s = len(t.y), int(t.y.sum())
        scale, _ = noise.laplace_scale(epsilon, Fraction(GRID, n))
        return (s * GRID // n + noise.discrete_laplace(scale, (trials, 1), bits)) / GRID

    y = [0, 1]
    pair = Pair("third record of a leaf", table([0.0] * 2, y), table([0.0] * 3, [*y, 0]))
    flaw = "noise of scale (B_U - B_L) / (N_i epsilon) tells N_i"
    return Mechanism("diprime-4-mean", epsilon, [pair], sample, flaw)
