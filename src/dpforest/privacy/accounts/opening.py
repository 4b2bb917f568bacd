"""Open the ledger of a fit: what its budget stands on top of."""

from collections.abc import Mapping
from typing import Any

from dpforest.exceptions import SchemaError
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Amount, require_made
from dpforest.privacy.accounts.stages import MODELS, Kind, Stage
from dpforest.schema import Schema


def open_ledger(
    schema: Schema,
    epsilon: Amount,
    delta: Amount,
    protection: Protection,
    reproducible: bool,
    before: Ledger | None = None,
    kind: Kind = "fit",
) -> Ledger:
    """Return the ledger of a fit, with nothing spent of its own budget yet.

    A model contains its schema, so the stage of a schema that was paid for is part of the ledger;
    one that was read for nothing leaves no guarantee.

    Parameters
    ----------
    schema : Schema
    epsilon, delta : float or Fraction
        The budget of the fit.
    protection : Protection
    reproducible : bool
        Whether the noise follows from a seed.
    before : Ledger, optional
        Of the model that is continued, or of fits of the same object that failed.
    kind : {"fit", "search"}
        What the budget is for, where no model is continued.

    Examples
    --------
    >>> X = [[age] for age in range(20, 60)] * 50
    >>> schema = Schema.infer(X, epsilon=1.0, types={"x0": "integer"})
    >>> open_ledger(schema, 0.5, 0.0, Protection(), reproducible=False).epsilon
    1.0
    """
    carried = () if before is None else before.stages
    continues = any(stage.kind in MODELS for stage in carried)
    if before is not None and continues and protection != before.protection:
        raise ValueError(
            f"the model was fitted for {before.protection.describe()}: continue it with "
            "the same neighbors, groups and max_records_per_group, or fit a new one"
        )
    known = {stage.identity for stage in carried}
    paid = [stage for stage in _stages_of(schema) if stage.identity not in known]
    ledger = Ledger(
        epsilon,
        delta,
        protection,
        reproducible,
        kind="continued fit" if continues else kind,
        after=(*paid, *carried),
    )
    for reason in schema.ledger.reasons if schema.ledger is not None else ():
        ledger.void(reason)
    return ledger


def _stages_of(schema: Schema) -> list[Stage]:
    """What was paid for a schema."""
    if schema.ledger is None:
        return []
    return [stage for stage in schema.ledger.stages if stage.entries]


def unpaid_ledger(cost: Ledger | None = None) -> Ledger:
    """The ledger of a schema that was read off the records for nothing; it promises nothing.

    Parameters
    ----------
    cost : Ledger, optional
        What was paid for another part of it.
    """
    ledger = Ledger(0, 0, Protection(), kind="schema") if cost is None else cost
    ledger.void(
        "the schema (bounds, categories, classes) was read from the data and not paid for: "
        "declare a Schema, or pay for one with Schema.infer"
    )
    return ledger


def read_schema_ledger(
    written: Mapping[str, Any] | None, read_from_data: bool = False
) -> Ledger | None:
    """Read what a schema cost; SchemaError where its releases do not say what they were made of."""
    if written is None:
        return unpaid_ledger() if read_from_data else None
    ledger = Ledger.from_dict(written)
    try:
        require_made(ledger.entries)
    except ValueError as error:
        raise SchemaError(f"schema: its ledger was edited: {error}") from None
    return unpaid_ledger(ledger) if read_from_data else ledger
