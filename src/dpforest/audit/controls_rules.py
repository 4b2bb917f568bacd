"""The choices of a rule and of a tree, broken on purpose: what a replay must catch."""

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
from dpforest.privacy import greedy_splits, rule_choice
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.selection import selection_rate
from dpforest.privacy.tree_payments import pay_for_choices

PERSON = 4  # records


@contextmanager
def rules_for_one_record() -> Iterator[None]:
    """The verb leaves out the records of a person, in the rate; the ledger has them all."""

    def rate(epsilon: Any, sensitivity: Any, *, monotone: bool) -> Any:
        return selection_rate(PERSON * epsilon, sensitivity, monotone=monotone)

    with patch.object(rule_choice, "selection_rate", rate):
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


def _one_more(**options: Any) -> ReplayReport:
    forest = PrivateForestClassifier(
        epsilon=1.0, schema=SMALL_SCHEMA, max_records_per_group=PERSON, **options
    )
    rows, y = np.array([[0.1, 0.0], [0.9, 1.0]] * 3), np.array([0, 1] * 3)
    more = np.vstack([rows, [[0.9, 0.0]] * PERSON]), np.append(y, [0] * PERSON)
    ids = np.array([*range(len(y)), *[len(y)] * PERSON])
    return replay(forest, Table(rows, y, ids[: len(y)]), Table(*more, ids))
