"""Sample weights without their bound: what a replay must catch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from dpforest.audit.replay_report import ReplayReport
from dpforest.audit.replaying import replay
from dpforest.audit.worlds import SMALL_SCHEMA, Table
from dpforest.forests.boosted import PrivateForestClassifier
from dpforest.records import stores
from dpforest.records.statistics import WeightSum


@contextmanager
def unbounded_weights() -> Iterator[None]:
    """Weights as they are, in the release that says how large they are."""

    def add(self: WeightSum, block: Any, total: Any) -> None:
        total[0] += int(self.steps * block.weight.sum())

    def as_they_are(weights: Any, n_rows: int, bound: float) -> Any:
        return np.asarray(weights) / bound

    with (
        patch.object(stores, "read_weights", as_they_are),
        patch.object(WeightSum, "add", add),
    ):
        yield


def one_heavy_record() -> ReplayReport:
    """One record more, whose weight is a hundred times the bound."""
    forest = PrivateForestClassifier(
        schema=SMALL_SCHEMA, n_hint=5, n_estimators=1, max_depth=1, max_sample_weight=1.0
    )
    X, y = np.array([[0.1, 0.0]] * 4 + [[0.9, 1.0]]), np.array([0, 0, 0, 0, 1])
    weights = np.array([0.5] * 4 + [100.0])
    light = Table(X[:4], y[:4], sample_weight=weights[:4])
    return replay(forest, light, Table(X, y, sample_weight=weights))
