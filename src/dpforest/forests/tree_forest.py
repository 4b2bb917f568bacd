"""What forests of released trees share: how their leaves are saved, and how they vote."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.forests.base import PrivateEstimator
from dpforest.forests.classifier import PrivateClassifier
from dpforest.forests.declared import fitted
from dpforest.forests.files import named, of_group
from dpforest.forests.lazy import also_of_sources
from dpforest.tables.routing import add_leaf_values
from dpforest.trees.structure import Forest
from dpforest.trees.votes import normalise

LeafVoting = Literal["averaging", "majority", "weighted"]
LEAF_VOTING: tuple[LeafVoting, ...] = get_args(LeafVoting)


class TreeForest(PrivateEstimator):
    """Trees whose leaves hold released values; not to be used by itself."""

    forest_: Forest = fitted()
    leaf_values_: Values = fitted()

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {**named("forest", self.forest_.to_arrays()), "leaf_values": self.leaf_values_}

    def _restore(self, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(facts, arrays)
        self.forest_ = Forest.from_arrays(of_group("forest", arrays))
        self.leaf_values_ = arrays["leaf_values"]
        self.forest_.refuse_other_features(self.encoding_.n_bins)
        if len(self.leaf_values_) != self.forest_.n_leaves:
            raise ValueError("the leaves do not fit the forest")


class VotingForest(PrivateClassifier, TreeForest):
    """Trees whose leaves vote for classes; not to be used by itself."""

    _leaf_votes: Values = fitted()

    @also_of_sources
    def predict_proba(self, X: Any) -> Values:
        """The votes for each class, as probabilities, shape (n, n_classes)."""
        bins = self._bins(X)
        return normalise(add_leaf_values(self.forest_, bins, self._leaf_votes, self.n_jobs))

    @also_of_sources
    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the most votes."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {**super()._arrays(), "leaf_votes": self._leaf_votes}

    def _restore(self, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(facts, arrays)
        self._leaf_votes = arrays["leaf_votes"].astype(np.float64, casting="safe")
        expected = (self.forest_.n_leaves, len(self.classes_))
        if not self.leaf_values_.shape == self._leaf_votes.shape == expected:
            raise ValueError("the votes do not fit the forest")
        if not np.isfinite(self._leaf_votes).all():
            raise ValueError("the votes are not numbers")
