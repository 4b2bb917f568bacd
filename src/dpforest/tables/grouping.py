"""Categories beyond the bins of a byte: a public hash puts them into groups.

The group of a category follows from its text alone, so it costs nothing and no record changes how
another one is read.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpforest.schema.categories import Category

MOST_SINGLE = 255  # categories that have a bin each
N_GROUPS = 254  # which leaves a bin for missing values and one for unseen ones


def count_groups(categories: Sequence[Category]) -> int:
    """Bins of a list of categories: one each, or those of groups."""
    return len(categories) if len(categories) <= MOST_SINGLE else N_GROUPS


def group_categories(categories: Sequence[Category]) -> NDArray[np.int64]:
    """The bin of each category.

    Examples
    --------
    >>> group_categories(("a", "b", "c")).tolist()
    [0, 1, 2]
    >>> groups = group_categories([f"{code:05}" for code in range(5_000)])
    >>> groups[:3].tolist(), int(groups.max())
    ([252, 183, 106], 253)
    """
    if len(categories) <= MOST_SINGLE:
        return np.arange(len(categories))
    digests = (hashlib.sha256(str(category).encode()).digest() for category in categories)
    return np.array([int.from_bytes(digest[:8], "big") % N_GROUPS for digest in digests])


def group_names(categories: Sequence[Category]) -> tuple[Category, ...]:
    """What to call each bin: its category, or the first of its group and how many more.

    Examples
    --------
    >>> group_names(("a", "b"))
    ('a', 'b')
    """
    if len(categories) <= MOST_SINGLE:
        return tuple(categories)
    members: list[list[Category]] = [[] for _ in range(N_GROUPS)]
    for category, group in zip(categories, group_categories(categories).tolist(), strict=True):
        members[group].append(category)
    return tuple(
        f"{inside[0]} and {len(inside) - 1} more" if inside else "(none)" for inside in members
    )
