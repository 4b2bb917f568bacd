"""Releases of trees: their splits, level by level, and the sums of their leaves.

The part of the curator that grows trees; `dpforest.privacy.curator` says how neighbours are scaled.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.spends import Amount, Branch, Pure, Spend, exact
from dpforest.privacy.mechanisms.additive import AdditiveNoise, finest_grid
from dpforest.privacy.mechanisms.quantiles import quantile_cells
from dpforest.privacy.mechanisms.randomness import RandomBits
from dpforest.privacy.mechanisms.splitting import Answer, NodeSplits, choose_splits
from dpforest.privacy.published import (
    MEAN_REASON,
    REASONS,
    published_means,
    published_splits,
)
from dpforest.records.statistics import (
    LeafSums,
    NodeHistograms,
    Statistic,
    TargetCounts,
    TargetGrid,
)
from dpforest.records.store import RecordStore
from dpforest.trees.attribute_grower import AttributeQuestion
from dpforest.trees.level_grower import Choice, Published, SplitQuestion
from dpforest.trees.structure import Forest

Sampling = Literal["shared", "disjoint"]
Bounds = tuple[float, float]

TARGET_STEPS = 4096  # of the range of a target: as good as continuous
TARGET_CELLS = 1024  # of the range of a target: where its quartiles are looked for
QUARTILES = (Fraction(1, 4), Fraction(3, 4))
HISTOGRAM_CELLS = 1 << 24  # totalled together; a level with more takes several passes


class TreeReleases:
    """The verbs of a curator that concern trees; not to be used by itself."""

    _store: RecordStore
    _bits: RandomBits
    _parts: int = 0
    ledger: Ledger

    def middle_of_target(self, bounds: Bounds, *, epsilon: Fraction) -> Bounds:
        """The range in which about the middle half of the targets lies.

        The outer edges of the cells of two private quartiles, on an even grid of the public
        bounds; `dpforest.privacy.mechanisms.quantiles` proves what they cost.
        """
        spend = Spend("quartiles of the target", "exponential mechanism", Pure(epsilon))
        self.ledger.debit(spend)
        low, high = bounds
        first, last = quantile_cells(
            self._store.total(TargetCounts(low, high, TARGET_CELLS)),
            QUARTILES,
            epsilon=epsilon,
            bits=self._bits,
            steps=self.ledger.protection.steps,
        )
        width = (high - low) / TARGET_CELLS
        return low + width * float(first), low + width * float(last + 1)

    def choose_splits(
        self,
        question: SplitQuestion,
        target: int | Bounds,
        choice: Choice | Published,
        *,
        epsilon: Amount,
        sampling: Sampling,
    ) -> Answer:
        """A candidate and an option for every node of a level, chosen by balance and by error.

        `mechanisms.splitting` proves that the choices of a node cost its epsilon. The nodes
        of a level of a tree share no record, so they cost no more together; trees compose as in
        `leaf_counts`. ``target`` is the number of classes, or bounds to which targets are clipped.
        Choices as published are not private, and the ledger says why.

        Returns
        -------
        candidate, option : ndarray of int64, shape (n_nodes,)
        """
        n_trees = question.forest.n_trees
        per_tree = share_of_tree(epsilon, n_trees, sampling)
        spend = Spend(f"splits of its nodes, {choice}", "private choices", Pure(per_tree))
        trees = _each_tree(f"{n_trees} trees, {sampling} records", spend, n_trees, sampling)
        self.ledger.debit(Branch("a level", "sequential", (trees,)))
        if choice == "diprime" or choice == "thesis":
            for reason in REASONS[choice]:
                self.ledger.void(reason)
        if sampling == "disjoint":
            self._deal(n_trees)
        per_step = per_tree if math.isinf(per_tree) else per_tree / self.ledger.protection.steps
        candidates, options = [], []
        for rows in nodes_at_a_time(question, target):
            splits = self._splits(question, target, rows, sampling)
            if choice == "diprime" or choice == "thesis":
                candidate, option = published_splits(splits, choice, per_step, self._bits)
            else:
                candidate, option = choose_splits(splits, choice, per_step, self._bits)
            candidates.append(candidate)
            options.append(option)
        return np.concatenate(candidates), np.concatenate(options)

    def leaf_target_sums(
        self, forest: Forest, bounds: Bounds, *, epsilon: Amount, sampling: Sampling
    ) -> NDArray[np.float64]:
        """Noisy sums, in every leaf, of how far targets lie below and above their bounds.

        Measured in the range of the target, a record adds 1 - t and t with 0 <= t <= 1 to one
        leaf of each tree that sees it: L1 sensitivity 1 for both together. Their sum is a noisy
        number of records, so a mean needs no further budget. On the integer grid the two add up
        to the number of its steps. Trees compose as in `leaf_counts`.

        Returns
        -------
        ndarray of float64, shape (n_leaves, 2)
            How far below the upper bound, and how far above the lower one.
        """
        price = Pure(share_of_tree(epsilon, forest.n_trees, sampling))
        reach = self.ledger.protection.steps
        grid = TargetGrid(*bounds, finest_grid(price, reach, TARGET_STEPS))
        l1 = reach * grid.steps
        noise = AdditiveNoise.for_price(price, l1=l1, l2=float(l1))
        spend = noise.spend("sums of the target in the leaves", grid.steps)
        statistic = LeafSums(forest, grid, sampling)
        totals = self._totals_of_leaves(forest, statistic, spend, sampling)
        both = np.column_stack([grid.steps * totals[:, 0] - totals[:, 1], totals[:, 1]])
        return noise.added_to(both, self._bits) / grid.steps

    def published_leaf_means(
        self, forest: Forest, bounds: Bounds, *, epsilon: Amount, sampling: Sampling
    ) -> NDArray[np.float64]:
        """The mean of every leaf with the printed noise, range / (N epsilon): not private.

        See `dpforest.privacy.published`. Shape (n_leaves,), measured in the range of the target.
        """
        price = Pure(share_of_tree(epsilon, forest.n_trees, sampling))
        grid = TargetGrid(*bounds, finest_grid(price, 1, TARGET_STEPS))
        noise = AdditiveNoise.for_price(price, l1=grid.steps, l2=float(grid.steps))
        spend = noise.spend("means of the leaves, as published", grid.steps)
        self.ledger.void(MEAN_REASON)
        statistic = LeafSums(forest, grid, sampling)
        totals = self._totals_of_leaves(forest, statistic, spend, sampling)
        return published_means(totals, noise.added_to(totals[:, 1], self._bits) / grid.steps)

    def _splits(
        self, question: SplitQuestion, target: int | Bounds, rows: slice, sampling: Sampling
    ) -> NodeSplits:
        """The exact effect of every option of some nodes of a question."""
        grid = target if isinstance(target, int) else TargetGrid(*target, TARGET_STEPS)
        statistic = NodeHistograms(
            question.forest,
            question.features,
            question.n_bins,
            range(rows.start, rows.stop),
            grid,
            sampling,
        )
        steps = 0 if isinstance(grid, int) else grid.steps
        return NodeSplits.of(self._store.total(statistic), question, rows, steps)

    def _totals_of_leaves(
        self, forest: Forest, statistic: Statistic, spend: Spend, sampling: Sampling
    ) -> NDArray[np.int64]:
        """Debit the same spend for every tree, deal the records out if need be, and total."""
        label = f"{forest.n_trees} trees, depth {forest.max_depth}, {sampling} records"
        self.ledger.debit(_each_tree(label, spend, forest.n_trees, sampling))
        if sampling == "disjoint":
            self._deal(forest.n_trees)
        return self._store.total(statistic)

    def _deal(self, n_trees: int) -> None:
        """Deal the records out to trees, once: levels and leaves of a tree see the same ones."""
        if self._parts != n_trees:
            self._store.deal(n_trees, self._bits.uniform_below)
            self._parts = n_trees


def share_of_tree(epsilon: Amount, n_trees: int, sampling: Sampling) -> Amount:
    """The epsilon of one tree: an equal part where trees share records, else all of it."""
    if math.isinf(epsilon):
        return epsilon
    return exact(epsilon) / (n_trees if sampling == "shared" else 1)


def _each_tree(label: str, spend: Spend, n_trees: int, sampling: Sampling) -> Branch:
    """The same spend for every tree."""
    if sampling == "disjoint":
        return Branch(label, "parallel", (spend,), times=n_trees)
    return Branch(label, "sequential", (spend,), times=n_trees)


def nodes_at_a_time(
    question: SplitQuestion | AttributeQuestion, target: int | Bounds
) -> list[slice]:
    """Runs of nodes whose histograms fit into memory together."""
    numbers = target if isinstance(target, int) else 2
    n_nodes, n_candidates = question.features.shape
    size = max(1, HISTOGRAM_CELLS // (n_candidates * question.n_bins * numbers))
    return [slice(start, min(start + size, n_nodes)) for start in range(0, n_nodes, size)]
