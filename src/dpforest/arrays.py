"""What every room uses of arrays: their types, and how to put some of unlike widths together."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Integers = NDArray[np.int64]
Entry = TypeVar("Entry", bound=np.generic)


def stacked(parts: Sequence[NDArray[Entry]]) -> NDArray[Entry]:
    """All rows of some arrays; where one is narrower than the widest, the rest is 0.

    Examples
    --------
    >>> stacked([np.array([[1, 2, 3]]), np.array([[4], [5]])]).tolist()
    [[1, 2, 3], [4, 0, 0], [5, 0, 0]]
    """
    widest = np.max([part.shape[1:] for part in parts], axis=0).tolist()
    rows = sum(len(part) for part in parts)
    out: NDArray[Any] = np.zeros((rows, *widest), parts[0].dtype)
    stop = 0
    for part in parts:
        start, stop = stop, stop + len(part)
        out[(slice(start, stop), *map(slice, part.shape[1:]))] = part
    return out
