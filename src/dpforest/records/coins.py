"""What a store asks of secret coins; the privacy room makes them."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Addresses = NDArray[np.uint64]


class Coins(Protocol):
    """Coins that belong to addresses: the same whenever and wherever they are asked for."""

    def below(self, m: int, addresses: Addresses, turns: Addresses | int = 0) -> NDArray[np.int64]:
        """A uniform draw from 0, ..., m - 1 for each address, another one in each turn."""
        ...

    def joins(
        self, chances: NDArray[np.int64], out_of: int, addresses: Addresses, n_trees: int
    ) -> NDArray[np.uint8]:
        """Whether each address joins each tree, by coins of its chance in so many."""
        ...
