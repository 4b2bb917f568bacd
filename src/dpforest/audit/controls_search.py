"""Searches broken on purpose, one thing at a time: what a replay must catch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from dpforest.audit.controls_replay import ReplayControl
from dpforest.audit.replay_report import ReplayReport
from dpforest.audit.replaying import replay
from dpforest.audit.searches import OneSearch
from dpforest.audit.worlds import SMALL_SCHEMA, Table
from dpforest.forests.random import RandomDecisionForestClassifier
from dpforest.privacy import search_opening
from dpforest.records import parts
from dpforest.search import PrivateSearchCV, searching

SEEDS = range(4)  # so that the odd record is in either part
PERSON = 1_000


def search_controls() -> dict[str, ReplayControl]:
    """Every control by its name."""
    listed = [
        ReplayControl(
            "overlapping-parts",
            "candidates are trained on the hold-out part as well",
            _overlapping_parts,
            _one_record_more,
        ),
        ReplayControl(
            "persons-in-both-parts",
            "a person's records draw their parts one by one",
            _persons_in_both_parts,
            _one_person_more,
        ),
        ReplayControl(
            "exact-score",
            "the score that is shown is the exact one",
            _exact_score,
            _one_record_more,
        ),
    ]
    return {control.name: control for control in listed}


def _search(**options: Any) -> OneSearch:
    forest = RandomDecisionForestClassifier(
        schema=SMALL_SCHEMA, n_estimators=1, max_depth=1, **options
    )
    return OneSearch(PrivateSearchCV(forest, {"max_depth": [1, 2]}, hold_out=0.5))


def _records(n: int) -> tuple[list[list[float]], list[int]]:
    return [[0.1, 0.0], [0.9, 1.0]] * (n // 2), [0, 1] * (n // 2)


def _one_record_more() -> ReplayReport:
    X, y = _records(20)
    tables = Table(np.array(X), np.array(y)), Table(np.array([*X, [0.9, 0.0]]), np.array([*y, 1]))
    return _worst(replay(_search(), *tables, seed=seed) for seed in SEEDS)


def _one_person_more() -> ReplayReport:
    """A person of eight records, of which two count."""
    X, y = _records(20)
    more, persons = [*X, *[[0.9, 0.0]] * 8], [*range(20), *[PERSON] * 8]
    one = Table(np.array(X), np.array(y), np.arange(20))
    other = Table(np.array(more), np.array([*y, *[1] * 8]), np.array(persons))
    search = _search(max_records_per_group=2)
    return _worst(replay(search, one, other, max_records_per_group=2, seed=seed) for seed in SEEDS)


def _worst(reports: Iterator[ReplayReport]) -> ReplayReport:
    return max(reports, key=lambda report: report.tightness)


@contextmanager
def _overlapping_parts() -> Iterator[None]:
    honest = search_opening.open_parts

    def overlapping(X: Any, y: Any, schema: Any, *, groups: Any = None, **how: Any) -> Any:
        opened = honest(X, y, schema, groups=groups, **how)
        return replace(opened, training=(X, y, groups))

    with patch.object(searching, "open_parts", overlapping):
        yield


@contextmanager
def _persons_in_both_parts() -> Iterator[None]:
    honest = parts.held_out

    def scattered(n_rows: int, groups: Any, share: Any, draw: Any) -> Any:
        return honest(n_rows, None, share, draw)

    with patch.object(search_opening, "held_out", scattered):
        yield


@contextmanager
def _exact_score() -> Iterator[None]:
    honest = PrivateSearchCV._keep

    def curious(self: Any, found: Any, candidates: Any) -> None:
        honest(self, found, candidates)
        marks = self._parts.hold_out
        self.cv_results_["score"] = [float((found.model.predict(marks[0]) == marks[1]).sum())]

    def remembering(self: Any, *how: Any) -> Any:
        self._parts = _honest_part(self, *how)
        return self._parts

    with (
        patch.object(PrivateSearchCV, "_keep", curious),
        patch.object(PrivateSearchCV, "_part", remembering),
    ):
        yield


_honest_part = PrivateSearchCV._part
