"""The curator: asks the store, debits the ledger, and only then releases.

Everything here is proved for one added or removed record and then scaled by
``protection.steps``, the number of such steps between two neighbouring tables (2 when a record is
replaced, m when a person with at most m records joins or leaves): noise scales grow by that
factor, and choices are made at an epsilon smaller by it (group privacy). `docs/privacy/ledger.md`
has the argument.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.losses import IntegerLoss
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.spends import Amount, Branch, Gaussian, Pure, Spend
from dpforest.privacy.greedy_releases import GreedyReleases
from dpforest.privacy.mechanisms import selection
from dpforest.privacy.mechanisms.additive import AdditiveNoise, Price, finest_grid
from dpforest.privacy.mechanisms.randomness import RandomBits
from dpforest.privacy.mechanisms.strategies import noise_for
from dpforest.privacy.published import COUNT_REASON, SMOOTH_REASON, published_labels
from dpforest.privacy.tree_releases import Sampling as Sampling
from dpforest.privacy.tree_releases import share_of_tree
from dpforest.privacy.workload_answers import Answers, Question
from dpforest.records.statistics import (
    BinCounts,
    GradientSums,
    LeafClassCounts,
    RecordCount,
    Statistic,
    TargetCounts,
)
from dpforest.records.store import RecordStore
from dpforest.tables.encode import Encoding
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.structure import Forest

COUNT_GRID = 1024  # steps of the noise in a count of 1: as good as continuous


class GradientRelease(NamedTuple):
    """Released leaf sums: gradients, shape (trees, leaves, outputs), Hessians, (trees, leaves).

    ``deviation`` is that of the noise in a gradient.
    """

    gradients: NDArray[np.float64]
    hessians: NDArray[np.float64]
    deviation: float


class Curator(GreedyReleases):
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

    def reopened(self, ledger: Ledger, bits: RandomBits) -> Curator:
        """A curator of the same records for another ledger: what was checked stays checked.

        For repeated releases, as an audit makes them. Not to be mixed with releases of this one.
        """
        return Curator(self._store, ledger, bits)

    def encode(self, encoding: Encoding, *, by_feature: bool = False) -> None:
        """Bin the records by a public or already released encoding; releases nothing."""
        self._store.encode(encoding, by_feature=by_feature)

    @property
    def count_is_public(self) -> bool:
        """Whether neighbouring tables have the same number of records."""
        protection = self.ledger.protection
        return protection.neighbors == "replace_one" and protection.unit == "record"

    def count(self, price: Price) -> float:
        """The noisy number of records.

        A record changes it by 1. When records are replaced one by one their number is public, and
        free.
        """
        if self.count_is_public:
            self.ledger.debit(Spend("number of records", "public", Pure(Fraction(0))))
            return float(self._store.total(RecordCount())[0])
        return float(self._noisy_counts("number of records", RecordCount(), price, cells=1)[0])

    def published_count(self) -> float:
        """The number of records as a paper reads it, for nothing: not private."""
        self.ledger.void(COUNT_REASON)
        return float(self._store.total(RecordCount())[0])

    def bin_counts(
        self, encoding: Encoding, features: tuple[int, ...], price: Price, label: str
    ) -> NDArray[np.float64]:
        """The noisy number of records in each bin of some features.

        The encoding is public or was released. A record is in one bin of each feature: it changes
        as many counts as there are features, each by 1, so the L1 sensitivity is their number and
        the L2 sensitivity its root.

        Returns
        -------
        ndarray of float64, shape (n_features, largest number of bins)
        """
        noise, grid = self._pay_for_counts(label, price, cells=len(features))
        self._store.encode(encoding, by_feature=True, only=features)
        statistic = BinCounts(features, int(encoding.n_bins[list(features)].max()))
        return self._noisy_total(statistic, noise, grid)

    def target_counts(
        self, low: float, high: float, cells: int, price: Price
    ) -> NDArray[np.float64]:
        """The noisy number of records in each of some equal cells of the target's public range.

        A record is in one cell and changes its count by 1.
        """
        statistic = TargetCounts(low, high, cells)
        return self._noisy_counts("histogram of the target", statistic, price, cells=1)

    def start_boosting(self, n_outputs: int) -> None:
        """Give every record a score of 0; releases nothing."""
        self._store.start_scores(n_outputs)

    def add_to_scores(self, trees: ObliviousTrees, values: NDArray[np.float32]) -> None:
        """Add trees that were released to the scores of the records; releases nothing."""
        self._store.add_to_scores(trees, values)

    def gradient_sums(
        self, trees: ObliviousTrees, loss: IntegerLoss, price: Price, label: str
    ) -> GradientRelease:
        """Noisy sums of gradients and Hessians in every leaf of some trees, at a price a tree.

        The structure and the scores depend on what was released before. A record is in one leaf
        of each tree and adds integers of norm at most ``loss.grid`` there (L1 or L2, as the loss
        says; `dpforest.losses.integer` has the proof), so that is the sensitivity of a tree; the
        trees add up.
        """
        private = not math.isinf(price.mu if isinstance(price, Gaussian) else price.epsilon)
        if private and isinstance(price, Gaussian) != (loss.norm == 2):
            raise ValueError("a Gaussian price needs a loss bounded in L2, a pure one in L1")
        reach = loss.grid * self.ledger.protection.steps
        noise = AdditiveNoise.for_price(price, l1=reach, l2=float(reach))
        spend = Spend(
            "gradients and Hessians of the leaves",
            noise.mechanism(loss.gradient_unit),
            noise.loss,
        )
        self.ledger.debit(Branch(label, "sequential", (spend,), times=trees.n_trees))
        released = noise.added_to(self._store.total(GradientSums(trees, loss)), self._bits)
        return GradientRelease(
            released[..., 0] / loss.gradient_unit,
            released[..., 0, 1] / loss.hessian_unit,
            noise.deviation / loss.gradient_unit,
        )

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
        steps = self.ledger.protection.steps
        price = Pure(share_of_tree(epsilon, forest.n_trees, sampling))
        noise = AdditiveNoise.for_price(price, l1=steps, l2=float(steps))
        spend = Spend("class counts of the leaves", noise.mechanism(1), noise.loss)
        exact = self._leaf_totals(forest, n_classes, spend, sampling)
        return noise.added_to(exact, self._bits)

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
        per_tree = share_of_tree(epsilon, forest.n_trees, sampling)
        per_step = per_tree if math.isinf(per_tree) else per_tree / self.ledger.protection.steps
        spend = Spend("labels of the leaves", "permute-and-flip", Pure(per_tree))
        exact = self._leaf_totals(forest, n_classes, spend, sampling)
        return selection.permute_and_flip(
            exact, epsilon=per_step, sensitivity=1, monotone=True, bits=self._bits
        )

    def published_leaf_labels(
        self, forest: Forest, n_classes: int, *, epsilon: Amount, sampling: Sampling
    ) -> NDArray[np.int64]:
        """The class of every leaf by the printed mechanism: not private.

        See `dpforest.privacy.published.published_labels`. Shape (n_leaves,).
        """
        per_tree = share_of_tree(epsilon, forest.n_trees, sampling)
        spend = Spend("labels of the leaves, as published", "smooth sensitivity", Pure(per_tree))
        self.ledger.void(SMOOTH_REASON)
        exact = self._leaf_totals(forest, n_classes, spend, sampling)
        return published_labels(exact, per_tree, self._bits)

    def answer_workload(
        self, questions: Sequence[Question], n_classes: int, price: Price
    ) -> list[Answers]:
        """Answer workloads by the matrix mechanism, at the price for each of them or its own.

        The strategy A is an integer matrix fixed by public facts. One record changes the
        measurements by one column of A times its ``change`` over the classes, so discrete Laplace
        noise of scale steps * norm_1(A) * |change|_1 / epsilon makes them epsilon-DP, and discrete
        Gaussian noise mu-GDP with the L2 norms; the answers are post-processing of it. See
        `dpforest.privacy.mechanisms.strategies` for the proof. Questions about the same records
        compose sequentially; all are debited before any is measured.

        Returns
        -------
        list of Answers
        """
        steps = self.ledger.protection.steps
        noises = [
            noise_for(q.strategy, q.price or price, steps, q.population.change) for q in questions
        ]
        spends = [
            Spend(q.label, n.mechanism(q.population.unit), n.loss)
            for q, n in zip(questions, noises, strict=True)
        ]
        label = f"{len(spends)} workloads by the matrix mechanism"
        self.ledger.debit(
            spends[0] if len(spends) == 1 else Branch(label, "sequential", tuple(spends))
        )
        answers = []
        for q, noise in zip(questions, noises, strict=True):
            tables = q.population.tables(self._store, self._bits, n_classes, q.strategy.tables)
            noisy = noise.added_to(q.strategy.measure(tables), self._bits)
            answers.append(q.answer(noisy, noise))
        return answers

    def _leaf_totals(
        self, forest: Forest, n_classes: int, spend: Spend, sampling: Sampling
    ) -> NDArray[np.int64]:
        statistic = LeafClassCounts(forest, n_classes, sampling)
        return self._totals_of_leaves(forest, statistic, spend, sampling)

    def _noisy_counts(
        self, label: str, statistic: Statistic, price: Price, *, cells: int
    ) -> NDArray[np.float64]:
        """Debit and release counts, of which a record changes so many by 1."""
        return self._noisy_total(statistic, *self._pay_for_counts(label, price, cells=cells))

    def _pay_for_counts(self, label: str, price: Price, *, cells: int) -> tuple[AdditiveNoise, int]:
        """Debit counts, of which a record changes so many by 1; gives the noise and its grid.

        Counts are put on a grid finer than 1, so that the noise is as small as the price allows.
        """
        l1 = self.ledger.protection.steps * cells
        l2 = self.ledger.protection.steps * math.sqrt(cells)
        grid = finest_grid(price, l2 if isinstance(price, Gaussian) else l1, COUNT_GRID)
        noise = AdditiveNoise.for_price(price, l1=grid * l1, l2=grid * l2)
        self.ledger.debit(Spend(label, noise.mechanism(grid), noise.loss))
        return noise, grid

    def _noisy_total(
        self, statistic: Statistic, noise: AdditiveNoise, grid: int
    ) -> NDArray[np.float64]:
        return noise.added_to(grid * self._store.total(statistic), self._bits) / grid
