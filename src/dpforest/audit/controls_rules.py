"""The choice of a rule, broken on purpose: what a replay must catch."""

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
from dpforest.privacy import rule_choice
from dpforest.privacy.mechanisms.selection import selection_rate

PERSON = 4  # records


@contextmanager
def rules_for_one_record() -> Iterator[None]:
    """The verb leaves out the records of a person, in the rate; the ledger has them all."""

    def rate(epsilon: Any, sensitivity: Any, *, monotone: bool) -> Any:
        return selection_rate(PERSON * epsilon, sensitivity, monotone=monotone)

    with patch.object(rule_choice, "selection_rate", rate):
        yield


def one_more_with_rules() -> ReplayReport:
    """A person whose records are all of one kind; nearly the whole budget is for the rule."""
    forest = PrivateForestClassifier(
        epsilon=1.0, schema=SMALL_SCHEMA, n_hint=9, max_records_per_group=PERSON
    )
    rows, y = np.array([[0.1, 0.0], [0.9, 1.0]] * 3), np.array([0, 1] * 3)
    more = np.vstack([rows, [[0.9, 0.0]] * PERSON]), np.append(y, [0] * PERSON)
    ids = np.array([*range(len(y)), *[len(y)] * PERSON])
    return replay(forest, Table(rows, y, ids[: len(y)]), Table(*more, ids))
