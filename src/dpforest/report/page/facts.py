"""What a report tells: plain values that were released or are public, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from dpforest.privacy.accounts.budget import Budget
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.report.effects import FeatureEffect
from dpforest.schema import Schema

State = Literal["complete", "failed", "holds records"]
Signature = Literal["none", "unchecked", "fits"]


class Importance(NamedTuple):
    """How much a feature counts; with an interval, but for models that were chosen once."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class FileFacts:
    """A model file: its name, what it says of itself, its digests and its signature.

    Parameters
    ----------
    name : str
    says : mapping of str to str
        Where the file comes from.
    digest : str
        Of the contents, as the file holds it.
    sha256 : str
        Of the bytes of the file.
    signature : {"none", "unchecked", "fits"}
    key : str, optional
        The public key that the signature fits.
    """

    name: str
    says: Mapping[str, str]
    digest: str
    sha256: str
    signature: Signature = "none"
    key: str | None = None


@dataclass(frozen=True)
class ReportFacts:
    """Everything a page is made of.

    Parameters
    ----------
    estimator : str
    state : {"complete", "failed", "holds records"}
        Whether the fit came to its end, and whether the object may be handed over at all.
    ledger : Ledger
    schema : Schema
    settings, shape, plan : mapping
        The parameters that were asked for, the size of what came of them, and how it was planned.
    library : str
        The version of dpforest.
    importances : mapping of str to Importance
        By feature; empty where the model has none.
    effects : tuple of FeatureEffect
    file : FileFacts, optional
    evaluation : mapping, optional
        What ``Evaluation.to_dict`` gives.
    budget : Budget, optional
    made : str
        The day of the report.
    """

    estimator: str
    state: State
    ledger: Ledger
    schema: Schema
    settings: Mapping[str, Any]
    shape: Mapping[str, Any]
    plan: Mapping[str, Any]
    library: str
    importances: Mapping[str, Importance] = field(default_factory=dict)
    effects: tuple[FeatureEffect, ...] = ()
    file: FileFacts | None = None
    evaluation: Mapping[str, Any] | None = None
    budget: Budget | None = None
    made: str = field(default_factory=lambda: datetime.now(UTC).date().isoformat())

    @property
    def table(self) -> str | None:
        """The public name of the table, where somebody gave it one."""
        named = None if self.file is None else self.file.says.get("table")
        return named or (None if self.budget is None else self.budget.table)
