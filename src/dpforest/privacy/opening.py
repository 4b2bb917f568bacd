"""The way in: everything is checked before anything is spent, and there is no other way.

Ledger, protection and the voiding for schemas that were read from the data are made here, so that
no estimator can forget them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.privacy.accounts.caps import Cap
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.opening import open_ledger
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.reservation import Use, settle
from dpforest.privacy.accounts.spends import Amount
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.records.groups import bound_groups
from dpforest.records.local import LocalStore
from dpforest.records.weights import read_weights
from dpforest.schema import Schema
from dpforest.tables.encode import check_columns, encode_target
from dpforest.tables.frames import Frame
from dpforest.tables.labels import encode_equal_labels


def open_desk(
    frame: Frame,
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
    frame : Frame
        The features.
    y : array-like
        The target: classes or bounded numbers, as the schema's target says.
    schema : Schema
        What is public of the table; what it cost is part of the ledger.
    budget : tuple
        Epsilon and delta.
    protection : Protection
        Whether one record or one person is protected.
    draws : Draws
        The secret randomness; where a seed fixes it, the ledger says so.
    groups : array-like, optional
        The person of each record, where persons are protected.
    sample_weight : array-like, optional
        The weight of each record.
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
        weight = None
        if sample_weight is not None:
            assert max_sample_weight is not None
            weight = read_weights(sample_weight, frame.n_rows, max_sample_weight)
        store = _open_store(frame, y, schema, protection, draws, groups, weight, n_jobs)
    except BaseException:
        settle(ledger, "failed")  # nothing was released
        raise
    return Desk(store, ledger, draws)


def _open_store(
    frame: Frame,
    y: Any,
    schema: Schema,
    protection: Protection,
    draws: Draws,
    groups: Any,
    weight: NDArray[np.float64] | None,
    n_jobs: int | None,
) -> LocalStore:
    frame, target = checked_table(frame, y, schema, n_jobs)
    keep = None
    if groups is not None:
        bound = protection.max_records_per_group
        keep = bound_groups(groups, frame.n_rows, bound, draws.below)
    return LocalStore(frame, target, keep, n_jobs, weight)


def checked_table(
    frame: Frame, y: Any, schema: Schema, n_jobs: int | None
) -> tuple[Frame, NDArray[np.int32 | np.float64]]:
    """The columns of the schema and the encoded target; SchemaError where they do not fit it."""
    frame = frame.select(schema)
    target = _encode_target(y, schema, frame.n_rows)
    check_columns(frame, schema, n_jobs)
    return frame, target


def _encode_target(y: Any, schema: Schema, n_rows: int) -> NDArray[np.int32 | np.float64]:
    target: NDArray[np.int32 | np.float64]
    if schema.target is not None and schema.target.classes is None:
        target = encode_target(y, *schema.target_bounds)
    else:
        target = encode_equal_labels(y, schema.classes)
    if len(target) != n_rows:
        raise SchemaError("y must have one value a row of X: X and y have different lengths")
    return target
