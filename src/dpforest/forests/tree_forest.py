"""What forests of released trees share: how their leaves are saved, and how they vote."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.export import Described
from dpforest.forests.base import PrivateEstimator
from dpforest.forests.classifier import PrivateClassifier
from dpforest.forests.declared import fitted
from dpforest.forests.files import named, of_group
from dpforest.forests.lazy import also_of_sources
from dpforest.report.explained import Explained, even_shares
from dpforest.report.law import Law
from dpforest.report.leaf_shares import shares_of_leaves
from dpforest.tables.routing import add_leaf_values
from dpforest.trees.structure import Forest
from dpforest.trees.votes import normalise

LeafVoting = Literal["averaging", "majority", "weighted"]
LEAF_VOTING: tuple[LeafVoting, ...] = get_args(LeafVoting)


class TreeForest(PrivateEstimator):
    """Trees whose leaves hold released values; not to be used by itself."""

    forest_: Forest = fitted()
    leaf_values_: Values = fitted()

    def _leaf_table(self) -> Values:
        """What each leaf adds to the answer of all trees, shape (n_leaves, n_outputs)."""
        return self.leaf_values_

    def _leaf_counts(self) -> Values | None:
        """The released number of records in each leaf; None where there is none."""
        return None

    def _explained(self) -> Explained:
        counts, bins = self._leaf_counts(), (self.encoding_.n_bins, self.encoding_.n_values)
        table = self._leaf_table() / self.forest_.n_trees
        known = (
            even_shares(*bins) if counts is None else shares_of_leaves(self.forest_, counts, *bins)
        )
        law = Law.independent(known)
        return Explained(self.schema_.feature_names, self.forest_, table, law, null=None)

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

    def _leaf_table(self) -> Values:
        return self._leaf_votes

    def _described(self) -> Described:
        voting = getattr(self, "voting", "averaging")
        if voting in ("most_confident", "probabilistic"):
            raise ValueError(
                f"voting={voting!r} cannot be exported: let the leaves vote by another rule first, "
                "revote('averaging')"
            )
        return Described(
            self.encoding_, self.forest_, self._leaf_votes, "shares", self.schema_.classes
        )

    def _leaf_counts(self) -> Values | None:
        return self.leaf_values_.sum(axis=1) if getattr(self, "leaves", "") == "counts" else None

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
