"""The choices of a rule, a tree and a number, broken on purpose: what a replay must catch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from dpforest.audit.replay_report import ReplayReport
from dpforest.audit.replaying import replay
from dpforest.audit.worlds import SMALL_REGRESSION, SMALL_SCHEMA, Table
from dpforest.forests.boosted import PrivateForestClassifier, PrivateForestRegressor
from dpforest.privacy import greedy_splits, monotone_choice, number_choice
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.selection import selection_rate
from dpforest.privacy.tree_payments import pay_for_choices

PERSON = 4  # records


def _rate_for_one_record(epsilon: Any, sensitivity: Any, *, monotone: bool) -> Any:
    """The rate leaves out the records of a person; the ledger has them all."""
    return selection_rate(PERSON * epsilon, sensitivity, monotone=monotone)


@contextmanager
def rules_for_one_record() -> Iterator[None]:
    """A rule is chosen at the rate for one record."""
    with patch.object(monotone_choice, "selection_rate", _rate_for_one_record):
        yield


@contextmanager
def numbers_for_one_record() -> Iterator[None]:
    """A number is chosen by depths that count every record as often as a person may have some."""
    exact = number_choice.depths

    def depths(counts: Any) -> Any:
        return PERSON * exact(counts)

    with patch.object(number_choice, "depths", depths):
        yield


@contextmanager
def trees_for_one_record() -> Iterator[None]:
    """The choices of a tree's nodes leave out the records of a person; the ledger has them all."""

    def pay(desk: Desk, *known: Any, where: str) -> Any:
        return PERSON * pay_for_choices(desk, *known, where=where)

    with patch.object(greedy_splits, "pay_for_choices", pay):
        yield


def one_more_with_rules() -> ReplayReport:
    """A person whose records are all of one kind; nearly the whole budget is for the rule."""
    return _one_more(n_hint=9)


def one_more_with_trees() -> ReplayReport:
    """The same person; a quarter of what is left is for the tree that comes first."""
    return _one_more(n_hint=8_000, delta=0.0)


def one_more_with_numbers() -> ReplayReport:
    """A person whose targets all lie at one end."""
    forest = PrivateForestRegressor(
        epsilon=1.0, schema=SMALL_REGRESSION, n_hint=9, max_records_per_group=PERSON
    )
    low, high = SMALL_REGRESSION.target_bounds
    rows, y = np.array([[0.1, 0.0], [0.9, 1.0]] * 3), np.array([low, high] * 3)
    more = np.vstack([rows, [[0.9, 0.0]] * PERSON]), np.append(y, [high] * PERSON)
    ids = np.array([*range(len(y)), *[len(y)] * PERSON])
    return replay(forest, Table(rows, y, ids[: len(y)]), Table(*more, ids))


def _one_more(**options: Any) -> ReplayReport:
    forest = PrivateForestClassifier(
        epsilon=1.0, schema=SMALL_SCHEMA, max_records_per_group=PERSON, **options
    )
    rows, y = np.array([[0.1, 0.0], [0.9, 1.0]] * 3), np.array([0, 1] * 3)
    more = np.vstack([rows, [[0.9, 0.0]] * PERSON]), np.append(y, [0] * PERSON)
    ids = np.array([*range(len(y)), *[len(y)] * PERSON])
    return replay(forest, Table(rows, y, ids[: len(y)]), Table(*more, ids))
