"""What a name on the command line means to an audit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpforest.audit import AuditReport, Game, audit, controls, public_estimators, small_versions
from dpforest.forests.base import PrivateEstimator
from dpforest.forests.saving import load_model

Audited = tuple[str, PrivateEstimator | Game]


def find(model_or_name: str, epsilon: float | None, delta: float | None) -> list[Audited]:
    """Return what is to be audited: a saved model, an estimator in small, or a broken control.

    A budget that is given is that of an estimator in small; a model and a control have their own.
    """
    if model_or_name in controls():
        return [(model_or_name, controls()[model_or_name])]
    if model_or_name in public_estimators():
        asked = {"epsilon": epsilon, "delta": delta}
        budget = {key: value for key, value in asked.items() if value is not None}
        return list(small_versions(model_or_name, **budget))
    if Path(model_or_name).is_file():
        return [(model_or_name, load_model(model_or_name))]
    known = ", ".join(sorted([*public_estimators(), *controls()]))
    raise ValueError(
        f"{model_or_name!r} is neither a saved model nor a known name; the names are: {known}"
    )


def run(audited: list[Audited], trials: int, **options: Any) -> Iterator[AuditReport]:
    """Audit one after the other."""
    for _, target in audited:
        yield audit(target, trials=trials, **options)
