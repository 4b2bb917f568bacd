"""What the released trees of the flagship say of records: scores, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.forests.base import PrivateEstimator
from dpforest.forests.boosting import BoostedTrees
from dpforest.forests.declared import fitted
from dpforest.forests.plan import BoostingPlan
from dpforest.tables.routing import add_tree_values


class ScoringBoosting(PrivateEstimator):
    """A boosted forest whose leaves add up to scores; not to be used by itself."""

    forest_: BoostedTrees = fitted()
    plan_: BoostingPlan = fitted()
    _n_start_trees: int = fitted()

    def _scores(self, X: Any) -> NDArray[np.float32]:
        """The scores of some records, shape (n_outputs, n)."""
        bins = self._bins(X, order="F")
        scores = np.zeros((self.forest_.values.shape[1], len(bins)), np.float32)
        add_tree_values(self.forest_.trees, bins, self.forest_.values, scores, self.n_jobs)
        return scores

    def _staged_scores(self, X: Any) -> Iterator[NDArray[np.float32]]:
        bins = self._bins(X, order="F")
        scores = np.zeros((self.forest_.values.shape[1], len(bins)), np.float32)
        start = 0
        for size in self._stages():
            part, start = self.forest_[start : start + size], start + size
            add_tree_values(part.trees, bins, part.values, scores, self.n_jobs)
            yield scores.copy()

    def _stages(self) -> list[int]:
        """The trees of each stage: the start, then round by round."""
        first, size = self._n_start_trees, self.plan_.trees_per_round
        left = self.forest_.trees.n_trees - first
        rounds = [min(size, left - done) for done in range(0, left, max(size, 1))]
        return [first, *rounds] if first else rounds

    def from_scores(self, scores: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Turn scores, shape (n_outputs, n), into probabilities or targets."""
        raise NotImplementedError
