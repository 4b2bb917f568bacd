"""Random decision forests: the structure is drawn blindly, only the leaves read the data."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpforest.arrays import Values
from dpforest.forests import parameters as checks
from dpforest.forests.class_weights import WeighingLeaves
from dpforest.forests.declared import fitted, one_of, parameter
from dpforest.forests.lazy import also_of_sources
from dpforest.forests.parameters import Auto, check_choice
from dpforest.forests.tree_forest import VotingForest
from dpforest.privacy.accounts.tree_sampling import TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.leaves import LeafQuestion, leaf_counts, leaf_labels
from dpforest.tables.encode import Encoding
from dpforest.tables.routing import strongest_leaf
from dpforest.trees.growers import (
    MAX_LEAVES,
    grow_binary,
    grow_multiway,
    most_trees,
    refuse_deep_trees,
)
from dpforest.trees.pruning import largest_share, most_confident_nodes, prune
from dpforest.trees.rules import random_depth, random_trees
from dpforest.trees.votes import VOTING, Voting, coins_of_rows, draw_classes, leaf_votes


class RandomDecisionForestClassifier(WeighingLeaves, VotingForest):
    """Differentially private random decision forest.

    Trees are drawn without looking at the data, which is free; the whole budget goes into
    the leaves. Jagannathan et al. (2009), Bojarski et al. (2014), Fletcher and Islam (2015, 2017).

    Parameters
    ----------
    epsilon, schema, n_hint, neighbors, max_records_per_group, random_state, n_jobs, verbose, budget
        As in `PrivateEstimator`.
    n_estimators : int or "auto", default="auto"
        Trees. ``"auto"`` follows `dpforest.trees.rules.random_trees`.
    max_depth : int or "auto", default="auto"
        Height of the trees. ``"auto"`` follows `dpforest.trees.rules.random_depth`.
    splits : {"binary", "multiway"}, default="binary"
        Two children a node, or one for each bin of a feature not yet used on the way.
    sampling : {"shared", "disjoint"}, default="shared"
        All trees see all records and share epsilon, or each record is dealt to one tree at random
        and each tree has all of epsilon.
    leaves : {"counts", "label"}, default="counts"
        Release noisy class counts (discrete Laplace) or only the label (permute-and-flip).
    voting : str, default="averaging"
        ``"majority"``, ``"averaging"`` (threshold averaging), ``"probabilistic"`` (a random draw),
        ``"weighted"`` (summed counts) or ``"most_confident"`` (the most confident node).
    pruning : {None, "snr"}, default=None
        Let a node speak for leaves whose counts drown in their noise.
    class_weight : dict, "balanced" or None, default=None
        The weight of each class, 1 for those that are not in the dictionary. ``"balanced"`` makes
        all classes count alike, by class counts for which a fiftieth of the budget pays. Needs
        ``leaves="counts"``.
    max_bins : int, default=255
        Bins of a numeric feature without declared cuts.

    Attributes
    ----------
    forest_ : Forest
        The structure.
    leaf_values_ : ndarray of float64, shape (n_leaves, n_classes)
        What was released.
    class_weights_ : ndarray of float64, shape (n_classes,)
        The weights of the classes.
    classes_, ledger_, schema_, encoding_, n_features_in_, feature_names_in_
        As in `PrivateEstimator`.

    Examples
    --------
    >>> from dpforest import RandomDecisionForestClassifier, datasets
    >>> census = datasets.make_census(5_000, random_state=0)
    >>> forest = RandomDecisionForestClassifier(epsilon=1.0, schema=census.schema, random_state=0)
    >>> forest.fit(census.X, census.y).score(census.X, census.y) > 0.7
    True
    >>> forest.ledger_.epsilon
    1.0
    """

    n_estimators: int | Auto = parameter(default="auto", check=checks.count_or_auto())
    max_depth: int | Auto = parameter(default="auto", check=checks.count_or_auto())
    splits: Literal["binary", "multiway"] = one_of("binary", "multiway", default="binary")
    sampling: Literal["shared", "disjoint"] = one_of("shared", "disjoint", default="shared")
    leaves: Literal["counts", "label"] = one_of("counts", "label", default="counts")
    voting: Voting = one_of(*VOTING, default="averaging")
    pruning: Literal["snr"] | None = one_of(None, "snr", default=None)
    max_bins: int = parameter(default=255, check=checks.count(low=2))

    _confidence: Values = fitted()

    def _train(self, desk: Desk, rng: np.random.Generator) -> None:
        """Grow the forest blindly and release its leaves."""
        self.encoding_ = Encoding.from_schema(self.schema_, max_bins=self.max_bins)
        desk.encode(self.encoding_)
        self._weigh_classes(desk, self._price_of_count())
        n_trees, depth = self._plan(desk)
        grow = grow_multiway if self.splits == "multiway" else grow_binary
        self.forest_ = grow(self.encoding_.feature_bins, n_trees, depth, rng)
        self.leaf_values_ = self._release(desk)
        self._prepare_votes(rng)

    def revote(self, voting: Voting, *, pruning: Literal["snr"] | None = None) -> Self:
        """Let the leaves vote by another rule, without another look at the data.

        Post-processing of what was released, so it costs nothing and the ledger stays as it is.
        Leaves that saw nothing draw their shares anew.

        Parameters
        ----------
        voting, pruning
            As in the constructor.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self._check_voting(voting, pruning)
        self.voting, self.pruning = voting, pruning
        structure, _ = self._seeds(skip=0)
        self._prepare_votes(np.random.default_rng(structure).spawn(1)[0])
        return self

    @also_of_sources
    def predict_proba(self, X: Any) -> Values:
        """The votes for each class, as probabilities, shape (n, n_classes)."""
        if self.voting != "most_confident":
            return super().predict_proba(X)
        leaf = strongest_leaf(self.forest_, self._bins(X), self._confidence, self.n_jobs)
        return self._leaf_votes[leaf]

    @also_of_sources
    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the most votes, or a random draw when voting is probabilistic.

        The draw for a record follows from its bins and the seed, not from its place in the table.
        """
        if self.voting != "probabilistic":
            return super().predict(X)
        structure, _ = self._seeds(skip=0)
        coins = coins_of_rows(self._bins(X), int(np.random.default_rng(structure).integers(2**63)))
        return np.asarray(self.classes_[draw_classes(self.predict_proba(X), coins)])

    def _check(self, groups: Any) -> None:
        super()._check(groups)
        if self.splits == "binary" and self.max_depth != "auto":
            refuse_deep_trees(self.n_estimators, self.max_depth)
        self._check_voting(self.voting, self.pruning)

    def _check_voting(self, voting: str, pruning: str | None) -> None:
        check_choice("voting", voting, VOTING)
        check_choice("pruning", pruning, (None, "snr"))
        if self.leaves == "label" and (pruning or voting == "most_confident"):
            raise ValueError(
                "leaves='label' releases no counts, which pruning and voting='most_confident' "
                "need: use leaves='counts'"
            )

    def _plan(self, desk: Desk) -> tuple[int, int]:
        """The number of trees and their depth; ``"auto"`` may pay for a noisy count."""
        epsilon = self._epsilon_of_a_record
        n_trees, depth = self.n_estimators, self.max_depth
        if "auto" not in (n_trees, depth):
            return int(n_trees), int(depth)
        n_records = self._number_of_records(desk)
        if n_trees == "auto":
            room = MAX_LEAVES if self.splits == "multiway" else most_trees(depth)
            n_trees = int(min(random_trees(n_records, epsilon), room))
        if depth == "auto":
            depth = random_depth(self.n_features_in_, n_records, epsilon / n_trees)
        return int(n_trees), int(depth)

    def _release(self, desk: Desk) -> Values:
        """Release the leaves with all that is left of epsilon."""
        n_classes = len(self.classes_)
        sampling = TreeSampling(self.sampling, self.forest_.n_trees)
        epsilon = desk.ledger.unspent_epsilon
        question = LeafQuestion.alike(self.forest_, n_classes, epsilon, sampling)
        release = leaf_counts if self.leaves == "counts" else leaf_labels
        return release(desk, question).values

    def _prepare_votes(self, rng: np.random.Generator) -> None:
        """Turn released counts into what leaves say: post-processing, with a public stream."""
        shared = self.sampling == "shared"
        epsilon_per_tree = self._epsilon_of_a_record / (self.forest_.n_trees if shared else 1)
        counts = self.leaf_values_
        self._confidence = np.zeros(len(counts))
        if self.voting == "most_confident":
            counts = most_confident_nodes(self.forest_, counts, epsilon_per_tree)
            self._confidence = largest_share(counts)
        elif self.pruning == "snr":
            counts = prune(self.forest_, counts, epsilon_per_tree)
        self._leaf_votes = leaf_votes(counts * self.class_weights_, self.voting, rng)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {**super()._arrays(), "confidence": self._confidence}

    def _restore(self, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(facts, arrays)
        self._confidence = arrays["confidence"]
