"""The way into an evaluation: a fixed model is asked about every record, and nothing is spent.

Opening checks all there is to check: budget, protection, labels, what the model answers, persons.
What a desk then holds of a record is its outcome (`dpforest.records.outcomes`), and nothing else.
``docs/privacy/evaluation.md`` has the proof.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.privacy.accounts.budget import Budget
from dpforest.privacy.accounts.budget_filter import most_of
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.reservation import Use
from dpforest.privacy.accounts.spends import exact
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.records.groups import bound_groups, person_keys
from dpforest.records.local import LocalStore
from dpforest.records.outcomes import class_outcomes, number_outcomes
from dpforest.schema.categories import Category
from dpforest.tables.frames import Frame
from dpforest.tables.sources import EMPTY, as_source
from dpforest.tables.streams import blocks_of


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
    coins = draws.coins()

    def outcomes(X: Any, y: Any, first: int) -> NDArray[np.float64]:
        def draw(m: int, size: int) -> NDArray[np.int64]:
            return coins.below(m, np.arange(first, first + size, dtype=np.uint64))

        how = {"scores": scores, "one_by_one": one_by_one}
        return class_outcomes(model, X, y, classes, draw, **how)

    rows, persons = _of_all(outcomes, model, X, y, groups)
    return _desk(rows, np.zeros(len(rows), np.int32), ledger, draws, persons)


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

    def outcomes(X: Any, y: Any, first: int) -> NDArray[np.float64]:
        return number_outcomes(model, X, y, bounds, one_by_one=one_by_one)

    pairs, persons = _of_all(outcomes, model, X, y, groups)
    return _desk(pairs[:, :1] - pairs[:, 1:], pairs, ledger, draws, persons)


def _of_all(
    outcomes: Callable[[Any, Any, int], NDArray[np.float64]],
    model: Any,
    X: Any,
    y: Any,
    groups: Any,
) -> tuple[NDArray[np.float64], Any]:
    """The outcomes of all records, those of a source block by block; and their persons."""
    source = as_source(X)
    if source is None:
        return outcomes(X, y, 0), groups
    named = [y] if groups is None else [y, groups]
    if not all(isinstance(name, str) for name in named):
        raise SchemaError("y and groups must be names of columns of the source, not their values")
    others = [name for name in source.names if name not in named]
    features = list(getattr(model, "feature_names_in_", others))
    source.require([*features, *named])
    rows, persons, first = [], [], 0
    for block in blocks_of(source, [*features, *named]):
        rows.append(outcomes(block.select(features).to_native(), block[y].to_native(), first))
        first += len(block)
        if groups is not None:
            persons.append(person_keys(block[groups].to_native()))
    if not rows:
        raise SchemaError(EMPTY)
    return np.concatenate(rows), np.concatenate(persons) if persons else None


def _desk(
    rows: NDArray[np.float64], target: NDArray[Any], ledger: Ledger, draws: Draws, groups: Any
) -> Desk:
    keep = None
    if groups is not None:
        most = ledger.protection.max_records_per_group
        places = np.arange(len(rows), dtype=np.uint64)
        keep = bound_groups(groups, places, most, draws.coins())
    return Desk(LocalStore(Frame(rows), target, keep), ledger, draws)
