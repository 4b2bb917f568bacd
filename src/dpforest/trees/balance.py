"""How full the leaves of median trees are: the law of Consul and Williamson, and rules from it.

It takes the error of a private median, in ranks, for Laplace noise of scale 1 / epsilon_1; then a
leaf at depth d holds N / 2^d records up to a sum of d such errors, each halved by every level after
it. Functions of public or released numbers only.
"""

from __future__ import annotations

import math

DEEPEST = 12
FEWEST_RECORDS = 10.0  # of a leaf, whatever the noise
EMPTY_LEAF_RISK = 0.25  # that median_depth takes, of each leaf
TREES = (2, 10)
RECORDS_OF_TREES = 150.0  # median_trees: the root of records times epsilon that one tree takes


def empty_leaf_chance(share: float, depth: int, epsilon_1: float) -> float:
    """The chance that a leaf with so many records as its even share holds none (Theorem 2's law).

    Theorem 2 bounds the tail of a sum of d Laplace errors, each half as wide as the one before;
    this is that tail itself, in partial fractions of its characteristic function.

    Examples
    --------
    >>> round(empty_leaf_chance(5.0, depth=5, epsilon_1=0.2), 3)
    0.234
    """
    scales = [2.0**-k for k in range(depth)]
    tail = 0.0
    for b in scales:
        weight = math.prod(b * b / (b * b - other * other) for other in scales if other != b)
        tail += weight * math.exp(-share * epsilon_1 / b)
    return max(0.0, tail / 2.0)


def median_depth(n_records: float, epsilon_of_splits: float) -> int:
    """The deepest tree each of whose leaves holds records with probability 3 / 4 or more.

    By Theorem 2's law of the leaves' sizes. Asking the theorem's bound that no leaf at all be
    empty would stop two to four levels earlier, which costs more accuracy than a few empty leaves
    do (``docs/privacy/median.md`` has the figures).

    Parameters
    ----------
    n_records : float
        Of one tree; noisy and paid for, or public.
    epsilon_of_splits : float
        For all levels of a tree; a median has half of a level's share.

    Examples
    --------
    >>> median_depth(500, 1.0), median_depth(5_000, 1.0), median_depth(500, math.inf)
    (5, 8, 5)
    """
    best = 1
    for depth in range(1, DEEPEST + 1):
        share = n_records / 2.0**depth
        # Exact medians leave no leaf empty: the chance is 0 there.
        chance = empty_leaf_chance(share, depth, epsilon_of_splits / (2.0 * depth))
        if chance <= EMPTY_LEAF_RISK and share >= FEWEST_RECORDS:
            best = depth
    return best


def median_trees(n_records: float, epsilon: float) -> int:
    """Few trees where records are few: each sees its own part of them.

    Examples
    --------
    >>> median_trees(1_000, 1.0), median_trees(20_000, 10.0), median_trees(10**6, 1.0)
    (2, 2, 6)
    """
    fewest, most = TREES
    return int(min(most, max(fewest, math.sqrt(max(n_records, 0.0) * epsilon) / RECORDS_OF_TREES)))
