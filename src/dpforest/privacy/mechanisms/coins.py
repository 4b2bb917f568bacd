"""Secret coins of records, addressed: what a record draws follows from a key and its address.

A coin is a word of ChaCha20 at (address, turn), under a key of 256 bits that is drawn afresh for
every question. Coins of different addresses or turns are independent and uniform as far as nobody
can tell ChaCha20 from a random function: what the operating system's own generator is built on.
So it does not matter where, how often or in which order coins are computed: a task that is run
again, after a worker was lost, gets the same.

**What addresses must be.** Proofs of dealing and sampling ask that the coins of different records
are independent, whatever the records are. That is so just when different records have different
addresses. A record's place in its table will do: one record more may move others to other places,
and their coins are as independent and uniform there. A hash of what a record says would not do:
equal records would share their coins. All of them would join a tree, or none; an event that only
a tree with them can bring about has the same chance p before it in both tables, and one of them
more or less changes its probability by exp(epsilon) of the tree. Nothing would be left of what
sampling gains, and the price of samples would be too low. (Which records of a *person* are kept
needs no independence at all, see `dpforest.records.groups`: there the address is what a record
says.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Integers
from dpforest.privacy.mechanisms.coin_kernels import coins_below, coins_join
from dpforest.records.coins import Addresses
from dpforest.tables.threads import map_rows

CONSTANTS = np.frombuffer(b"expand 32-byte k", np.uint32)


class KeyedCoins:
    """Coins under a key; they can be sent to where the records are, and must go nowhere else.

    Parameters
    ----------
    key : ndarray of uint64, shape (4,)
    """

    def __init__(self, key: NDArray[np.uint64]) -> None:
        self._start = np.concatenate([CONSTANTS, key.view(np.uint32), np.zeros(4, np.uint32)])

    def below(self, m: int, addresses: Addresses, turns: Addresses | int = 0) -> Integers:
        """A uniform draw from 0, ..., m - 1 for each address, exactly."""
        turns = np.broadcast_to(np.asarray(turns, np.uint64), addresses.shape).copy()
        out = np.empty(len(addresses), np.int64)

        def work(rows: slice) -> None:
            coins_below(self._start, addresses[rows], turns[rows], *_divisor(m), out[rows])

        map_rows(work, len(addresses))
        return out

    def joins(
        self, chances: Integers, out_of: int, addresses: Addresses, n_trees: int
    ) -> NDArray[np.uint8]:
        """Whether each record joins the sample of each tree: a coin each, of its chance."""
        out = np.empty((len(addresses), n_trees), np.uint8)

        def work(rows: slice) -> None:
            chance = chances[rows]
            coins_join(self._start, addresses[rows], chance, *_divisor(out_of), out[rows])

        map_rows(work, len(addresses))
        return out


class CoinsInOrder:
    """Coins as an auditor's draws give them: in the order in which records ask.

    For stores in memory, which ask once for all records, in their order.
    """

    def __init__(
        self,
        below: Callable[[int, int], Integers],
        joins: Callable[[Integers, int], NDArray[np.bool_]],
    ) -> None:
        self._below, self._joins = below, joins

    def below(self, m: int, addresses: Addresses, turns: Addresses | int = 0) -> Integers:
        """The next draws."""
        return self._below(m, len(addresses))

    def joins(
        self, chances: Integers, out_of: int, addresses: Addresses, n_trees: int
    ) -> NDArray[np.uint8]:
        """The next coins, tree after tree."""
        out = np.empty((len(addresses), n_trees), np.uint8)
        for t in range(n_trees):
            out[:, t] = self._joins(chances, out_of)
        return out


def _divisor(m: int) -> tuple[np.uint64, np.uint64]:
    """The number of outcomes, and how many words are left over when all are dealt out to them."""
    if not 1 <= m <= 1 << 62:
        raise ValueError(f"m must lie between 1 and 2**62, got {m}.")
    return np.uint64(m), np.uint64((1 << 64) % m)
