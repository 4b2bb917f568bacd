"""The way into an evaluation: a fixed model is asked about every record, and nothing is spent.

Opening checks all there is to check: budget, protection, labels, what the model answers, persons.
What a desk then holds of a record is its outcome (`dpforest.records.outcomes`), and nothing else.
``docs/privacy/evaluation.md`` has the proof.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy.accounts.budget import Budget
from dpforest.privacy.accounts.budget_filter import most_of
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.reservation import Use
from dpforest.privacy.accounts.spends import exact
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.records.groups import bound_groups
from dpforest.records.local import LocalStore
from dpforest.records.outcomes import class_outcomes, number_outcomes
from dpforest.schema.categories import Category
from dpforest.tables.frames import Frame


def open_account(
    epsilon: float,
    delta: float,
    protection: Protection,
    draws: Draws,
    budget: Budget | str | PathLike[str] | None,
) -> Ledger:
    """The ledger of an evaluation; reserved in a budget that is shared, before a record is read."""
    asked = (epsilon, delta) if budget is None else (exact(epsilon), exact(delta, "delta"))
    ledger = Ledger(*asked, protection, draws.reproducible, kind="evaluation")
    ledger.note(
        "the model counts as public: where it was trained on these records, add up both ledgers"
    )
    if budget is None:
        return ledger
    return Use(Budget.open(budget), "evaluation", asked, most_of(*asked)).begin(ledger)


def open_class_outcomes(
    model: Any,
    X: Any,
    y: Any,
    classes: tuple[Category, ...],
    *,
    ledger: Ledger,
    draws: Draws,
    groups: Any,
    scores: bool,
    one_by_one: bool,
) -> Desk:
    """A desk of what a classifier says of records; its columns are those of `class_outcomes`."""
    rows = class_outcomes(model, X, y, classes, draws.below, scores=scores, one_by_one=one_by_one)
    return _desk(rows, np.zeros(len(rows), np.int32), ledger, draws, groups)


def open_number_outcomes(
    model: Any,
    X: Any,
    y: Any,
    bounds: tuple[float, float],
    *,
    ledger: Ledger,
    draws: Draws,
    groups: Any,
    one_by_one: bool,
) -> Desk:
    """A desk of residuals; its targets are pairs of truth and prediction."""
    pairs = number_outcomes(model, X, y, bounds, one_by_one=one_by_one)
    return _desk(pairs[:, :1] - pairs[:, 1:], pairs, ledger, draws, groups)


def _desk(
    rows: NDArray[np.float64], target: NDArray[Any], ledger: Ledger, draws: Draws, groups: Any
) -> Desk:
    keep = None
    if groups is not None:
        most = ledger.protection.max_records_per_group
        places = np.arange(len(rows), dtype=np.uint64)
        keep = bound_groups(groups, places, most, draws.coins())
    return Desk(LocalStore(Frame(rows), target, keep), ledger, draws)
