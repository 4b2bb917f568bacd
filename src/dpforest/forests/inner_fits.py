"""Fits inside of scikit-learn's searches and ensembles: each spends its own, so say it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dpforest.exceptions import InnerFitsWarning, SchemaError
from dpforest.schema import Schema

_SEVERAL_FITS = (
    "sklearn.model_selection",
    "sklearn.ensemble",
    "sklearn.calibration",
    "sklearn.multiclass",
    "sklearn.multioutput",
)


def warn_of_inner_fits(epsilon: float) -> None:
    """Warn when the fit under way is one of several that scikit-learn makes.

    It is when code of these modules called it, in this process or in one of their workers. Python
    shows the warning once a process, unless its filters say otherwise.
    """
    module = _module_of_several_fits()
    if module is not None:
        warnings.warn(
            f"this fit is one of several that {module} makes, each spends epsilon = "
            f"{epsilon:g} of its own, and nothing adds them up: give the estimator a budget "
            "(dpforest.Budget), or keep all ledgers and use Ledger.together",
            InnerFitsWarning,
            stacklevel=4,
        )


@contextmanager
def encoded_labels_explained(schema: Any, y: Any) -> Iterator[None]:
    """Say in the place of "not among the classes" that scikit-learn has encoded the labels."""
    try:
        yield
    except SchemaError as error:
        module = _module_of_several_fits()
        if module is None or not _are_places(y, schema):
            raise
        raise SchemaError(
            f"{module} has encoded the labels as 0, 1, ... before this fit, so they are none of "
            "the declared classes: declare the classes 0 to K - 1 in the schema's target, and "
            "give y as these numbers (sklearn.preprocessing.LabelEncoder)"
        ) from error


def _are_places(y: Any, schema: Any) -> bool:
    """Whether labels are whole numbers from 0 on, fewer than the declared classes."""
    declared = Schema.from_dict(schema) if isinstance(schema, dict) else schema
    if not isinstance(declared, Schema) or declared.target is None:
        return False
    labels, classes = np.asarray(y), declared.target.classes or ()
    return labels.dtype.kind in "iu" and bool(((labels >= 0) & (labels < len(classes))).all())


def _module_of_several_fits() -> str | None:
    """The module of scikit-learn that makes the fit under way, if it makes several."""
    frame = inspect.currentframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if module.startswith(_SEVERAL_FITS):
            return module
        frame = frame.f_back
    return None
