"""Predictions of tables that are not in memory: as lazy as the tables are."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from dpforest.tables.sources import Outputs, as_source

Method = TypeVar("Method", bound=Callable[..., Any])


def also_of_sources(method: Method) -> Method:
    """Let ``predict`` and its kin answer a source by columns of the same kind.

    ``predict`` gives a column ``prediction``, ``predict_interval`` columns ``lower`` and ``upper``,
    the others one for each class, by its name: a lazy frame of polars, Dask or Spark; of a Parquet
    table or a data set, a RecordBatchReader.
    """

    @wraps(method)
    def answer(self: Any, X: Any) -> Any:
        source = as_source(X)
        if source is None or self._keeps_records:  # which answers, and is paid for, whole batches
            return method(self, X)
        check_is_fitted(self)
        predicting = Predicting(self, method.__name__)
        source.require(self.schema_.feature_names)
        return source.map(predicting, self.schema_.feature_names, predicting.like)

    return answer  # type: ignore[return-value]


class Predicting:
    """What a model says of a batch, by columns; it can be sent to where the batches are.

    Parameters
    ----------
    model : estimator
        Trained.
    method : {"predict", "predict_interval", "predict_proba", "predict_log_proba"}
    """

    def __init__(self, model: Any, method: str) -> None:
        self._model, self._method = model, method

    @property
    def like(self) -> dict[str, np.dtype[Any]]:
        """The names and types of the columns."""
        numbers = np.dtype(np.float64)
        if self._method == "predict_interval":
            return dict.fromkeys(("lower", "upper"), numbers)
        if self._method != "predict":
            return dict.fromkeys(map(str, self._model.classes_), numbers)
        return {"prediction": self._model.classes_.dtype if is_classifier(self._model) else numbers}

    def __call__(self, batch: Any) -> Outputs:
        """The columns of a batch."""
        answers = getattr(self._model, self._method)(batch)
        return dict(zip(self.like, answers.reshape(len(answers), -1).T, strict=True))
