"""What a fixed model says of each record, beside what is true of it.

A row of an outcome must depend on one record (and a coin of its own) alone: then one record more or
less is one row more or less, and all else follows from counting rows. So the model must answer a
record in the same way whatever else is asked along with it. A model that cannot promise that is
asked about one record at a time (`predict_rows`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.schema.categories import Category
from dpforest.tables.encode import encode_target
from dpforest.tables.labels import encode_equal_labels

ROUNDING = 1e-6  # how far a probability may lie beyond 0 and 1


def class_outcomes(
    model: Any,
    X: Any,
    y: Any,
    classes: tuple[Category, ...],
    draw: Callable[[int, int], NDArray[np.int64]],
    *,
    scores: bool,
    one_by_one: bool,
) -> NDArray[np.float64]:
    """Say of each record: class, prediction, hit, score of its class, another class, its score.

    Parameters
    ----------
    model : classifier
        Its ``predict_proba`` has a column a class, in the order of the classes.
    X, y : array-like
    classes : tuple
        Public.
    draw : callable
        Coins, a record one of its own: which of the other classes is looked at.
    scores : bool
        Whether the model has probabilities; the last three columns are 0 otherwise.
    one_by_one : bool
        Ask about each record by itself.

    Returns
    -------
    ndarray, shape (n, 6)
    """
    labels = encode_equal_labels(y, classes)
    predicted = _predicted_classes(predict_rows(model.predict, X, one_by_one), classes)
    _require_rows(len(predicted), len(labels))
    rows = np.zeros((len(labels), 6))
    rows[:, 0], rows[:, 1], rows[:, 2] = labels, predicted, labels == predicted
    if scores:
        found = predict_rows(model.predict_proba, X, one_by_one)
        probabilities = _checked_probabilities(found, (len(labels), len(classes)))
        # Uniform among the other classes; with two there is one.
        coins = draw(len(classes) - 1, len(labels))
        others = (labels + 1 + coins) % len(classes)
        every = np.arange(len(labels))
        rows[:, 3], rows[:, 4] = probabilities[every, labels], others
        rows[:, 5] = probabilities[every, others]
    return rows


def number_outcomes(
    model: Any, X: Any, y: Any, bounds: tuple[float, float], *, one_by_one: bool
) -> NDArray[np.float64]:
    """Target and prediction of each record, both clipped to the public bounds; shape (n, 2)."""
    target = encode_target(y, *bounds)
    predicted = np.asarray(predict_rows(model.predict, X, one_by_one), np.float64)
    _require_rows(len(predicted), len(target))
    if predicted.ndim != 1 or np.isnan(predicted).any():
        raise ValueError(
            "the model's predict must give one number a record: none may be missing (NaN), and "
            "one target is expected"
        )
    return np.column_stack([target, np.clip(predicted, *bounds)])


def predict_rows(predict: Callable[[Any], Any], X: Any, one_by_one: bool) -> NDArray[Any]:
    """What a model answers: to all records at once, or to each of them by itself."""
    if not one_by_one:
        return np.asarray(predict(X))
    if nw.dependencies.is_into_dataframe(X):
        table = nw.from_native(X, eager_only=True)
        return np.concatenate([predict(table[i : i + 1].to_native()) for i in range(len(table))])
    rows = np.asarray(X)
    return np.concatenate([predict(rows[i : i + 1]) for i in range(len(rows))])


def _predicted_classes(predicted: NDArray[Any], classes: tuple[Category, ...]) -> NDArray[np.int32]:
    try:
        return encode_equal_labels(predicted, classes)
    except SchemaError:
        raise ValueError(
            f"the model's predict gives labels that are not among its classes {list(classes)}: "
            "one of these is expected for each record"
        ) from None


def _checked_probabilities(found: NDArray[Any], shape: tuple[int, int]) -> NDArray[np.float64]:
    found = np.asarray(found, np.float64)
    within = found.shape == shape and np.all((found >= -ROUNDING) & (found <= 1 + ROUNDING))
    if not within:
        raise ValueError(
            "the model's predict_proba must give a number from 0 to 1 for each record and class, "
            "a column a class"
        )
    return np.asarray(np.clip(found, 0.0, 1.0))


def _require_rows(predicted: int, known: int) -> None:
    if predicted != known:
        raise SchemaError("y must have one value a row of X: X and y have different lengths")
