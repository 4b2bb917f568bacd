"""The candidates of a search: which estimators and settings there may be, checked beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from dpforest.forests.base import PrivateEstimator
from dpforest.forests.matrix_predictor import MatrixForestPredictor

Candidates = Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]]
SET_BY_THE_SEARCH = ("epsilon", "delta", "budget", "random_state", "verbose", "warm_start")
THE_SAME_FOR_ALL = ("schema", "neighbors", "max_records_per_group")


def checked_candidates(estimator: Any, candidates: Candidates, groups: Any) -> list[dict[str, Any]]:
    """The settings one by one; TypeError or ValueError for what will not do.

    Each is tried on a copy of the estimator, so that nothing is refused after a trial has begun.
    """
    _check_estimator(estimator)
    if isinstance(candidates, Mapping):
        settings = [dict(one) for one in ParameterGrid(dict(candidates))]
    elif isinstance(candidates, Sequence) and not isinstance(candidates, str):
        settings = [dict(one) if isinstance(one, Mapping) else one for one in candidates]
    else:
        raise TypeError(
            "candidates must be a list of dictionaries of parameters, or one of lists (a grid), "
            f"not {type(candidates).__name__}"
        )
    if len(settings) < 2:
        raise ValueError(f"candidates are {len(settings)}, expected at least 2 to choose from")
    for one in settings:
        _check_candidate(estimator, one, groups)
    return settings


def _check_estimator(estimator: Any) -> None:
    if not isinstance(estimator, PrivateEstimator):
        raise TypeError(
            f"estimator is a {type(estimator).__name__}, expected one of dpforest's: a search can "
            "only pay for trainings that keep a ledger"
        )
    if isinstance(estimator, MatrixForestPredictor):
        raise TypeError(
            "a MatrixForestPredictor pays for its answers, so trying it out would spend what it "
            "has: search with a MatrixForestClassifier"
        )
    if estimator.schema is None:
        raise ValueError(
            "the estimator has no schema, and without one every trial would read the table for "
            "nothing: declare a Schema, or pay for one with Schema.infer"
        )
    for name in ("budget", "random_state"):
        if getattr(estimator, name) is not None:
            raise ValueError(
                f"the estimator has a {name} of its own: give {name} to the search instead"
            )


def _check_candidate(estimator: PrivateEstimator, settings: Any, groups: Any) -> None:
    if not isinstance(settings, dict):
        raise TypeError(
            f"a candidate is a {type(settings).__name__}, expected a dictionary of parameters"
        )
    for name in (*SET_BY_THE_SEARCH, *THE_SAME_FOR_ALL):
        if name in settings:
            raise ValueError(
                f"a candidate sets {name!r}, which is the same for all: give it to the search or "
                "to the estimator"
            )
    model = clone(estimator)
    known = model.get_params(deep=False)
    for name in settings:
        if name not in known:
            raise ValueError(
                f"a candidate sets {name!r}, which is no parameter of {type(model).__name__}: "
                f"expected some of {sorted(known)}"
            )
    model.set_params(**settings, budget=None)
    model._check(groups)
