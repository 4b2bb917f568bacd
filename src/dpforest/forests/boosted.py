"""The flagship: boosted random forests, for classification and regression.

Random structure costs nothing, so the whole budget goes into leaf values; fitting these to what
the forest so far gets wrong uses each unit of it far better than class counts do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin, RegressorMixin

from dpforest.forests.base import Neighbors, PrivateEstimator, Streams
from dpforest.forests.binning import PrivateBins, choose_bins, cut_weights, needs_bins
from dpforest.forests.boosting import BoostedTrees, boost, target_moments
from dpforest.forests.links import clipped_logistic, plain_softmax
from dpforest.forests.parameters import (
    check_count,
    check_count_or_auto,
    check_positive_or_auto,
)
from dpforest.forests.plan import (
    COUNT_SHARE,
    TARGET_SHARE,
    Asked,
    BoostingPlan,
    Purse,
    bin_share,
    bin_sizes,
    make_loss,
    plan_boosting,
)
from dpforest.privacy.curator import Curator
from dpforest.records.encode import Encoding
from dpforest.records.losses import LossKind
from dpforest.records.routing import add_tree_values
from dpforest.schema import Schema
from dpforest.trees.oblivious import MAX_DEPTH, ObliviousTrees
from dpforest.trees.oblivious_grower import ObliviousGrower

TARGET_CELLS = 64
WIDTHS = 1.0  # residuals are clipped at so many standard deviations of the target

Auto = Literal["auto"]
Values = NDArray[np.float64]


class BoostedForest(PrivateEstimator):
    """What the classifier and the regressor share; not to be used by itself."""

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        schema: Schema | dict[str, Any] | None = None,
        n_estimators: int | Auto = "auto",
        max_depth: int | Auto = "auto",
        learning_rate: float | Auto = "auto",
        trees_per_round: int | Auto = "auto",
        n_hint: int | None = None,
        warm_start: bool = False,
        neighbors: Neighbors = "add_remove",
        max_records_per_group: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.trees_per_round = trees_per_round
        self.n_hint = n_hint
        self.warm_start = warm_start
        self.neighbors = neighbors
        self.max_records_per_group = max_records_per_group
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Count the records, choose bins, and release the trees.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n, n_features)
            The features; frames match the schema by name.
        y : array-like of shape (n,)
            The target.
        groups : array-like of shape (n,), optional
            The person of each record; then persons are protected, not records.

        Returns
        -------
        self
        """
        self._check_parameters(groups)
        streams = Streams.of(self.random_state)
        before = self.forest_ if self.warm_start and hasattr(self, "forest_") else None
        curator = self._open(X, y, groups, streams, continued=before is not None)
        with self._spending():
            if before is None:
                share = self._prepare(curator)
            else:
                share = Fraction(1)
                curator.encode(self.encoding_, by_feature=True)
            self._boost(curator, streams.structure, share, before)
        if self.verbose:
            print(self.ledger_.explain())
        return self

    def _prepare(self, curator: Curator) -> Fraction:
        """Pay for a count, for bins and for a look at the target; returns the share left."""
        purse = Purse(float(self.epsilon), float(self.delta))
        left = Fraction(1)
        self.n_records_ = float(self.n_hint or 0)
        if not self.n_records_:
            left -= 0 if curator.count_is_public else COUNT_SHARE
            self.n_records_ = max(curator.count(purse.price(COUNT_SHARE)), 10.0)
        facts = purse, self.n_records_, self.n_features_in_
        share = bin_share(*facts)
        if needs_bins(self.schema_):
            left -= share
        bins = choose_bins(
            curator, self.schema_, self.n_records_, purse.price(share, among=2), bin_sizes(*facts)
        )
        self._keep_bins(bins)
        curator.encode(self.encoding_, by_feature=True)
        return left - self._look_at_target(curator, purse)

    def _boost(
        self,
        curator: Curator,
        rng: np.random.Generator,
        share: Fraction,
        before: BoostedTrees | None,
    ) -> None:
        """Spend the share on trees."""
        purse = Purse(float(self.epsilon), float(self.delta))
        facts = self._loss_facts()
        loss = make_loss(purse=purse, price=purse.price(share), steps=1, **facts)
        asked = Asked(
            n_trees=_unless_auto(self.n_estimators),
            trees_per_round=_unless_auto(self.trees_per_round),
            depth=_unless_auto(self.max_depth),
            learning_rate=_unless_auto(self.learning_rate),
        )
        plan = plan_boosting(
            purse,
            share,
            loss,
            self.n_records_,
            self.n_features_in_,
            not self.encoding_.feature_bins.categorical.all(),
            asked,
        )
        price = purse.price(share, among=plan.n_trees)
        steps = self.ledger_.protection.steps
        loss = make_loss(purse=purse, price=price, steps=steps, **facts)
        grower = ObliviousGrower(
            self.encoding_.feature_bins,
            cut_weights(self.bin_weights_),
            rng,
            learnt=plan.learnt,
            focus=plan.focus,
        )
        self.plan_ = plan
        self._clipped = purse.private
        self.forest_ = boost(curator, grower, loss, plan, price, before)
        total = grower.signal.sum()
        self.feature_importances_ = grower.signal / total if total > 0 else grower.signal

    def _look_at_target(self, curator: Curator, purse: Purse) -> Fraction:
        """What the regressor pays to learn of its target; returns the share spent."""
        return Fraction(0)

    def _loss_facts(self) -> dict[str, Any]:
        raise NotImplementedError

    def _keep_bins(self, bins: PrivateBins) -> None:
        self.encoding_: Encoding = bins.encoding
        self.bin_weights_ = bins.weights

    def _check_parameters(self, groups: Any) -> None:
        self._check_shared_parameters(groups)
        check_count_or_auto("n_estimators", self.n_estimators)
        check_count_or_auto("trees_per_round", self.trees_per_round)
        check_count_or_auto("max_depth", self.max_depth)
        if self.max_depth != "auto" and self.max_depth > MAX_DEPTH:
            raise ValueError(f"max_depth must be at most {MAX_DEPTH}, got {self.max_depth!r}")
        check_positive_or_auto("learning_rate", self.learning_rate)
        if self.n_hint is not None:
            check_count("n_hint", self.n_hint)

    def _scores(self, X: Any) -> NDArray[np.float32]:
        """The scores of some records, shape (n_outputs, n)."""
        bins = self._bins(X, order="F")
        scores = np.zeros((self.forest_.values.shape[1], len(bins)), np.float32)
        add_tree_values(self.forest_.trees, bins, self.forest_.values, scores, self.n_jobs)
        return scores

    def _staged_scores(self, X: Any) -> Iterator[NDArray[np.float32]]:
        bins = self._bins(X, order="F")
        scores = np.zeros((self.forest_.values.shape[1], len(bins)), np.float32)
        size = self.plan_.trees_per_round
        for start in range(0, self.forest_.trees.n_trees, size):
            part = self.forest_[start : start + size]
            add_tree_values(part.trees, bins, part.values, scores, self.n_jobs)
            yield scores.copy()

    def from_scores(self, scores: NDArray[np.floating[Any]]) -> Values:
        """Turn scores, shape (n_outputs, n), into probabilities or targets."""
        raise NotImplementedError

    def plot_importance(self, ax: Any = None) -> Any:
        """Draw the importance of every feature; see `dpforest.report.plot_importance`."""
        from dpforest.report import plot_importance

        return plot_importance(self, ax)

    def plot_effect(self, feature: str, ax: Any = None) -> Any:
        """Draw what one feature does; see `dpforest.report.plot_effect`."""
        from dpforest.report import plot_effect

        return plot_effect(self, feature, ax)

    def _facts(self) -> dict[str, Any]:
        return {
            **super()._facts(),
            "n_records": self.n_records_,
            "plan": asdict(self.plan_),
            "clipped": self._clipped,
            "bin_weights": [None if w is None else w.tolist() for w in self.bin_weights_],
        }

    def _arrays(self) -> dict[str, NDArray[Any]]:
        structure = {f"trees.{name}": a for name, a in self.forest_.trees.to_arrays().items()}
        return {
            **structure,
            "values": self.forest_.values,
            "feature_importances": self.feature_importances_,
        }

    def _restore(self, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(facts, arrays)
        self.n_records_ = float(facts["n_records"])
        self.plan_ = BoostingPlan(**facts["plan"])
        self._clipped = bool(facts["clipped"])
        weights = tuple(None if w is None else np.array(w) for w in facts["bin_weights"])
        self._keep_bins(PrivateBins(self.encoding_, weights))
        prefix = "trees."
        trees = ObliviousTrees.from_arrays(
            {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
        )
        self.forest_ = BoostedTrees(trees, arrays["values"].astype(np.float32))
        self.feature_importances_ = arrays["feature_importances"]
        self.forest_.refuse_misfits(self.n_features_in_)


class PrivateForestClassifier(ClassifierMixin, BoostedForest):
    """The private forest to take when you just want the best one: classification.

    Boosted random oblivious trees on privately chosen bins. Two or more classes, mixed features,
    missing values.

    Parameters
    ----------
    epsilon : float, default=1.0
        The privacy budget. ``math.inf`` gives the non-private model.
    delta : float, default=1e-6
        0 asks for pure epsilon, by Laplace noise; else Gaussian noise.
    schema : Schema or dict, optional
        What is public of the table. Without it, bounds, categories and classes are read from
        the data: a `PrivacyLeakWarning`, and no guarantee.
    n_estimators, max_depth, learning_rate, trees_per_round : number or "auto", default="auto"
        The shape of the forest: its trees, the levels of a tree, the step of a round and the trees
        that a round averages. ``"auto"`` follows `dpforest.forests.plan`: public facts and a noisy
        number of records.
    n_hint : int, optional
        A public guess of the number of records; saves the fiftieth of the budget that a noisy
        count costs.
    warm_start : bool, default=False
        Let a second ``fit`` go on from the first, with a budget of its own on top. The ledger
        holds both.
    neighbors : {"add_remove", "replace_one"}, default="add_remove"
        Which tables are neighbours.
    max_records_per_group : int, optional
        With ``fit(X, y, groups=...)``: protect persons, each with at most this many records.
    random_state : int, RandomState or None, default=None
        Makes structure and noise reproducible, for tests and papers; such noise is not secret.
    n_jobs : int, optional
        Threads; all cores by default.
    verbose : bool, default=False
        Print the ledger after the fit.

    Attributes
    ----------
    classes_ : ndarray
        The classes, in the order of the schema.
    ledger_ : Ledger
        What was spent, and the guarantee.
    forest_ : BoostedTrees
        The released trees.
    feature_importances_ : ndarray of float64
        The share of each feature in the signal that the released sums showed; free.
    plan_ : BoostingPlan
        The shape that was chosen.
    n_records_ : float
        The noisy number of records, or the hint.
    bin_weights_ : tuple
        The released share of the records in each bin of each numeric feature.
    schema_, encoding_, n_features_in_, feature_names_in_
        The schema in use, its bins, and scikit-learn's facts of the input.

    Examples
    --------
    >>> from dpforest import PrivateForestClassifier, datasets
    >>> census = datasets.make_census(5_000, random_state=0)
    >>> forest = PrivateForestClassifier(epsilon=1.0, schema=census.schema, random_state=0)
    >>> forest.fit(census.X, census.y).score(census.X, census.y) > 0.78
    True
    >>> round(forest.ledger_.epsilon, 6)
    1.0
    """

    def decision_function(self, X: Any) -> Values:
        """The score of the second class, shape (n,), or of every class, shape (n, n_classes)."""
        scores = self._scores(X).astype(np.float64)
        return scores[0] if len(self.classes_) == 2 else scores.T

    def predict_proba(self, X: Any) -> Values:
        """The probability of each class, shape (n, n_classes)."""
        return self.from_scores(self._scores(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each record."""
        return self._labels(self._scores(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the prediction after each round: a learning curve, for free."""
        for scores in self._staged_scores(X):
            yield self._labels(scores)

    def staged_predict_proba(self, X: Any) -> Iterator[Values]:
        """Yield the probabilities after each round."""
        for scores in self._staged_scores(X):
            yield self.from_scores(scores)

    def _labels(self, scores: NDArray[np.float32]) -> NDArray[Any]:
        codes = (scores[0] > 0).astype(np.int64) if len(scores) == 1 else scores.argmax(axis=0)
        return np.asarray(self.classes_[codes])

    def from_scores(self, scores: NDArray[np.floating[Any]]) -> Values:
        """Turn scores, shape (n_outputs, n), into the probability of each class."""
        if len(scores) > 1:
            return plain_softmax(scores.T.astype(np.float64))
        link = clipped_logistic if self._clipped else expit
        second = link(scores[0].astype(np.float64))
        return np.column_stack([1.0 - second, second])

    def _loss_facts(self) -> dict[str, Any]:
        self.classes_ = np.array(self.schema_.classes)
        kind: LossKind = "logistic" if len(self.classes_) == 2 else "softmax"
        return {"kind": kind, "n_classes": len(self.classes_)}

    def _restore(self, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(facts, arrays)
        self.classes_ = np.array(self.schema_.classes)


class PrivateForestRegressor(RegressorMixin, BoostedForest):
    """The private forest to take when you just want the best one: regression.

    Boosted random oblivious trees on privately chosen bins, with squared loss, for a target with
    declared bounds. A noisy histogram of the target says where its mass lies; residuals beyond
    one standard deviation are clipped.

    Parameters
    ----------
    epsilon, delta, schema, n_estimators, max_depth, learning_rate, trees_per_round, n_hint, \
    warm_start, neighbors, max_records_per_group, random_state, n_jobs, verbose
        As in `PrivateForestClassifier`; the schema's target declares bounds.

    Attributes
    ----------
    target_center_, target_width_ : float
        Where scores are measured from, and in which units; released.
    ledger_, forest_, feature_importances_, plan_, n_records_, bin_weights_, schema_, encoding_, \
    n_features_in_, feature_names_in_
        As in `PrivateForestClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import NumericFeature, PrivateForestRegressor, Schema, Target
    >>> X = np.random.default_rng(0).random((5_000, 3))
    >>> schema = Schema(
    ...     tuple(NumericFeature(f"x{j}", 0, 1) for j in range(3)), Target(low=0, high=2)
    ... )
    >>> forest = PrivateForestRegressor(schema=schema, random_state=0)
    >>> forest.fit(X, X[:, 0] + X[:, 1]).score(X, X[:, 0] + X[:, 1]) > 0.7
    True
    """

    def predict(self, X: Any) -> Values:
        """The predicted target of each record, within the declared bounds."""
        return self.from_scores(self._scores(X))

    def staged_predict(self, X: Any) -> Iterator[Values]:
        """Yield the prediction after each round: a learning curve, for free."""
        for scores in self._staged_scores(X):
            yield self.from_scores(scores)

    def from_scores(self, scores: NDArray[np.floating[Any]]) -> Values:
        """Turn scores, shape (1, n), into targets within the declared bounds."""
        targets = self.target_center_ + self.target_width_ * scores[0].astype(np.float64)
        return np.asarray(np.clip(targets, *self.schema_.target_bounds))

    def _look_at_target(self, curator: Curator, purse: Purse) -> Fraction:
        low, high = self.schema_.target_bounds
        counts = curator.target_counts(low, high, TARGET_CELLS, purse.price(TARGET_SHARE))
        mean, deviation = target_moments(counts, self.n_records_, low, high)
        self.target_center_ = mean
        self.target_width_ = min(high - low, WIDTHS * deviation) if purse.private else high - low
        return TARGET_SHARE

    def _loss_facts(self) -> dict[str, Any]:
        place = {"center": self.target_center_, "width": self.target_width_}
        return {"kind": "squared", "n_classes": 1, **place}

    def _facts(self) -> dict[str, Any]:
        place = {"target_center": self.target_center_, "target_width": self.target_width_}
        return {**super()._facts(), **place}

    def _restore(self, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(facts, arrays)
        self.target_center_ = float(facts["target_center"])
        self.target_width_ = float(facts["target_width"])


def _unless_auto(value: Any) -> Any:
    return None if value == "auto" else value
