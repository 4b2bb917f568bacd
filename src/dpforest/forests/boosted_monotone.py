"""Monotone constraints of the flagship: by the names of numeric features."""

from __future__ import annotations

import numpy as np

from dpforest.forests import parameters as checks
from dpforest.forests.boosted_explaining import ExplainedBoosting
from dpforest.forests.boosting import BoostedTrees
from dpforest.forests.declared import parameter
from dpforest.schema import NumericFeature
from dpforest.trees.monotone import Monotone

NEARLY = 1e-3  # of the largest value of a leaf: rounding moves values by less


class MonotoneBoosting(ExplainedBoosting):
    """A boosted forest that may have to follow some features; not to be used by itself."""

    monotone_constraints: dict[str, int] | None = parameter(default=None, check=checks.signs)

    def _check_monotone(self) -> None:
        """ValueError unless constraints are on numeric features and there is one score."""
        asked = self.monotone_constraints or {}
        numeric = [f.name for f in self.schema_.features if isinstance(f, NumericFeature)]
        odd = [name for name in asked if name not in numeric]
        if odd:
            raise ValueError(
                f"monotone_constraints: {odd} are no numeric features of the schema; numeric are "
                f"{numeric}"
            )
        if any(asked.values()) and self._loss_outputs() > 1:
            raise ValueError(
                "monotone_constraints need two classes or a numeric target: with more classes, a "
                "score that rises says nothing of its probability"
            )

    def _refuse_what_was_free(self, before: BoostedTrees) -> None:
        """ValueError where a model to be continued does not keep to the constraints."""
        far = NEARLY * float(np.abs(before.values).max(initial=0.0))
        if not np.allclose(self._held(before).values, before.values, rtol=0.0, atol=far):
            raise ValueError(
                "the model so far was fitted without these monotone_constraints, and more trees "
                "cannot mend what it says: continue it with the constraints that it has, or fit a "
                "new one with warm_start=False"
            )

    def _held(self, forest: BoostedTrees) -> BoostedTrees:
        """A whole forest, held to monotone constraints: post-processing."""
        return BoostedTrees(forest.trees, self._monotone().settle(forest.trees, forest.values))

    def _loss_outputs(self) -> int:
        return 1

    def _monotone(self) -> Monotone:
        asked = self.monotone_constraints or {}
        signs = np.array([asked.get(name, 0) for name in self.schema_.feature_names])
        return Monotone(signs, self.encoding_.n_values, self.encoding_.n_bins)
