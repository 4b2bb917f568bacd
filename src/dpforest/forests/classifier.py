"""What all classifiers share: log-probabilities, and scores that read labels as ``fit`` does."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from dpforest.arrays import Values
from dpforest.forests.given_targets import refuse_names
from dpforest.forests.lazy import also_of_sources
from dpforest.tables.labels import encode_equal_labels
from dpforest.tables.sources import as_source


class PrivateClassifier(ClassifierMixin):
    """scikit-learn's mixin, with log-probabilities and a score for labels in any container."""

    classes_: Any
    predict: Any
    predict_proba: Any

    @also_of_sources
    def predict_log_proba(self, X: Any) -> Values:
        """The logarithm of the probability of each class, shape (n, n_classes); -inf for 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of records that are predicted right.

        Read off the records for nothing: for private ones, and for tables that are not in memory,
        there is `dpforest.evaluate`.

        Parameters
        ----------
        X, y
            As in ``fit``: a label must equal one of the classes.
        sample_weight : array-like of shape (n,), optional
            The weight of each record.
        """
        if as_source(X) is not None:
            raise TypeError(
                "score takes tables in memory, and X is a source: dpforest.evaluate measures "
                "sources, for a price, or read X into a frame"
            )
        refuse_names(y=y)
        says = self.predict(X)
        labels = self.classes_[encode_equal_labels(y, tuple(self.classes_.tolist()))]
        return float(accuracy_score(labels, np.asarray(says), sample_weight=sample_weight))
