"""Read bounds, categories and classes off the records: exact, and therefore private.

What these functions return leaves the house with a PrivacyLeakWarning (`Schema.from_frame`).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.records.summary import summary_of
from dpforest.records.value_counts import category_order
from dpforest.schema import Task
from dpforest.schema.categories import Category, distinguishable
from dpforest.schema.features import (
    MAX_CATEGORIES,
    CategoricalFeature,
    Feature,
    NumericFeature,
    Target,
)
from dpforest.tables.columns import Column
from dpforest.tables.frames import Frame, as_column
from dpforest.tables.sources import as_source


def observe(X: Any, y: Any, task: Task) -> tuple[tuple[Feature, ...], Target | None]:
    """Describe a table, and a target that is a column of it or comes beside it."""
    source = as_source(X)
    if source is not None:
        X = summary_of(source, y)
    frame, target = split_target(X, y)
    features = observed_features(frame)
    if target is None:
        return features, None
    column, name = target
    return features, observed_target(column, name, task)


def split_target(X: Any, y: Any) -> tuple[Frame, tuple[Column, str] | None]:
    """Return the features, and the target with its name."""
    frame = Frame(X)
    if y is None:
        return frame, None
    if isinstance(y, str):
        others, column = frame.split(y)
        return others, (column, y)
    name = getattr(y, "name", None)
    if not isinstance(name, str) or not name:
        name = "target"
    # The target may not have the name of a feature.
    while name in frame.labels():
        name += "_"
    return frame, (as_column(y), name)


def observed_features(frame: Frame) -> tuple[Feature, ...]:
    """Describe each column by its own values: numbers by bounds, the rest by categories."""
    return tuple(_observed_feature(name, frame.series(j)) for j, name in enumerate(frame.labels()))


def observed_target(column: Column, name: str, task: Task) -> Target:
    """Describe the target by its own values.

    With task="auto", texts, booleans and whole numbers are classes, other numbers are not.
    """
    values = column.numbers() if task == "regression" or column.kind == "reals" else None
    if values is None:
        return Target(name, classes=_sorted_levels(column))
    values = values[np.isfinite(values)].astype(np.float64)
    whole = bool((values == np.floor(values)).all())
    if task == "regression" or (task == "auto" and not whole):
        low, high = _widened(*_range(values, column), integer=False)
        return Target(name, low=low, high=high)
    if not whole:
        raise SchemaError(
            "Unknown label type: continuous. y holds fractions, classes are expected; for numbers "
            "use a regressor, or declare the classes in a schema"
        )
    return Target(name, classes=tuple(np.unique(values).tolist()))


def _observed_feature(name: str, column: Column) -> Feature:
    if column.kind == "booleans":
        return CategoricalFeature(name, categories=(False, True))
    if column.kind == "texts" and not _holds_numbers(column):
        categories = _sorted_levels(column)
        if len(categories) > MAX_CATEGORIES:
            raise SchemaError(
                f"column {column.label}: more than {MAX_CATEGORIES} distinct values; merge rare "
                "ones into groups, leave the column out, or convert it to numbers"
            )
        return CategoricalFeature(name, categories=categories)
    values = column.numbers()
    if values.dtype.kind == "f":
        values = values[np.isfinite(values)]
    integer = column.kind == "integers"
    low, high = _widened(*_range(values, column), integer=integer)
    return NumericFeature(name, low=low, high=high, integer=integer)


def _holds_numbers(column: Column) -> bool:
    """Tell whether an untyped column has numbers in it and nothing else."""
    if column.to_numpy().dtype.kind != "O":
        return False
    _, distinct = column.levels()
    return bool(distinct) and not any(isinstance(value, str | bool) for value in distinct)


def _range(values: NDArray[Any], column: Column) -> tuple[float, float]:
    if not values.size:
        raise SchemaError(
            f"column {column.label}: no finite value to read bounds from; leave the column out, or "
            "declare its bounds in a schema"
        )
    return float(values.min()), float(values.max())


def _widened(low: float, high: float, integer: bool) -> tuple[float, float]:
    """Make room between equal bounds; whole numbers stay whole."""
    if low < high:
        return low, high
    room = max(1.0, abs(low) * 1e-6)
    return low, low + (np.ceil(room) if integer else room)


def _sorted_levels(column: Column) -> tuple[Category, ...]:
    _, distinct = column.levels()
    if not distinct:
        raise SchemaError(
            f"column {column.label}: no value to read categories from; leave the column out, or "
            "declare its categories in a schema"
        )
    return distinguishable(sorted(distinct, key=category_order))
