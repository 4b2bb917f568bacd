"""The way in: everything is checked before anything is spent, and there is no other way.

Ledger, protection and the voiding for schemas that were read from the data are made here, so that
no estimator can forget them.
"""

from __future__ import annotations

from typing import Any

from dpforest.privacy.accounts.caps import Cap
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.opening import open_ledger
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.reservation import Use, settle
from dpforest.privacy.accounts.spends import Amount
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.records.store import RecordStore
from dpforest.records.stores import Persons, open_frame, open_source
from dpforest.records.weights import Weights
from dpforest.schema import Schema
from dpforest.tables.frames import Frame
from dpforest.tables.sources import Source


def open_desk(
    table: Frame | Source,
    y: Any,
    schema: Schema,
    *,
    budget: tuple[Amount, Amount],
    protection: Protection,
    draws: Draws,
    groups: Any = None,
    sample_weight: Any = None,
    max_sample_weight: float | None = None,
    before: Ledger | None = None,
    n_jobs: int | None = None,
    use: Use | Cap | None = None,
) -> Desk:
    """Check a table against its schema, open its ledger and a desk; releases nothing.

    Parameters
    ----------
    table : Frame or Source
        The features; a source has target, persons and weights among its columns.
    y : array-like or str
        The target: classes or bounded numbers, as the schema's target says; in a source its name.
    schema : Schema
        What is public of the table; what it cost is part of the ledger.
    budget : tuple
        Epsilon and delta.
    protection : Protection
        Whether one record or one person is protected.
    draws : Draws
        The secret randomness; where a seed fixes it, the ledger says so.
    groups : array-like or str, optional
        The person of each record, where persons are protected; in a source the column's name.
    sample_weight : array-like or str, optional
        The weight of each record; in a source the column's name.
    max_sample_weight : float, optional
        The public bound of weights, which goes with them.
    before : Ledger, optional
        Of the model that is continued, or of fits of the same object that failed.
    n_jobs : int, optional
        Threads.
    use : Use or Cap, optional
        Of a budget that is shared, reserved before a record is read; or what a search has paid.
    """
    ledger = open_ledger(schema, *budget, protection, draws.reproducible, before)
    if use is not None:
        ledger = use.begin(ledger)
    try:
        weights = None
        if sample_weight is not None:
            assert max_sample_weight is not None
            weights = Weights(sample_weight, max_sample_weight)
        store = _open_store(table, y, schema, protection, draws, groups, weights, n_jobs)
    except BaseException:
        settle(ledger, "failed")  # nothing was released
        raise
    return Desk(store, ledger, draws)


def _open_store(
    table: Frame | Source,
    y: Any,
    schema: Schema,
    protection: Protection,
    draws: Draws,
    groups: Any,
    weights: Weights | None,
    n_jobs: int | None,
) -> RecordStore:
    persons = None
    if groups is not None:
        persons = Persons(groups, protection.max_records_per_group, draws.coins())
    if isinstance(table, Source):
        return open_source(table, y, schema, persons, n_jobs, weights)
    return open_frame(table, y, schema, persons, n_jobs, weights)
