"""Small versions of every estimator: what an audit without a model of its own is played with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.base import is_regressor

import dpforest
from dpforest.audit.worlds import SMALL_REGRESSION, SMALL_SCHEMA
from dpforest.forests.base import PrivateEstimator

SHRUNK = {
    "n_estimators": 2,
    "max_depth": 2,
    "trees_per_round": 1,
    "n_ensembles": 1,
    "features_per_ensemble": 2,
}
"""Set where an estimator has the parameter."""

VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "RandomDecisionForestClassifier": (
        {"n_estimators": 1},
        {"sampling": "shared"},
        {"sampling": "disjoint"},
        {"leaves": "label", "max_depth": 1},
        {"n_estimators": "auto", "max_depth": "auto"},
    ),
    "GreedyForestClassifier": (
        {"min_support": 0},
        {"min_support": 0, "sampling": "shared", "leaves": "counts"},
        {"min_support": 0, "sampling": "without_replacement", "splits": "binary"},
        {"min_support": 0, "level_budget": "hou", "stopping": "noisy_counts", "max_depth": 1},
    ),
    "MatrixForestClassifier": (
        {"strategy": "identity"},
        {"strategy": "marginals"},
        {"sampling": "disjoint"},
    ),
    "MatrixForestPredictor": ({"strategy": "identity"},),
    "MedianForestClassifier": (
        {"choice": "joint", "n_candidates": 2},
        {"choice": "pay", "n_candidates": 2},
        {"choice": "attribute", "n_candidates": 2, "sampling": "shared"},
        {"leaves": "label", "max_depth": 1},
    ),
    "MedianForestRegressor": ({"n_candidates": 2},),
    "PrivateForestClassifier": ({"n_hint": 5, "n_estimators": 1}, {"delta": 0.0}),
    "PrivateForestRegressor": (
        {"n_hint": 5, "n_estimators": 1},
        {"delta": 0.0},
        {"loss": "absolute"},
        {"loss": "quantile", "quantile": 0.9, "delta": 0.0},
    ),
    "PrivateIntervalRegressor": ({}, {"delta": 0.0}),
}
"""What else is worth an audit of its own; an estimator that is not named has one version."""


def small_estimators(**shared: Any) -> Iterator[tuple[str, PrivateEstimator]]:
    """Small versions of all public estimators, with a label each.

    Parameters
    ----------
    **shared
        Parameters of them all, such as ``epsilon`` and ``neighbors``.

    Examples
    --------
    >>> labels = [label for label, _ in small_estimators(epsilon=1.0)]
    >>> "RandomDecisionForestClassifier(sampling='disjoint')" in labels
    True
    """
    for name in public_estimators():
        yield from small_versions(name, **shared)


def small_versions(name: str, **shared: Any) -> Iterator[tuple[str, PrivateEstimator]]:
    """Small versions of one estimator, by its name."""
    kind = public_estimators()[name]
    known = kind().get_params()
    shrunk = {key: value for key, value in SHRUNK.items() if key in known}
    schema = SMALL_REGRESSION if is_regressor(kind()) else SMALL_SCHEMA
    for variant in VARIANTS.get(name, ({},)):
        options = ", ".join(f"{key}={value!r}" for key, value in variant.items())
        settings = {"schema": schema, **shrunk, **variant, **shared}
        yield f"{name}({options})", kind(**settings)


def public_estimators() -> dict[str, type[PrivateEstimator]]:
    """The estimators among the public names of the library."""
    classes = {name: getattr(dpforest, name) for name in dpforest.__all__ if name[0].isupper()}
    return {name: kind for name, kind in classes.items() if issubclass(kind, PrivateEstimator)}
