"""Median forests: cuts near the median keep leaves full, so that their noise stays small.

DiPriMe (Consul and Williamson 2020) and DPRF_thesis, repaired; ``docs/privacy/median.md`` says what
was wrong with them and why the repairs hold.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from sklearn.base import RegressorMixin

from dpforest.arrays import Values
from dpforest.export import Described
from dpforest.forests.class_weights import WeighingLeaves
from dpforest.forests.declared import one_of, parameter
from dpforest.forests.expectations import Worth
from dpforest.forests.lazy import also_of_sources
from dpforest.forests.median_base import MedianForest, between_0_and_1
from dpforest.forests.tree_forest import LEAF_VOTING, LeafVoting, VotingForest
from dpforest.privacy.accounts.tree_sampling import TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.leaves import LeafQuestion, leaf_counts, leaf_labels, leaf_target_sums
from dpforest.privacy.median_splits import middle_of_target
from dpforest.tables.routing import add_leaf_values
from dpforest.trees.pruning import lean_on_parents
from dpforest.trees.votes import leaf_votes

MIDDLE_SHARE = Fraction(5, 100)  # of epsilon, for the quartiles of the target
LEAST_SIGNAL_OF_MEANS = 150.0  # see `dpforest.forests.expectations`


class MedianForestClassifier(WeighingLeaves, VotingForest, MedianForest):
    """Differentially private median forest: classification.

    Each node chooses a feature and a cut that divides its records about evenly and tells the
    classes apart, by private choices; each leaf releases noisy class counts or its label. Trees
    grow level by level, all of them at once. Pure epsilon; two or more classes, mixed features,
    missing values.

    Parameters
    ----------
    epsilon, schema, n_hint, neighbors, max_records_per_group, random_state, n_jobs, verbose, budget
        As in `PrivateEstimator`.
    n_estimators : int or "auto", default="auto"
        Trees. ``"auto"`` follows `dpforest.trees.balance.median_trees`.
    max_depth : int or "auto", default="auto"
        Levels of splits. ``"auto"`` follows `dpforest.trees.balance.median_depth`.
    n_candidates : int, default=10
        Features that a node chooses from (K), drawn at random.
    rho : float, default=0.6
        The part of epsilon for splits, the same for every level; leaves have the rest.
    splits : {"median", "random"}, default="median"
        ``"random"`` draws features and cuts blindly and spends all on leaves (DP-ERT).
    choice : {"attribute", "joint", "pay"}, default="attribute"
        How a node chooses: the feature first, then its median; feature and cut in one draw; or a
        median for each of K features, each paid for, then a feature.
    sampling : {"disjoint", "shared"}, default="disjoint"
        Each record is dealt to one tree at random and each tree has all of epsilon, or all trees
        see all records and share epsilon.
    cuts : {"range", "grid"}, default="range"
        Cut the public range anywhere (at the borders of `max_bins` bins, by their lengths), or at
        ten even places of what is left of it in a node, as the thesis does.
    categories : {"subset", "one_vs_rest"}, default="subset"
        Cut a random order of the categories, or split one category off the rest.
    leaves : {"counts", "label"}, default="counts"
        Release noisy class counts (discrete Laplace) or only the label (permute-and-flip).
    voting : {"averaging", "majority", "weighted"}, default="averaging"
        As in `RandomDecisionForestClassifier`.
    class_weight : dict, "balanced" or None, default=None
        As in `RandomDecisionForestClassifier`.
    max_bins : int, default=255
        Bins of a numeric feature without declared cuts.

    Attributes
    ----------
    leaf_values_ : ndarray of float64, shape (n_leaves, n_classes)
        What was released: noisy class counts, or 1 for the label.
    forest_, class_weights_
        As in `RandomDecisionForestClassifier`.
    classes_, ledger_, schema_, encoding_, n_features_in_, feature_names_in_
        As in `PrivateEstimator`.

    Examples
    --------
    >>> from dpforest import MedianForestClassifier, datasets
    >>> census = datasets.make_census(5_000, random_state=0)
    >>> forest = MedianForestClassifier(epsilon=1.0, schema=census.schema, random_state=0)
    >>> forest.fit(census.X, census.y).score(census.X, census.y) > 0.7
    True
    >>> forest.ledger_.epsilon
    1.0
    """

    rho: float = parameter(default=0.6, check=between_0_and_1)
    leaves: Literal["counts", "label"] = one_of("counts", "label", default="counts")
    voting: LeafVoting = one_of(*LEAF_VOTING, default="averaging")

    def _train(self, desk: Desk, rng: np.random.Generator) -> None:
        self._weigh_classes(desk, self._price_of_count())
        super()._train(desk, rng)

    def _target(self) -> int:
        return len(self.classes_)

    def _release(self, desk: Desk, rng: np.random.Generator) -> None:
        n_classes = self._target()
        sampling = TreeSampling(self.sampling, self.forest_.n_trees)
        epsilon = desk.ledger.unspent_epsilon
        release = leaf_counts if self.leaves == "counts" else leaf_labels
        question = LeafQuestion.alike(self.forest_, n_classes, epsilon, sampling)
        self.leaf_values_ = release(desk, question).values
        counts = self.leaf_values_ * self.class_weights_
        self._leaf_votes = leaf_votes(counts, self.voting, rng)


class MedianForestRegressor(RegressorMixin, MedianForest):
    """Differentially private median forest: regression, for a target with declared bounds.

    As `MedianForestClassifier`, with splits chosen by squared error and noisy means in the leaves
    (``leaves="mean"`` of the papers). A twentieth of epsilon finds the middle half of the targets,
    which splits look at; means of leaves lean on those of the nodes above, the more, the more
    noise they have.

    Parameters
    ----------
    epsilon, schema, n_estimators, max_depth, n_hint, n_candidates, rho, splits, choice, sampling, \
    cuts, categories, max_bins, neighbors, max_records_per_group, random_state, n_jobs, \
    verbose, budget
        As in `MedianForestClassifier`; the schema's target declares bounds, and `rho` is 0.5 by
        default, as noise in means tells more than noise in votes.

    Attributes
    ----------
    leaf_values_ : ndarray of float64, shape (n_leaves, 1)
        The released means, from 0 (the lower bound) to 1 (the upper one).
    ledger_, forest_, schema_, encoding_, n_features_in_, feature_names_in_
        As in `MedianForestClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import MedianForestRegressor, NumericFeature, Schema, Target
    >>> X = np.random.default_rng(0).random((5_000, 3))
    >>> schema = Schema(
    ...     tuple(NumericFeature(f"x{j}", 0, 1) for j in range(3)), Target(low=0, high=2)
    ... )
    >>> forest = MedianForestRegressor(schema=schema, random_state=0)
    >>> forest.fit(X, X[:, 0] + X[:, 1]).score(X, X[:, 0] + X[:, 1]) > 0.5
    True
    """

    def _worth(self) -> Worth:
        return super()._worth()._replace(least=LEAST_SIGNAL_OF_MEANS)

    @also_of_sources
    def predict(self, X: Any) -> Values:
        """The predicted target of each record: the mean over the trees."""
        bins = self._bins(X)
        low, high = self.schema_.target_bounds
        total = add_leaf_values(self.forest_, bins, self.leaf_values_, self.n_jobs)[:, 0]
        return np.asarray(low + (high - low) * total / self.forest_.n_trees)

    def _described(self) -> Described:
        low, high = self.schema_.target_bounds
        unit, bounds = (high - low) / self.forest_.n_trees, (low, high)
        forest, values = self.forest_, self.leaf_values_
        return Described(self.encoding_, forest, values, "number", None, low, unit, bounds)

    def _target(self) -> tuple[float, float]:
        return self.schema_.target_bounds

    def _target_of_splits(self, desk: Desk) -> tuple[float, float]:
        """Splits look at the middle half of the targets: their error has less to hide there."""
        if math.isinf(self.epsilon):
            return self._target()
        epsilon = Fraction(desk.ledger.unspent_epsilon) * MIDDLE_SHARE
        return middle_of_target(desk, self._target(), epsilon)

    def _release(self, desk: Desk, rng: np.random.Generator) -> None:
        epsilon = desk.ledger.unspent_epsilon
        sampling = TreeSampling(self.sampling, self.forest_.n_trees)
        sums = leaf_target_sums(desk, self.forest_, self._target(), epsilon, sampling)
        variance = float(sums.deviations[0]) ** 2
        self.leaf_values_ = lean_on_parents(self.forest_, sums.values, variance)[:, 1:]
