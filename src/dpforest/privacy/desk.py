"""The desk: where records, the ledger and the secret draws meet, and nothing else.

The verbs of the room are functions over a desk, a file an idea (`counts`, `gradients`, `leaves`,
and so on). Each does three things in order: debit, total, release with the deviation of its noise.

Everything is proved for one added or removed record and then scaled by ``protection.steps``, the
number of such steps between two neighbouring tables (2 when a record is replaced, m when a person
with at most m records joins or leaves): noise scales grow by that factor, and choices are made at
an epsilon smaller by it (group privacy). `docs/privacy/ledger.md` has the argument.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.tree_sampling import TreeSampling
from dpforest.privacy.mechanisms.draws import Draws as Draws
from dpforest.progress import Bar
from dpforest.records.statistics import Statistic
from dpforest.records.store import RecordStore
from dpforest.tables.encode import Encoding
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.structure import Forest


class Released(NamedTuple):
    """What left the desk, and the standard deviation of the noise in it (0 for choices)."""

    values: NDArray[np.float64]
    deviation: float


class Desk:
    """Records with a ledger and secret draws; the three openings of this room alone make one.

    Parameters
    ----------
    store : RecordStore
        The records.
    ledger : Ledger
        Where every release is debited before it is made.
    draws : Draws
        Noise, choices, and the coins that deal records out to trees.
    """

    def __init__(self, store: RecordStore, ledger: Ledger, draws: Draws) -> None:
        self._store = store
        self.ledger = ledger
        self.draws = draws
        self._sampled: TreeSampling | None = None
        self._bar: Bar | None = None

    def reopened(self, ledger: Ledger, draws: Draws) -> Desk:
        """A desk of the same records for another ledger: what was checked stays checked.

        For repeated releases, as an audit makes them. Not to be mixed with releases of this one.
        """
        return Desk(self._store, ledger, draws)

    @contextmanager
    def watched(self, label: str) -> Iterator[None]:
        """Show a person who watches how many totals were taken."""
        with Bar(label) as self._bar:
            yield
        self._bar = None

    def expect(self, n_totals: int) -> None:
        """Say how many releases follow, each of one total, for those who watch."""
        if self._bar is not None:
            self._bar.expect(n_totals)

    def close(self) -> None:
        """Give back what is held of the records: nothing more is asked."""
        self._store.close()

    @property
    def steps(self) -> int:
        """Single records between neighbouring tables."""
        return self.ledger.protection.steps

    @property
    def count_is_public(self) -> bool:
        """Whether neighbouring tables have the same number of records."""
        protection = self.ledger.protection
        return protection.neighbors == "replace_one" and protection.unit == "record"

    @property
    def has_weights(self) -> bool:
        """Whether records have weights, which is public."""
        return self._store.has_weights

    def encode(
        self, encoding: Encoding, *, by_feature: bool = False, only: Sequence[int] | None = None
    ) -> None:
        """Bin the records by a public or already released encoding; releases nothing."""
        self._store.encode(encoding, by_feature=by_feature, only=only)

    def start_scores(self, n_outputs: int) -> None:
        """Give every record a score of 0 for each output of a model; releases nothing."""
        self._store.start_scores(n_outputs)

    def add_to_scores(self, trees: ObliviousTrees, values: NDArray[np.float32]) -> None:
        """Add trees that were released to the scores of the records; releases nothing."""
        self._store.add_to_scores(trees, values)

    def total(self, statistic: Statistic) -> NDArray[np.int64]:
        """The exact total of a statistic: for the verbs of this room only, after a debit."""
        self.draws.looked()
        total = self._store.total(statistic)
        if self._bar is not None:
            self._bar.advance()
        return total

    def draw_samples(self, sampling: TreeSampling) -> None:
        """Let every tree see its records, once: levels and leaves of a tree see the same ones.

        Releases nothing.
        """
        if self._sampled == sampling:
            return
        if sampling.kind == "disjoint":
            self._store.deal(sampling.n_trees, self.draws.coins())
        elif sampling.kind == "without_replacement":
            self._store.sample(sampling.n_trees, sampling.share, self.draws.coins())
        self._sampled = sampling

    def deal_anew(self, n_trees: int) -> None:
        """Deal every record to one tree, by fresh coins: for questions that stand by themselves."""
        self._store.deal(n_trees, self.draws.coins())
        self._sampled = None

    def draw_harder_samples(
        self, sampling: TreeSampling, forest: Forest, votes: NDArray[np.float64]
    ) -> None:
        """Samples in which a record that released trees classify well comes half as often.

        Whether it does depends on the record and on what was released, on no other record; its
        chance to be in a sample is at most the share that the price is told of. Releases nothing.
        """
        known = forest, votes
        self._store.sample(sampling.n_trees, sampling.share, self.draws.coins(), known)
        self._sampled = sampling
