"""What scikit-learn's users expect of y."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets


def check_y(estimator: Any, y: Any) -> Any:
    """What scikit-learn's users expect of y; the rest is checked against the schema."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    if getattr(y, "ndim", 1) == 2:
        if y.shape[1] != 1:
            raise ValueError("y should be a 1d array: pass one column, the target")
        y = column_or_1d(y, warn=True)
    if estimator.schema is None and is_classifier(estimator):
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
    return y
