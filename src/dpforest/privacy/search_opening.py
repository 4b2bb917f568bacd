"""The way into a search: a table is checked and parted, and nothing is spent.

Candidates are trained on one part by the usual way in (`opening`); of the other part a desk holds,
for each trained candidate, the mark of every record and nothing else (`dpforest.records.marks`).
``docs/privacy/choice.md`` has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.records.groups import bound_groups
from dpforest.records.local import LocalStore
from dpforest.records.marks import marks_of
from dpforest.records.parts import held_out, rows_of
from dpforest.records.stores import checked_table
from dpforest.schema import Schema
from dpforest.tables.frames import Frame


@dataclass(frozen=True)
class Parts:
    """A table in two parts that share no record and no person.

    Parameters
    ----------
    training : tuple
        Features, target and persons (or None), for `fit`.
    hold_out : tuple
        Features and target of the other part.
    keep : ndarray or None
        Its rows that count, where a person's records are bounded.
    schema : Schema
    draws : Draws
    """

    training: tuple[Any, Any, Any] = field(repr=False)
    hold_out: tuple[Any, Any] = field(repr=False)
    keep: NDArray[np.int64] | None = field(repr=False)
    schema: Schema
    draws: Draws

    def desk(self, model: Any, ledger: Ledger) -> Desk:
        """A desk of the marks that a trained candidate has on the hold-out part."""
        marks = marks_of(model, *self.hold_out, self.schema, self.draws.below)
        return Desk(LocalStore(Frame(marks[:, np.newaxis]), marks, self.keep), ledger, self.draws)


def open_parts(
    X: Any,
    y: Any,
    schema: Schema,
    *,
    share: Fraction,
    draws: Draws,
    groups: Any = None,
    max_records_per_group: int | None = None,
    n_jobs: int | None = None,
) -> Parts:
    """Check a table against its schema and part it; releases nothing.

    Parameters
    ----------
    X, y : table, array-like
    schema : Schema
    share : Fraction
        The chance of each record, or person, to be held out.
    draws : Draws
    groups : array-like, optional
        The person of each record, where persons are protected.
    max_records_per_group : int, optional
        How many records of a person count.
    n_jobs : int, optional
        Threads.
    """
    frame, _ = checked_table(Frame(X), y, schema, n_jobs)
    out = held_out(frame.n_rows, groups, share, draws.below)
    if out.all() or not out.any():
        raise SchemaError(
            "X has too few records to be parted, and all fell into one part: at least some dozens "
            "are needed. Nothing was spent"
        )
    here, there = np.flatnonzero(~out), np.flatnonzero(out)
    keep = None
    if groups is not None:
        assert max_records_per_group is not None
        persons = rows_of(groups, there)
        places = np.arange(len(there), dtype=np.uint64)
        keep = bound_groups(persons, places, max_records_per_group, draws.coins())
    training = rows_of(X, here), rows_of(y, here), rows_of(groups, here)
    return Parts(training, (rows_of(X, there), rows_of(y, there)), keep, schema, draws)
