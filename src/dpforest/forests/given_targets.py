"""What scikit-learn's users expect of y."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from dpforest.exceptions import SchemaError


def refuse_names(**given: Any) -> None:
    """Refuse names of columns where the table is in memory: they go with sources."""
    for what, value in given.items():
        if isinstance(value, str):
            raise SchemaError(
                f"{what} is {value!r}, but names of columns go with tables that are not in memory "
                f"(ParquetTable, a lazy frame, ...): give the values, as in frame[{value!r}], and "
                "as X the features alone"
            )


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
