"""Open a table to a curator: the way in, where everything is checked before anything is spent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.curator import Curator
from dpforest.privacy.mechanisms.randomness import RandomBits
from dpforest.records.groups import bound_groups
from dpforest.records.local import LocalStore
from dpforest.schema import Schema
from dpforest.tables.encode import check_columns, encode_labels, encode_target
from dpforest.tables.frames import Frame


def open_table(
    frame: Frame,
    y: Any,
    schema: Schema,
    *,
    ledger: Ledger,
    bits: RandomBits,
    groups: Any = None,
    n_jobs: int | None = None,
) -> Curator:
    """Check a table against its schema and hand it to a curator; releases nothing.

    Parameters
    ----------
    frame : Frame
        The features.
    y : array-like
        The target: classes or bounded numbers, as the schema's target says.
    schema : Schema
        What is public of the table.
    ledger : Ledger
        Its protection says whether one record or one group is protected.
    bits : RandomBits
        The secret randomness.
    groups : array-like, optional
        The person of each record, where persons are protected.
    n_jobs : int, optional
        Threads.
    """
    frame = frame.select(schema)
    target = _encode_target(y, schema, frame.n_rows)
    check_columns(frame, schema, n_jobs)
    keep = None
    if groups is not None:
        bound = ledger.protection.max_records_per_group
        keep = bound_groups(groups, frame.n_rows, bound, bits.uniform_below)
    return Curator(LocalStore(frame, target, keep, n_jobs), ledger, bits)


def _encode_target(y: Any, schema: Schema, n_rows: int) -> NDArray[np.int32 | np.float64]:
    target: NDArray[np.int32 | np.float64]
    if schema.target is not None and schema.target.classes is None:
        target = encode_target(y, *schema.target_bounds)
    else:
        target = encode_labels(y, schema.classes)
    if len(target) != n_rows:
        raise SchemaError("y must have one value a row of X: X and y have different lengths")
    return target
