"""What the flagship's forests say of themselves, from what they released."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.forests.base import PrivateEstimator
from dpforest.forests.boosting import BoostedTrees
from dpforest.forests.declared import fitted
from dpforest.report import Contributions, contributions, plot_effect
from dpforest.report.explained import Explained
from dpforest.report.noise_runs import LeafNoise, noise_values
from dpforest.trees.unfolding import leaf_table, unfold


class ExplainedBoosting(PrivateEstimator):
    """A boosted forest that explains itself; not to be used by itself."""

    forest_: BoostedTrees = fitted()
    bin_shares_: tuple[NDArray[np.float64] | None, ...] = fitted()
    leaf_noise_: LeafNoise = fitted()

    @property
    def released_shares(self) -> tuple[NDArray[np.float64], ...]:
        """The share of the records in each bin of each feature, as far as released numbers say."""
        return tuple(shares for shares in self.bin_shares_ if shares is not None)

    def noise_forest(self) -> BoostedTrees:
        """The same trees, had they learnt from noise alone: an output for each of some runs."""
        trees, noise = self.forest_.trees, self.leaf_noise_
        if not noise.deviations.any():  # without noise there is nothing to compare with
            return BoostedTrees(trees, np.zeros((trees.n_trees, 2, noise.gains.shape[1]), "f4"))
        return BoostedTrees(
            trees, noise_values(trees, noise, self.released_shares, self._gradient_variance())
        )

    def _explained(self) -> Explained:
        trees = self.forest_.trees
        return Explained(
            self.schema_.feature_names,
            unfold(trees),
            leaf_table(trees, self.forest_.values),
            self.released_shares,
            leaf_table(trees, self.noise_forest().values),
        )

    @property
    def score_units(self) -> tuple[float, Values]:
        """What a unit of the score is worth, and where each score is measured from."""
        raise NotImplementedError

    def contributions(self, X: Any) -> Contributions:
        """What each feature contributes to each score; see `dpforest.report.contributions`."""
        return contributions(self, X)

    def plot_effect(self, feature: str, ax: Any = None) -> Any:
        """Draw what one feature does; see `dpforest.report.plot_effect`."""
        return plot_effect(self, feature, ax)

    def _gradient_variance(self) -> float:
        """Of a record's gradient by chance, in one output, relative to its Hessian."""
        raise NotImplementedError
