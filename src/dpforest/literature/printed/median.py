"""Median forests as DiPriMe and the thesis print them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.forests.median import MedianForestClassifier, MedianForestRegressor
from dpforest.forests.median_base import MedianForest
from dpforest.forests.median_base import Target as SplitTarget
from dpforest.literature.printed.mechanisms import (
    MEAN_REASON,
    REASONS,
    Print,
    printed_means,
    printed_splits,
)
from dpforest.literature.printed.warning import follow_the_print
from dpforest.privacy.accounts.prices import finest_grid
from dpforest.privacy.accounts.spends import Pure
from dpforest.privacy.accounts.tree_sampling import Span, TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.leaves import TARGET_STEPS
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.privacy.median_splits import answer_by_node
from dpforest.privacy.tree_payments import pay_for_choices, pay_for_noise, whole
from dpforest.records.statistics import LeafSums, TargetGrid
from dpforest.trees.level_grower import SplitQuestion


class PrintedSplits(MedianForest):
    """Splits as DiPriMe (``cuts="range"``) or the thesis (``cuts="grid"``) prints them."""

    @property
    def _print(self) -> Print:
        return "thesis" if self.cuts == "grid" else "diprime"

    def _check(self, groups: Any) -> None:
        super()._check(groups)
        if self.splits == "random":
            raise ValueError("these prints are about median splits: use splits='median'")

    def _train(self, desk: Desk, rng: np.random.Generator) -> None:
        follow_the_print(desk, REASONS[self._print])
        super()._train(desk, rng)

    def _choose(
        self,
        desk: Desk,
        question: SplitQuestion,
        target: SplitTarget,
        span: Span,
        sampling: TreeSampling,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        label = f"splits of its nodes, {self._print}"
        epsilon = pay_for_choices(desk, label, "private choices", span, sampling, where="a level")
        return answer_by_node(
            desk,
            question,
            target,
            sampling,
            lambda splits: printed_splits(splits, self._print, epsilon, desk.draws),
        )


class PrintedMedianForestClassifier(PrintedSplits, MedianForestClassifier):
    """DiPriMe or DPRF_thesis for classes, as printed."""


class PrintedMedianForestRegressor(PrintedSplits, MedianForestRegressor):
    """DiPriMe for numbers, as printed: the noise of a mean is range / (N epsilon)."""

    def _target_of_splits(self, desk: Desk) -> tuple[float, float]:
        return self._target()

    def _release(self, desk: Desk, rng: np.random.Generator) -> None:
        desk.ledger.void(MEAN_REASON)
        epsilon = desk.ledger.unspent_epsilon
        sampling = TreeSampling(self.sampling, self.forest_.n_trees)
        price = Pure(sampling.price_of_tree(epsilon))
        grid = TargetGrid(*self._target(), finest_grid(price, 1, TARGET_STEPS))
        label, where = "means of the leaves, as published", f"depth {self.forest_.max_depth}"
        pay_for_noise(desk, label, whole(epsilon), sampling, grid=grid.steps, where=where)
        noise = AdditiveNoise.for_price(price, l1=grid.steps, l2=float(grid.steps))
        desk.draw_samples(sampling)
        totals = desk.total(LeafSums(self.forest_, grid, sampling.kind))
        noisy = desk.draws.add_noise(noise, totals[:, 1]) / grid.steps
        self.leaf_values_ = printed_means(totals, noisy)[:, np.newaxis]
