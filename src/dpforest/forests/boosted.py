"""The flagship: boosted random forests, for classification and regression.

Random structure costs nothing, so the whole budget goes into leaf values; fitting these to what
the forest so far gets wrong uses each unit of it far better than class counts do.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.export import Described
from dpforest.export.described import Link
from dpforest.forests import parameters as checks
from dpforest.forests.boosted_numbers import BoostedRegressor
from dpforest.forests.boosted_tree import TreedBoosting
from dpforest.forests.class_weights import score_shift, weigh
from dpforest.forests.declared import one_of, parameter
from dpforest.forests.lazy import also_of_sources
from dpforest.forests.purse import Purse
from dpforest.losses import Logistic, Loss, Softmax
from dpforest.privacy.desk import Desk
from dpforest.report.noise_runs import Chance

CLASS_SHARE = Fraction(2, 100)  # of the budget, for the class counts of balanced weights


class PrivateForestClassifier(TreedBoosting):
    """The private forest to take when you just want the best one: classification.

    Boosted random oblivious trees on privately chosen bins. Two or more classes, mixed features,
    missing values. With little signal it is one rule; under Laplace noise one greedy tree comes
    first, which is all of the model where there are more than two classes.

    Parameters
    ----------
    epsilon, schema, n_hint, neighbors, max_records_per_group, random_state, n_jobs, verbose, budget
        As in `PrivateEstimator`.
    delta : float, default=1e-6
        0 asks for pure epsilon, by Laplace noise; else Gaussian noise.
    n_estimators, max_depth, learning_rate, trees_per_round : number or "auto", default="auto"
        The shape of the forest: its trees, the levels of a tree, the step of a round and the trees
        that a round averages. ``"auto"`` follows `dpforest.forests.plan`: public facts and a noisy
        number of records.
    monotone_constraints : dict, optional
        By the name of a numeric feature: 1 where the probability of the second class (or the
        target) may not fall as the feature rises, -1 where it may not rise. For two classes and
        regression; missing values are free. Post-processing of the trees, at no cost.
    warm_start : bool, default=False
        Let a second ``fit`` go on from the first, with a budget of its own on top. The ledger
        holds both; the weights of classes stay those of the first.
    class_weight : dict, "balanced" or None, default=None
        The weight of each class, 1 for those that are not in the dictionary. ``"balanced"`` makes
        all classes count alike, by class counts for which a fiftieth of the budget pays.
    max_sample_weight : float, optional
        A public bound of the weights in ``fit(X, y, sample_weight=...)``; larger weights count as
        the bound. They are data: choose it without a look at them, and not larger than needed.

    Attributes
    ----------
    forest_ : BoostedTrees
        The released trees.
    feature_importances_ : ndarray of float64
        How far the released scores move with each feature, less the noise; free.
    plan_ : BoostingPlan
        The shape that was chosen.
    n_records_ : float
        The noisy number of records, or the hint.
    total_weight_ : float
        The noisy sum of the sample weights, in units of their bound; without any, ``n_records_``.
    class_weights_ : ndarray of float64, shape (n_classes,)
        The weights of the classes.
    bin_weights_ : tuple
        What cuts of trees are drawn by: for each numeric feature the released shares of its bins, a
        tenth of all spread evenly (where no bins were paid for, of the declared range); for each
        categorical one None.
    bin_shares_ : tuple
        The share of the records in each bin of each feature, missing and unseen values last, as far
        as released numbers say: noisy counts, or the Hessians of leaves.
    leaf_noise_ : LeafNoise
        How much noise is in each leaf.
    classes_, ledger_, schema_, encoding_, n_features_in_, feature_names_in_
        As in `PrivateEstimator`.

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
        return self._decisions(self._scores(X))

    @also_of_sources
    def predict_proba(self, X: Any) -> Values:
        """The probability of each class, shape (n, n_classes)."""
        return self.from_scores(self._scores(X))

    @also_of_sources
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

    def staged_decision_function(self, X: Any) -> Iterator[Values]:
        """Yield the scores after each round, as in `decision_function`."""
        for scores in self._staged_scores(X):
            yield self._decisions(scores)

    def _decisions(self, scores: NDArray[np.float32]) -> Values:
        shifted = self._shifted(scores)
        return shifted[0] if len(shifted) == 1 else shifted.T

    def _labels(self, scores: NDArray[np.float32]) -> NDArray[Any]:
        shifted = self._shifted(scores)
        codes = (shifted[0] > 0).astype(np.int64) if len(shifted) == 1 else shifted.argmax(axis=0)
        return np.asarray(self.classes_[codes])

    def _shifted(self, scores: NDArray[np.float32]) -> Values:
        """Scores that speak for the classes with their weights."""
        return np.asarray(scores + score_shift(self.class_weights_, self._clipped)[:, None])

    def from_scores(self, scores: NDArray[np.floating[Any]]) -> Values:
        """Turn scores, shape (n_outputs, n), into the probability of each class."""
        return weigh(self._loss().predictions(scores, self._clipped), self.class_weights_)

    def _learn_of_target(self, desk: Desk, purse: Purse) -> Fraction:
        paid = self._weigh_classes(desk, purse.price(CLASS_SHARE))
        return CLASS_SHARE if paid else Fraction(0)

    def _described(self) -> Described:
        clipped: Link = "clipped_logistic" if self._clipped else "logistic"
        link: Link = clipped if len(self.classes_) == 2 else "softmax"
        trees, values = self.forest_.trees, self.forest_.values
        return Described(
            self.encoding_,
            trees,
            values,
            link,
            self.schema_.classes,
            class_weights=self.class_weights_,
        )

    @property
    def score_units(self) -> tuple[float, Values]:
        """Scores are measured from what the weights of the classes add."""
        return 1.0, score_shift(self.class_weights_, self._clipped)

    def _loss_outputs(self) -> int:
        n_classes = len(self.schema_.classes)
        return 1 if n_classes == 2 else n_classes

    def _chance(self) -> Chance:
        n_classes = len(self.classes_)
        if n_classes == 2:
            return Chance(1.0, answered=0.5)
        # A class has 2 / K of the Hessian of all, and about half of the gradients are clipped.
        return Chance(2.0 / n_classes, answered=1.0 / n_classes)

    def _loss(self) -> Loss:
        n_classes = len(self.schema_.classes)
        return Logistic() if n_classes == 2 else Softmax(n_classes)


class PrivateForestRegressor(BoostedRegressor):
    """The private forest to take when you just want the best one: regression.

    Boosted random oblivious trees on privately chosen bins, for a target with declared bounds. Two
    noisy histograms of the target say where its mass lies; residuals beyond 0.375 standard
    deviations (0.75 under Laplace noise) are clipped, which for means is mended in the end where
    noise is Gaussian. With hardly any signal it is one number for all records: the median, or the
    quantile asked for.

    Parameters
    ----------
    loss : {"squared", "absolute", "quantile"}, default="squared"
        What is predicted: the mean; the median, which outliers do not move; or a quantile.
        Absolute and quantile losses are smoothed a little, by released widths.
    quantile : float, default=0.5
        Between 0 and 1: with ``loss="quantile"``, the share of targets that are to lie below their
        prediction.
    epsilon, delta, schema, n_estimators, max_depth, learning_rate, trees_per_round, n_hint, \
    monotone_constraints, warm_start, max_sample_weight, neighbors, max_records_per_group, \
    random_state, n_jobs, verbose, budget
        As in `PrivateForestClassifier`; the schema's target declares bounds.

    Attributes
    ----------
    target_center_, target_width_, target_deviation_ : float
        Where scores are measured from, in which units, and how much targets vary; released. The
        center is the mean or the quantile of all targets. Where the model is one number that is
        the center, and the others follow from the declared bounds.
    ledger_, forest_, feature_importances_, plan_, n_records_, total_weight_, bin_weights_, \
    bin_shares_, leaf_noise_, schema_, encoding_, n_features_in_, feature_names_in_
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
    >>> forest.set_params(loss="quantile", quantile=0.9)
    PrivateForestRegressor(...)
    >>> y = X[:, 0] + X[:, 1] * np.random.default_rng(1).random(5_000)
    >>> bool(0.85 < (y < forest.fit(X, y).predict(X)).mean() < 0.95)
    True
    """

    loss: Literal["squared", "absolute", "quantile"] = one_of(
        "squared", "absolute", "quantile", default="squared"
    )
    quantile: float = parameter(default=0.5, check=checks.share)

    @also_of_sources
    def predict(self, X: Any) -> Values:
        """The predicted target of each record, within the declared bounds."""
        return self.from_scores(self._scores(X))

    def staged_predict(self, X: Any) -> Iterator[Values]:
        """Yield the prediction after each round: a learning curve, for free."""
        for scores in self._staged_scores(X):
            yield self.from_scores(scores)

    def _check(self, groups: Any) -> None:
        super()._check(groups)
        if self.loss != "quantile" and self.quantile != 0.5:
            raise ValueError(
                f"quantile={self.quantile!r} goes with loss='quantile', not with {self.loss!r}"
            )

    def _asked_quantiles(self) -> tuple[float, ...]:
        return () if self.loss == "squared" else (float(self.quantile),)
