"""The choice of a question, broken on purpose: what a replay must catch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from dpforest.audit.replay_report import ReplayReport
from dpforest.audit.replaying import replay
from dpforest.audit.worlds import Table
from dpforest.forests.boosted import PrivateForestRegressor
from dpforest.privacy import questions
from dpforest.privacy.accounts.bounded_range import BoundedRange
from dpforest.schema import Schema
from dpforest.schema.features import CategoricalFeature, Target

PERSON = 4  # records


@contextmanager
def choices_for_one_record() -> Iterator[None]:
    """The verb leaves out the records of a person, in the rate and in the ledger."""
    rate_for = questions.rate_for

    def rate(price: Any, reach: int) -> Any:
        return rate_for(price, reach // PERSON)

    def made(rate: Any, reach: int) -> BoundedRange:
        return BoundedRange(rate, reach // PERSON)

    with (
        patch.object(questions, "rate_for", rate),
        patch.object(questions, "BoundedRange", made),
    ):
        yield


def one_more_person() -> ReplayReport:
    """Ten features, as choices need; the odd records speak for one half and against the other."""
    schema = Schema(
        tuple(CategoricalFeature(f"x{j}", (0, 1)) for j in range(10)), Target(low=0, high=1)
    )
    forest = PrivateForestRegressor(
        epsilon=1.0, schema=schema, n_hint=9, n_estimators=2, max_depth=1, trees_per_round=1,
        max_records_per_group=PERSON,
    )  # fmt: skip
    rows, y = np.array([[0] * 10, [1] * 10] * 3), np.array([0.0, 1.0] * 3)
    more = np.vstack([rows, [[0] * 5 + [1] * 5] * PERSON]), np.append(y, [1.0] * PERSON)
    ids = np.array([*range(len(y)), *[len(y)] * PERSON])
    return replay(forest, Table(rows, y, ids[: len(y)]), Table(*more, ids))
