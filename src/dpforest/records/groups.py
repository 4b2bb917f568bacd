"""Bound what one person can contribute: keep at most so many records of each group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.records.store import DrawBelow
from dpforest.tables.frames import as_column


def bound_groups(
    groups: Any, n_rows: int, max_records_per_group: int, draw: DrawBelow
) -> NDArray[np.int64]:
    """The rows to keep: of each group a uniformly random choice of at most so many records.

    Every record draws a ticket of its own and a group keeps its lowest tickets. Which records of a
    group are kept depends on that group alone, so that two tables that differ in one group differ,
    after the choice, in at most ``max_records_per_group`` records.

    Parameters
    ----------
    groups : array-like, shape (n_rows,)
        The person, household or account of each record: numbers or strings.
    n_rows : int
        The number of records.
    max_records_per_group : int
        The most that one group may keep.
    draw : callable
        The source of the tickets.

    Returns
    -------
    ndarray of int64
        Row numbers, ascending.
    """
    codes = _group_codes(groups)
    if len(codes) != n_rows:
        raise SchemaError("groups must have one entry a row of X: pass the column of the person")
    tickets = draw(2**62, n_rows)
    order = np.lexsort((tickets, codes))
    sorted_codes = codes[order]
    starts = np.flatnonzero(np.r_[True, sorted_codes[1:] != sorted_codes[:-1]])
    sizes = np.diff(np.r_[starts, n_rows])
    rank = np.arange(n_rows) - np.repeat(starts, sizes)
    return np.sort(order[rank < max_records_per_group])


def _group_codes(groups: Any) -> NDArray[np.int64]:
    codes, _ = as_column(groups, "groups").levels()
    if (codes < 0).any():
        raise SchemaError(
            "groups has missing entries: every record needs a group; give records of unknown "
            "persons a group of their own, or drop them"
        )
    return codes.astype(np.int64)
