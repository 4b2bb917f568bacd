"""The way into an evaluation: a fixed model is asked about every record, and nothing is spent.

Opening checks all there is to check: budget, protection, labels, what the model answers, persons.
What a desk then holds of a record is its outcome (`dpforest.records.outcomes`), and nothing else.
``docs/privacy/evaluation.md`` has the proof.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Amount
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.records.groups import bound_groups
from dpforest.records.local import LocalStore
from dpforest.records.outcomes import class_outcomes, number_outcomes
from dpforest.schema.categories import Category
from dpforest.tables.frames import Frame


def open_class_outcomes(
    model: Any,
    X: Any,
    y: Any,
    classes: tuple[Category, ...],
    *,
    budget: tuple[Amount, Amount],
    protection: Protection,
    draws: Draws,
    groups: Any,
    scores: bool,
    one_by_one: bool,
) -> Desk:
    """A desk of what a classifier says of records; its columns are those of `class_outcomes`."""
    ledger = _open_ledger(budget, protection, draws)
    rows = class_outcomes(model, X, y, classes, draws.below, scores=scores, one_by_one=one_by_one)
    return _desk(rows, np.zeros(len(rows), np.int32), ledger, draws, groups)


def open_number_outcomes(
    model: Any,
    X: Any,
    y: Any,
    bounds: tuple[float, float],
    *,
    budget: tuple[Amount, Amount],
    protection: Protection,
    draws: Draws,
    groups: Any,
    one_by_one: bool,
) -> Desk:
    """A desk of residuals; its targets are pairs of truth and prediction."""
    ledger = _open_ledger(budget, protection, draws)
    pairs = number_outcomes(model, X, y, bounds, one_by_one=one_by_one)
    return _desk(pairs[:, :1] - pairs[:, 1:], pairs, ledger, draws, groups)


def _open_ledger(budget: tuple[Amount, Amount], protection: Protection, draws: Draws) -> Ledger:
    ledger = Ledger(*budget, protection, draws.reproducible, kind="evaluation")
    ledger.note(
        "the model counts as public: where it was trained on these records, add up both ledgers"
    )
    return ledger


def _desk(
    rows: NDArray[np.float64], target: NDArray[Any], ledger: Ledger, draws: Draws, groups: Any
) -> Desk:
    keep = None
    if groups is not None:
        most = ledger.protection.max_records_per_group
        keep = bound_groups(groups, len(rows), most, draws.below)
    return Desk(LocalStore(Frame(rows), target, keep), ledger, draws)
