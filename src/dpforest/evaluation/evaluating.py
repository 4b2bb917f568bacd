"""Evaluate a model on private records, for a price."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from dpforest.evaluation.asking import ask_of_classes, ask_of_numbers
from dpforest.evaluation.knowing import tell_what_is_known
from dpforest.evaluation.results import Evaluation
from dpforest.exceptions import SchemaError
from dpforest.forests.given_targets import refuse_names
from dpforest.forests.matrix_predictor import MatrixForestPredictor
from dpforest.forests.saving import SavedEstimator
from dpforest.privacy.accounts.budget import Budget
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.protection import Neighbors
from dpforest.privacy.accounts.reservation import settle
from dpforest.privacy.desk import Draws
from dpforest.privacy.evaluation_opening import (
    open_account,
    open_class_outcomes,
    open_number_outcomes,
)
from dpforest.privacy.inference_opening import protection_of
from dpforest.privacy.outcome_cells import class_cells, residual_cells
from dpforest.progress import Bar
from dpforest.schema.categories import Category
from dpforest.tables.sources import as_source


def evaluate(
    model: Any,
    X: Any,
    y: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    groups: Any = None,
    max_records_per_group: int | None = None,
    neighbors: Neighbors = "add_remove",
    bounds: tuple[float, float] | None = None,
    budget: Budget | str | PathLike[str] | None = None,
    level: float = 0.95,
    one_by_one: bool = False,
    random_state: int | None = None,
    draws: Draws | None = None,
) -> Evaluation:
    """Measure how good a trained model is on private records, for a price.

    The model must be public, or have paid for what it knows of the records (then add up its ledger
    and this one with `Ledger.together`). What it says of a record may depend on that record alone,
    not on others that are asked along with it.

    Parameters
    ----------
    model : estimator
        Trained: one of dpforest's or any with scikit-learn's ``predict`` and, for all that needs
        scores, ``predict_proba``; a classifier has ``classes_``.
    X : table
        What the model predicts from; of a table that is not in memory (`ParquetTable`, a lazy
        frame), ``y`` and ``groups`` are names of columns, and 48 bytes a record are kept.
    y : array-like or str
        Labels among the model's classes, which are public, or numbers. Others are refused before
        anything is spent.
    epsilon : float
        The budget; math.inf for no privacy.
    delta : float, default=0.0
        Above 0, noise is Gaussian; with so few releases that is seldom less of it.
    groups : array-like, optional
        The person of each record, to protect persons.
    max_records_per_group : int, optional
        How many records of one person may count; goes with `groups`.
    neighbors : {"add_remove", "replace_one"}
        What is protected: adding or removing a record (or person), or replacing one.
    bounds : tuple of float, optional
        Public bounds of a numeric target; by default those of the model's schema.
    budget : Budget or path, optional
        A budget that is shared, in which the price is reserved before a record is read.
    level : float, default=0.95
        With which probability each interval covers.
    one_by_one : bool, default=False
        Ask the model about each record by itself: slow, and safe for models whose answer may
        depend on what else is asked, be it in the last digit.
    random_state : int, optional
        Makes the noise reproducible, for tests only.
    draws : Draws, optional
        An auditor's, in the place of the secret ones.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from dpforest import PrivateForestClassifier, datasets, evaluate
    >>> census = datasets.make_census(20_000, random_state=0)
    >>> train, test = slice(10_000), slice(10_000, None)
    >>> forest = PrivateForestClassifier(schema=census.schema, random_state=0)
    >>> forest = forest.fit(census.X[train], census.y[train])
    >>> found = evaluate(forest, census.X[test], census.y[test], epsilon=0.5, random_state=0)
    >>> found.accuracy.low < forest.score(census.X[test], census.y[test]) < found.accuracy.high
    True
    >>> found.ledger.epsilon
    0.5
    """
    if not epsilon > 0:
        raise ValueError(f"epsilon must be positive, got {epsilon!r}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, such as 0.95, got {level!r}")
    _refuse_batches(model)
    if as_source(X) is None:
        refuse_names(y=y, groups=groups)
    digest = _digest_of(model)
    classes = classes_of(model)
    if classes is None:
        bounds = bounds_of(model, bounds)
        encoding = residual_cells(bounds)
    elif bounds is not None:
        raise ValueError("bounds are those of numbers, and the model has classes: leave them out")
    else:
        encoding = class_cells(len(classes))
    protection = protection_of(neighbors, groups, max_records_per_group)
    draws = draws or Draws(random_state)
    ledger = open_account(epsilon, delta, protection, draws, budget)
    how: dict[str, Any] = {"groups": groups, "one_by_one": one_by_one}
    with _spending(ledger), Bar("evaluating"):
        if bounds is not None:
            desk = open_number_outcomes(model, X, y, bounds, ledger=ledger, draws=draws, **how)
            found = ask_of_numbers(desk, encoding, bounds, level)
        else:
            assert classes is not None
            has_scores = how["scores"] = hasattr(model, "predict_proba")
            desk = open_class_outcomes(model, X, y, classes, ledger=ledger, draws=draws, **how)
            found = ask_of_classes(desk, encoding, classes, level, has_scores)
    return tell_what_is_known(replace(found, model_digest=digest))


def classes_of(model: Any) -> tuple[Category, ...] | None:
    """The public classes of a model; None where it predicts numbers."""
    schema = getattr(model, "schema_", None)
    if schema is not None and schema.target is not None:
        declared: tuple[Category, ...] | None = schema.target.classes
        return declared
    classes = getattr(model, "classes_", None)
    if classes is not None:
        return tuple(np.asarray(classes).tolist())
    if hasattr(model, "predict_proba"):
        raise ValueError("the model has predict_proba and no classes_: train it first")
    return None


def bounds_of(model: Any, bounds: tuple[float, float] | None) -> tuple[float, float]:
    """The public bounds of the target: as given, or as the model's schema has them."""
    if bounds is None:
        schema = getattr(model, "schema_", None)
        if schema is None:
            raise SchemaError(
                "the bounds of the target are not known: give public ones, as in bounds=(0, 100)"
            )
        bounds = schema.target_bounds
    low, high = float(bounds[0]), float(bounds[1])
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"bounds are {bounds!r}, expected two finite numbers, the lower one first")
    return low, high


def _refuse_batches(model: Any) -> None:
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if isinstance(last, MatrixForestPredictor):
        raise TypeError(
            "a MatrixForestPredictor answers batches, so what it says of a record depends on the "
            "others: evaluate a MatrixForestClassifier instead"
        )


def _digest_of(model: Any) -> str | None:
    """What names a model of dpforest; other libraries' have no such name."""
    if not isinstance(model, SavedEstimator):
        return None
    check_is_fitted(model)
    return model._digest()


@contextmanager
def _spending(ledger: Ledger) -> Iterator[None]:
    """Settle what was reserved, and say what is spent when something fails on the way."""
    try:
        yield
    except BaseException as error:
        settle(ledger, "failed")
        if ledger.entries:
            error.add_note(f"the evaluation is not finished: epsilon = {ledger.epsilon:.3g} spent")
        raise
    settle(ledger, "released")
