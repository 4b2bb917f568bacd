"""Weights of classes: post-processing of what was released, and free but for the class counts.

A model that lowers a loss with weights w of the classes comes to say of a record, in the place of
the probabilities q of its classes, those in proportion to w q: the weighted loss is that of a table
in which class k comes w_k times as often. Saying w q in the end costs no noise and keeps the order
of the scores, and with it the AUC; to weigh records would need noise for the largest weight
(`docs/imbalance.md` has the measurements).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from dpforest.arrays import Values
from dpforest.exceptions import SchemaError
from dpforest.forests.base import PrivateEstimator
from dpforest.forests.classifier import PrivateClassifier
from dpforest.forests.declared import fitted, parameter
from dpforest.losses.logistic import clipped_score
from dpforest.privacy.accounts.spends import Price
from dpforest.privacy.counts import class_counts
from dpforest.privacy.desk import Desk
from dpforest.schema import Schema

ClassWeight = dict[Hashable, float] | Literal["balanced"] | None


def _check_class_weight(name: str, value: Any) -> None:
    if value is None or (isinstance(value, str) and value == "balanced"):
        return
    if not isinstance(value, dict):
        raise TypeError(
            f"{name} must be a dictionary from classes to weights, 'balanced' or None, "
            f"got {value!r}"
        )
    for weight in value.values():
        if not isinstance(weight, Real) or not 0 < float(weight) < math.inf:
            raise ValueError(f"{name} must have positive, finite weights, got {weight!r}")


class WeighingClassifier(PrivateClassifier, PrivateEstimator):
    """A classifier whose classes may have weights; not to be used by itself."""

    class_weight: ClassWeight = parameter(default=None, check=_check_class_weight)

    class_weights_: Values = fitted()

    def _check_schema(self, schema: Schema) -> None:
        super()._check_schema(schema)
        if isinstance(self.class_weight, dict):
            unknown = [label for label in self.class_weight if label not in schema.classes]
            if unknown:
                raise SchemaError(
                    f"class_weight has weights for {unknown}, which are not among the declared "
                    f"classes {list(schema.classes)}: name classes as the schema does"
                )

    def _weigh_classes(self, desk: Desk, price: Price) -> bool:
        """Find the weights of the classes; whether their counts were paid for, at this price."""
        if self.class_weight == "balanced":
            released = class_counts(desk, len(self.classes_), price)
            self.class_weights_ = balanced_weights(released.values, released.deviation)
            return True
        given = self.class_weight or {}
        assert isinstance(given, dict)
        weights = [float(given.get(label, 1.0)) for label in self.schema_.classes]
        self.class_weights_ = np.array(weights)
        return False

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "class_weights": self.class_weights_.tolist()}

    def _restore(self, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(facts, arrays)
        self.class_weights_ = np.array(facts["class_weights"], np.float64)
        if (
            self.class_weights_.shape != (len(self.classes_),)
            or not ((self.class_weights_ > 0) & (self.class_weights_ < math.inf)).all()
        ):
            raise ValueError("the weights do not fit the classes")


class WeighingLeaves(WeighingClassifier):
    """A classifier that weighs the class counts of its leaves; not to be used by itself."""

    leaves: Any  # a parameter of every family, "counts" or "label"

    def _check(self, groups: Any) -> None:
        super()._check(groups)
        if self.class_weight is not None and self.leaves == "label":
            raise ValueError(
                "leaves='label' releases no counts that class_weight could weigh: use "
                "leaves='counts', or leave class_weight out"
            )


def balanced_weights(counts: Values, deviation: float) -> Values:
    """Weights by which all classes count alike: n / (K n_k), as scikit-learn has them.

    A noisy count below the deviation of its noise, or below 1, counts as that: a class of which
    nothing is known gets a large weight, never an infinite or negative one.

    Examples
    --------
    >>> balanced_weights(np.array([900.0, 100.0]), deviation=5.0).round(2).tolist()
    [0.56, 5.0]
    >>> balanced_weights(np.array([900.0, -3.0]), deviation=100.0).round(2).tolist()
    [0.56, 5.0]
    """
    held = np.maximum(counts, max(deviation, 1.0))
    return np.asarray(held.sum() / (len(held) * held))


def weigh(probabilities: Values, weights: Values) -> Values:
    """The probabilities of classes, shape (n, n_classes), where class k comes w_k times as often.

    Examples
    --------
    >>> weigh(np.array([[0.9, 0.1]]), np.array([1.0, 9.0])).tolist()
    [[0.5, 0.5]]
    """
    weighted = probabilities * weights
    return np.asarray(weighted / weighted.sum(axis=1, keepdims=True))


def score_shift(weights: Values, clipped: bool) -> Values:
    """What weights add to the scores of the flagship: one for two classes, one a class for more.

    The score of two classes is moved to where `weigh` makes them equally probable.

    Examples
    --------
    >>> score_shift(np.array([1.0, 1.0]), clipped=True).tolist()
    [0.0]
    """
    if len(weights) > 2:
        return np.log(weights)
    share = float(weights[0] / weights.sum())
    return -np.array([clipped_score(share) if clipped else logit(share)])
