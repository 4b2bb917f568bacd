"""Two parts of a table that share no record and no person: one to train on, one to compare on.

Every record draws its part by a coin of its own, and a person's records all follow the coin of the
first of them. So the part of a record, or of a person, is the same whoever else is in the table.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.records.groups import person_keys
from dpforest.records.store import DrawBelow


def held_out(n_rows: int, groups: Any, share: Fraction, draw: DrawBelow) -> NDArray[np.bool_]:
    """Whether each record is held out.

    Parameters
    ----------
    n_rows : int
    groups : array-like or None
        The person of each record, where persons are protected.
    share : Fraction
        The chance of each record, or person, to be held out.
    draw : callable
        The coins.
    """
    coins = draw(share.denominator, n_rows) < share.numerator
    if groups is None:
        return np.asarray(coins)
    codes = person_keys(groups)
    if len(codes) != n_rows:
        raise SchemaError("groups must have one entry a row of X: pass the column of the person")
    _, first, person = np.unique(codes, return_index=True, return_inverse=True)
    return np.asarray(coins[first][person])


def rows_of(data: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of a table or a column, in the container that it came in.

    Examples
    --------
    >>> rows_of([[1, "a"], [2, "b"], [3, "c"]], np.array([0, 2]))
    [[1, 'a'], [3, 'c']]
    """
    if data is None:
        return None
    if nw.dependencies.is_into_dataframe(data) or nw.dependencies.is_into_series(data):
        return nw.from_native(data, eager_only=True, allow_series=True)[rows].to_native()
    if isinstance(data, list | tuple):
        return [data[row] for row in rows]
    return np.asarray(data)[rows]
