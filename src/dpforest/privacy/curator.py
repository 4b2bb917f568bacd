"""The curator: asks the store, debits the ledger, and only then releases.

Everything here is proved for one added or removed record and then scaled by
``protection.steps``, the number of such steps between two neighbouring tables (2 when a record is
replaced, m when a person with at most m records joins or leaves): noise scales grow by that
factor, and choices are made at an epsilon smaller by it (group privacy). `docs/privacy/ledger.md`
has the argument.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy import noise, selection
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.randomness import RandomBits
from dpforest.privacy.spends import Amount, Branch, Pure, Spend, exact
from dpforest.records.encode import Encoding
from dpforest.records.statistics import LeafClassCounts, RecordCount
from dpforest.records.store import RecordStore
from dpforest.trees.structure import Forest

Sampling = Literal["shared", "disjoint"]


class Curator:
    """Holds a store and a ledger, and answers questions about the records for a price.

    Parameters
    ----------
    store : RecordStore
        The records.
    ledger : Ledger
        Where every release is debited before it is made.
    bits : RandomBits
        The secret randomness of noise, of choices and of dealing records out to trees.
    """

    def __init__(self, store: RecordStore, ledger: Ledger, bits: RandomBits) -> None:
        self._store = store
        self._bits = bits
        self.ledger = ledger

    def encode(self, encoding: Encoding) -> None:
        """Bin the records by a public or already released encoding; releases nothing."""
        self._store.encode(encoding)

    def count(self, epsilon: Amount) -> float:
        """The noisy number of records.

        A record changes the count by 1, so discrete Laplace noise of scale steps / epsilon makes
        it epsilon-DP. When records are replaced one by one their number is public, and free.
        """
        protection = self.ledger.protection
        if protection.neighbors == "replace_one" and protection.unit == "record":
            self.ledger.debit(Spend("number of records", "public", Pure(Fraction(0))))
            return float(self._store.total(RecordCount())[0])
        scale, spent = self._laplace(epsilon)
        self.ledger.debit(Spend("number of records", "discrete Laplace", Pure(spent)))
        return float(self._noisy(self._store.total(RecordCount()), scale)[0])

    def leaf_counts(
        self, forest: Forest, n_classes: int, *, epsilon: Amount, sampling: Sampling
    ) -> NDArray[np.int64]:
        """Noisy class counts of every leaf of a forest whose structure is public.

        A record adds 1 to one cell of each tree that sees it. Shared records: all k trees see
        it, so a tree is given epsilon / k and the trees add up. Disjoint records: one tree sees
        it, fixed by a draw that does not depend on other records, so a tree is given epsilon and
        the trees compose in parallel. Discrete Laplace noise of scale steps / (epsilon of a tree).

        Returns
        -------
        ndarray of int64, shape (n_leaves, n_classes)
        """
        scale, spent = self._laplace(_share(epsilon, forest.n_trees, sampling))
        spend = Spend("class counts of the leaves", "discrete Laplace", Pure(spent))
        exact = self._leaf_totals(forest, n_classes, spend, sampling)
        return self._noisy(exact, scale)

    def leaf_labels(
        self, forest: Forest, n_classes: int, *, epsilon: Amount, sampling: Sampling
    ) -> NDArray[np.int64]:
        """The class of every leaf, chosen by permute-and-flip among the class counts.

        A record raises one class count of one leaf of each tree that sees it, by 1 and never
        down: a monotone utility of sensitivity 1, so the leaf's choice at weight
        exp(epsilon * count) costs epsilon, and the leaves of a tree, which hold disjoint
        records, cost no more together. Trees compose as in `leaf_counts`.

        Returns
        -------
        ndarray of int64, shape (n_leaves,)
        """
        per_tree = _share(epsilon, forest.n_trees, sampling)
        per_step = per_tree if math.isinf(per_tree) else per_tree / self.ledger.protection.steps
        spend = Spend("labels of the leaves", "permute-and-flip", Pure(per_tree))
        exact = self._leaf_totals(forest, n_classes, spend, sampling)
        return selection.permute_and_flip(
            exact, epsilon=per_step, sensitivity=1, monotone=True, bits=self._bits
        )

    def _leaf_totals(
        self, forest: Forest, n_classes: int, spend: Spend, sampling: Sampling
    ) -> NDArray[np.int64]:
        """Debit the same spend for every tree, deal the records out if need be, and count."""
        disjoint = sampling == "disjoint"
        self.ledger.debit(
            Branch(
                f"{forest.n_trees} random trees, depth {forest.max_depth}, {sampling} records",
                "parallel" if disjoint else "sequential",
                (spend,),
                times=forest.n_trees,
            )
        )
        if disjoint:
            self._store.deal(forest.n_trees, self._bits.uniform_below)
        return self._store.total(LeafClassCounts(forest, n_classes, disjoint))

    def _laplace(self, epsilon: Amount) -> tuple[Fraction | None, Amount]:
        """The scale of the noise for a count at this epsilon, and what it truly costs."""
        if math.isinf(epsilon):
            return None, math.inf
        return noise.laplace_scale(epsilon, self.ledger.protection.steps)

    def _noisy(self, exact: NDArray[np.int64], scale: Fraction | None) -> NDArray[np.int64]:
        if scale is None:
            return exact
        return exact + noise.discrete_laplace(scale, exact.shape, self._bits)


def _share(epsilon: Amount, n_trees: int, sampling: Sampling) -> Amount:
    """The epsilon of one tree."""
    if math.isinf(epsilon):
        return epsilon
    return exact(epsilon) / (n_trees if sampling == "shared" else 1)
