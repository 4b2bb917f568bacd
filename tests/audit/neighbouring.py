"""Two small neighbouring tables, which most replays are of."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpforest.audit import Table

ROWS = np.array([[0.1, 0.0], [0.9, 1.0], [0.4, 1.0], [0.1, 0.0], [0.9, 0.0], [0.9, 0.0]])
PERSONS = np.array([0, 1, 2, 3, 4, 4])
KEPT = 4  # records that both tables have


def neighbouring(
    neighbors: str,
    persons: int | None,
    X: Any,
    y: Any,
    weights: Any = None,
    *,
    other_row: Any = None,
    other_y: Any = None,
) -> tuple[Table, Table]:
    """Two tables that share four records; the last person is another, or not there.

    Without ``persons`` that is the fifth record, with them the fifth and the sixth, which have
    ``other_row`` and ``other_y`` in the one table, where these are given.
    """
    there = np.arange(6 if persons else 5)

    def table(which: Any, X: Any, y: Any) -> Table:
        parts = (PERSONS if persons else None), weights
        return Table(X[which], y[which], *(None if part is None else part[which] for part in parts))

    if neighbors == "add_remove":
        return table(there[:KEPT], X, y), table(there, X, y)
    rows, targets = X.copy(), y.copy()
    if other_row is not None:
        rows[KEPT:] = other_row
    if other_y is not None:
        targets[KEPT:] = other_y
    return table(there, rows, targets), table(there, X, y)


def apart(neighbors: str, persons: int | None, y: Any, high: float) -> tuple[Table, Table]:
    """Two tables of these targets; the last person's are high, or 0, or not there."""
    last, kept = persons or 1, len(y)
    y = np.append(y, np.full(last, high))
    ids = np.array([*range(kept), *[kept] * last]) if persons else None
    rows = np.zeros((len(y), 1))
    more = Table(rows, y, ids)
    if neighbors == "add_remove":
        return Table(rows[:kept], y[:kept], None if ids is None else ids[:kept]), more
    return Table(rows, np.append(y[:kept], np.zeros(last)), ids), more
