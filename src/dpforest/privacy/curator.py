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
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy import selection
from dpforest.privacy.additive import AdditiveNoise, Price, finest_grid
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.published import Published, published_means, published_splits
from dpforest.privacy.randomness import RandomBits
from dpforest.privacy.spends import Amount, Branch, Gaussian, Pure, Spend, exact
from dpforest.privacy.splitting import Answer, Choice, NodeSplits, choose_splits
from dpforest.records.encode import Encoding
from dpforest.records.losses import IntegerLoss
from dpforest.records.statistics import (
    BinCounts,
    GradientSums,
    LeafClassCounts,
    LeafSums,
    NodeHistograms,
    RecordCount,
    Statistic,
    TargetCounts,
    TargetGrid,
)
from dpforest.records.store import RecordStore
from dpforest.trees.level_grower import SplitQuestion
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.structure import Forest

Sampling = Literal["shared", "disjoint"]
COUNT_GRID = 1024  # steps of the noise in a count of 1: as good as continuous
TARGET_STEPS = 4096  # of the range of a target: as good as continuous
HISTOGRAM_CELLS = 1 << 24  # totalled together; a level with more takes several passes


class GradientRelease(NamedTuple):
    """Released leaf sums: gradients, shape (trees, leaves, outputs), Hessians, (trees, leaves).

    ``deviation`` is that of the noise in a gradient.
    """

    gradients: NDArray[np.float64]
    hessians: NDArray[np.float64]
    deviation: float


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
        self._parts = 0
        self.ledger = ledger

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
        says; `dpforest.records.losses` has the proof), so that is the sensitivity of a tree; the
        trees add up.
        """
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

    def choose_splits(
        self,
        question: SplitQuestion,
        target: int | tuple[float, float],
        choice: Choice | Published,
        *,
        epsilon: Amount,
        sampling: Sampling,
    ) -> Answer:
        """A candidate and an option for every node of a level, chosen by balance and by error.

        `dpforest.privacy.splitting` proves that the choices of a node cost its epsilon. The nodes of
        a level of a tree share no record, so they cost no more together; trees compose as in
        `leaf_counts`. ``target`` is the number of classes, or the bounds of the target.

        Returns
        -------
        candidate, option : ndarray of int64, shape (n_nodes,)
        """
        n_trees, disjoint = question.forest.n_trees, sampling == "disjoint"
        per_tree = _share(epsilon, n_trees, sampling)
        spend = Spend(f"splits of a level, {choice}", "private choices", Pure(per_tree))
        trees = self._trees(f"{n_trees} trees, {sampling} records", spend, n_trees, sampling)
        self.ledger.debit(Branch("a level", "sequential", (trees,)))
        if disjoint:
            self._deal(n_trees)
        grid = target if isinstance(target, int) else TargetGrid(*target, TARGET_STEPS)
        steps = 0 if isinstance(grid, int) else grid.steps
        per_step = per_tree if math.isinf(per_tree) else per_tree / self.ledger.protection.steps
        answers = []
        cells = question.features.shape[1] * question.n_bins * (2 if steps else int(target))  # type: ignore[arg-type]
        n_nodes, size = len(question.features), max(1, HISTOGRAM_CELLS // cells)
        for start in range(0, n_nodes, size):
            rows = slice(start, min(start + size, n_nodes))
            statistic = NodeHistograms(
                question.forest,
                question.features,
                question.n_bins,
                range(rows.start, rows.stop),
                grid,
                disjoint,
            )
            splits = NodeSplits.of(self._store.total(statistic), question, rows, steps)
            if choice == "diprime" or choice == "thesis":
                answers.append(published_splits(splits, choice, per_step, self._bits))
            else:
                answers.append(choose_splits(splits, choice, per_step, self._bits))
        candidate, option = zip(*answers, strict=True)
        return np.concatenate(candidate), np.concatenate(option)

    def leaf_target_sums(
        self,
        forest: Forest,
        bounds: tuple[float, float],
        *,
        epsilon: Amount,
        sampling: Sampling,
    ) -> NDArray[np.float64]:
        """Noisy sums, in every leaf, of how far targets lie below and above their bounds.

        Measured in the range of the target, a record adds 1 - t and t with 0 <= t <= 1 to one
        leaf of each tree that sees it: L1 sensitivity 1 for both together. Their sum is a noisy
        number of records, so a mean needs no further budget. On the integer grid the two add up
        to the number of its steps. Trees compose as in `leaf_counts`.

        Returns
        -------
        ndarray of float64, shape (n_leaves, 2)
        """
        price = Pure(_share(epsilon, forest.n_trees, sampling))
        reach = self.ledger.protection.steps
        grid = TargetGrid(*bounds, finest_grid(price, reach, TARGET_STEPS))
        l1 = reach * grid.steps
        noise = AdditiveNoise.for_price(price, l1=l1, l2=float(l1))
        spend = Spend("sums of the target in the leaves", noise.mechanism(grid.steps), noise.loss)
        totals = self._totals_of_leaves(
            forest, LeafSums(forest, grid, sampling == "disjoint"), spend, sampling
        )
        both = np.column_stack([grid.steps * totals[:, 0] - totals[:, 1], totals[:, 1]])
        return noise.added_to(both, self._bits) / grid.steps

    def published_leaf_means(
        self,
        forest: Forest,
        bounds: tuple[float, float],
        *,
        epsilon: Amount,
        sampling: Sampling,
    ) -> NDArray[np.float64]:
        """The mean of every leaf with the printed noise, range / (N epsilon): not private.

        See `dpforest.privacy.published`. Measured in the range of the target.
        """
        price = Pure(_share(epsilon, forest.n_trees, sampling))
        grid = TargetGrid(*bounds, finest_grid(price, 1, TARGET_STEPS))
        noise = AdditiveNoise.for_price(price, l1=grid.steps, l2=float(grid.steps))
        spend = Spend("means of the leaves, as published", noise.mechanism(grid.steps), noise.loss)
        totals = self._totals_of_leaves(
            forest, LeafSums(forest, grid, sampling == "disjoint"), spend, sampling
        )
        return published_means(totals, noise.added_to(totals[:, 1], self._bits) // 1) / grid.steps

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
        price = Pure(_share(epsilon, forest.n_trees, sampling))
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
        statistic = LeafClassCounts(forest, n_classes, sampling == "disjoint")
        return self._totals_of_leaves(forest, statistic, spend, sampling)

    def _totals_of_leaves(
        self, forest: Forest, statistic: Statistic, spend: Spend, sampling: Sampling
    ) -> NDArray[np.int64]:
        """Debit the same spend for every tree, deal the records out if need be, and total."""
        label = f"{forest.n_trees} trees, depth {forest.max_depth}, {sampling} records"
        self.ledger.debit(self._trees(label, spend, forest.n_trees, sampling))
        if sampling == "disjoint":
            self._deal(forest.n_trees)
        return self._store.total(statistic)

    @staticmethod
    def _trees(label: str, spend: Spend, n_trees: int, sampling: Sampling) -> Branch:
        """The same spend for every tree."""
        rule: Literal["parallel", "sequential"] = (
            "parallel" if sampling == "disjoint" else "sequential"
        )
        return Branch(label, rule, (spend,), times=n_trees)

    def _deal(self, n_trees: int) -> None:
        """Deal the records out to trees, once: levels and leaves of a tree see the same ones."""
        if self._parts != n_trees:
            self._store.deal(n_trees, self._bits.uniform_below)
            self._parts = n_trees

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


def _share(epsilon: Amount, n_trees: int, sampling: Sampling) -> Amount:
    """The epsilon of one tree."""
    if math.isinf(epsilon):
        return epsilon
    return exact(epsilon) / (n_trees if sampling == "shared" else 1)
