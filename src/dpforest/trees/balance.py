"""How full the leaves of median trees are: bounds of Consul and Williamson, and rules from them.

They take the error of a private median, in ranks, for Laplace noise of scale 1 / epsilon_1; then a
leaf at depth d holds N / 2^d records up to a sum of d such errors, each halved by every level after
it. Functions of public or released numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Callable

BETA = math.sqrt((math.sqrt(1.0 - 2.0 / math.e) + 1.0) / 2.0)
DEEPEST = 12
FEWEST_RECORDS = 10.0  # of a leaf, whatever the noise
EMPTY_LEAF_RISK = 0.25  # that auto_depth takes, of each leaf
TREES = (2, 10)
RECORDS_OF_TREES = 150.0  # auto_trees: the root of records times epsilon that one tree takes


def leaf_size_tail(deviation: float, depth: int, epsilon_1: float) -> float:
    """Bound the chance that a leaf is off its even share by so many records (Theorem 2).

    Parameters
    ----------
    deviation : float
        t, in records.
    depth : int
    epsilon_1 : float
        What one median costs.

    Examples
    --------
    >>> round(leaf_size_tail(50.0, depth=5, epsilon_1=0.2), 4)
    0.0258
    """
    if deviation <= 0:
        return 1.0
    gamma = 8.0 * (1.0 - 4.0**-depth) / 3.0
    scaled = epsilon_1 * deviation
    chebyshev = gamma / scaled**2
    exponential = max(
        2.0 * math.exp(-(scaled**2) / (4.0 * gamma)), 2.0 * math.exp(-scaled * BETA / 2.0)
    )
    return min(1.0, chebyshev, exponential)


def excess_error_bound(
    n_records: float,
    depth: int,
    *,
    epsilon_1: float,
    epsilon_2: float,
    low: float,
    high: float,
    risk: float = 0.05,
) -> float:
    """Bound what privacy adds to the summed squared error of a median tree (Theorem 3).

    Holds with probability 1 - risk; infinite where leaves may be empty. Theorem 1 takes care of the
    cuts (4 B^2 for every record on the wrong side), and the noise of the means comes on top.

    Examples
    --------
    >>> bound = excess_error_bound(10**6, 3, epsilon_1=1.0, epsilon_2=1.0, low=0, high=1)
    >>> round(bound), math.isinf(excess_error_bound(9, 3, epsilon_1=1, epsilon_2=1, low=0, high=1))
    (373, True)
    """
    t = _deviation(2.0 ** (1 - depth) * risk, depth, epsilon_1)
    share = n_records / 2.0**depth
    if t >= share:
        return math.inf
    largest, width = max(abs(low), abs(high)), high - low
    noise = width**2 / (epsilon_2**2 * (share - t))
    return (2.0 * largest**2 * t + noise) * 2.0 ** (depth + 1)


def balanced_depth(n_records: float, epsilon_of_splits: float, risk: float = 0.05) -> int:
    """The deepest tree all of whose leaves hold records, with probability 1 - risk (Theorem 2).

    Parameters
    ----------
    n_records : float
        Of one tree; noisy and paid for, or public.
    epsilon_of_splits : float
        For all levels of a tree; a median has half of a level's share.
    risk : float
        The chance of an empty leaf, summed over the leaves.

    Examples
    --------
    >>> balanced_depth(500, 1.0), balanced_depth(5_000, 1.0), balanced_depth(10**6, 1.0)
    (2, 4, 10)
    """
    return _deepest(
        lambda depth, share, epsilon_1: (
            2.0**depth * leaf_size_tail(share, depth, epsilon_1) <= risk
        ),
        n_records,
        epsilon_of_splits,
    )


def empty_leaf_chance(share: float, depth: int, epsilon_1: float) -> float:
    """The chance that a leaf with so many records as its even share holds none (Theorem 2's law).

    Theorem 2 bounds the tail of a sum of d Laplace errors, each half as wide as the one before;
    this is that tail itself, in partial fractions of its characteristic function.

    Examples
    --------
    >>> round(empty_leaf_chance(5.0, depth=5, epsilon_1=0.2), 3)
    0.234
    >>> empty_leaf_chance(50.0, 5, 0.2) < leaf_size_tail(50.0, 5, 0.2)
    True
    """
    scales = [2.0**-k for k in range(depth)]
    tail = 0.0
    for b in scales:
        weight = math.prod(b * b / (b * b - other * other) for other in scales if other != b)
        tail += weight * math.exp(-share * epsilon_1 / b)
    return max(0.0, tail / 2.0)


def auto_depth(n_records: float, epsilon_of_splits: float) -> int:
    """The deepest tree each of whose leaves holds records with probability 3 / 4 or more.

    By Theorem 2's law of the leaves' sizes. `balanced_depth`, which asks the theorem's bound that
    no leaf at all be empty, stops two to four levels earlier, which costs more accuracy than
    a few empty leaves do (``docs/privacy/median.md`` has the figures).

    Parameters
    ----------
    n_records, epsilon_of_splits
        As in `balanced_depth`.

    Examples
    --------
    >>> auto_depth(500, 1.0), auto_depth(5_000, 1.0), auto_depth(500, math.inf)
    (5, 8, 5)
    """
    return _deepest(
        lambda depth, share, epsilon_1: (
            empty_leaf_chance(share, depth, epsilon_1) <= EMPTY_LEAF_RISK
        ),
        n_records,
        epsilon_of_splits,
    )


def auto_trees(n_records: float, epsilon: float) -> int:
    """Few trees where records are few: each sees its own part of them.

    Examples
    --------
    >>> auto_trees(1_000, 1.0), auto_trees(20_000, 10.0), auto_trees(10**6, 1.0)
    (2, 2, 6)
    """
    fewest, most = TREES
    return int(min(most, max(fewest, math.sqrt(max(n_records, 0.0) * epsilon) / RECORDS_OF_TREES)))


def _deepest(
    is_full: Callable[[int, float, float], bool], n_records: float, epsilon_of_splits: float
) -> int:
    """The largest depth that passes a test of (depth, share of a leaf, epsilon of a median)."""
    best = 1
    for depth in range(1, DEEPEST + 1):
        share = n_records / 2.0**depth
        exact = math.isinf(epsilon_of_splits)
        full = exact or is_full(depth, share, epsilon_of_splits / (2.0 * depth))
        if full and share >= FEWEST_RECORDS:
            best = depth
    return best


def _deviation(chance: float, depth: int, epsilon_1: float) -> float:
    """The smallest deviation whose tail is at most so likely."""
    low, high = 0.0, 1.0
    while leaf_size_tail(high, depth, epsilon_1) > chance:
        high *= 2.0
    for _ in range(60):
        middle = (low + high) / 2.0
        if leaf_size_tail(middle, depth, epsilon_1) > chance:
            low = middle
        else:
            high = middle
    return high
