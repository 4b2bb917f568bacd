"""A schema read off the records for nothing: there is no guarantee for what is made with it."""

from __future__ import annotations

from typing import Any

from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.opening import unpaid_ledger
from dpforest.records.observe import observe
from dpforest.schema import Feature, Target, Task


def observe_schema(X: Any, y: Any, task: Task) -> tuple[tuple[Feature, ...], Target | None, Ledger]:
    """Features, target, and a ledger that says why it promises nothing."""
    return *observe(X, y, task), unpaid_ledger()
