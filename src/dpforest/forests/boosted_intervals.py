"""Prediction intervals: three quantiles of one forest, which share all that is paid for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.forests import parameters as checks
from dpforest.forests.boosted_numbers import BoostedRegressor
from dpforest.forests.declared import parameter
from dpforest.forests.lazy import also_of_sources


class PrivateIntervalRegressor(BoostedRegressor):
    """A private forest that says between which numbers a target lies, and where its middle is.

    One boosted forest, as `PrivateForestRegressor`, whose leaves hold three scores: the median and
    the two quantiles between which a share ``coverage`` of the targets is to lie. A record pulls
    hard at one of the outer two at most, so both need hardly more noise than one, and all share
    trees, bins and the look at the target: one budget, one ledger.

    Parameters
    ----------
    coverage : float, default=0.9
        The share of the targets that are to lie in their interval, as many below as above.
    epsilon, delta, schema, n_estimators, max_depth, learning_rate, trees_per_round, n_hint, \
    monotone_constraints, warm_start, max_sample_weight, neighbors, max_records_per_group, \
    random_state, n_jobs, verbose, budget
        As in `PrivateForestRegressor`; constraints hold for both ends and the middle.

    Attributes
    ----------
    target_center_, target_width_ : ndarray of float64, shape (3,)
        Where the scores of each quantile are measured from, and in which units; released.
    target_deviation_, ledger_, forest_, feature_importances_, plan_, n_records_, total_weight_, \
    bin_weights_, bin_shares_, leaf_noise_, schema_, encoding_, n_features_in_, feature_names_in_
        As in `PrivateForestRegressor`.

    Examples
    --------
    >>> from dpforest import NumericFeature, PrivateIntervalRegressor, Schema, Target
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((5_000, 2))
    >>> y = X[:, 0] + X[:, 1] * rng.normal(0, 0.2, 5_000)
    >>> features = NumericFeature("a", 0, 1), NumericFeature("b", 0, 1)
    >>> schema = Schema(features, Target(low=-2, high=3))
    >>> forest = PrivateIntervalRegressor(coverage=0.8, schema=schema, random_state=0).fit(X, y)
    >>> low, high = forest.predict_interval(X).T
    >>> bool(0.75 < ((low <= y) & (y <= high)).mean() < 0.9)
    True
    >>> wide, narrow = (high - low)[X[:, 1] > 0.9].mean(), (high - low)[X[:, 1] < 0.1].mean()
    >>> bool(wide > 2 * narrow)
    True
    """

    coverage: float = parameter(default=0.9, check=checks.share)

    @also_of_sources
    def predict(self, X: Any) -> Values:
        """The middle of what is predicted for each record: its median."""
        return np.ascontiguousarray(self.from_scores(self._scores(X))[:, 1])

    @also_of_sources
    def predict_interval(self, X: Any) -> Values:
        """The lower and the upper end of the interval of each record, shape (n, 2)."""
        return np.ascontiguousarray(self.from_scores(self._scores(X))[:, ::2])

    def staged_predict(self, X: Any) -> Iterator[Values]:
        """Yield the prediction after each round: a learning curve, for free."""
        for scores in self._staged_scores(X):
            yield self.from_scores(scores)[:, 1]

    def from_scores(self, scores: NDArray[np.floating[Any]]) -> Values:
        """Turn scores, shape (3, n), into the lower end, the middle and the upper end, in order."""
        return np.sort(super().from_scores(scores), axis=1)

    def _asked_quantiles(self) -> tuple[float, ...]:
        outside = 0.5 * (1.0 - float(self.coverage))
        return outside, 0.5, 1.0 - outside
