"""The doors of the schema: who reads one off records, and who reads back what it cost.

A schema lies at the bottom of the house; the rooms that may read records lie above it and know it.
So what `Schema` offers and only the privacy room may do is asked for there by name, when it is
called, and nowhere else: `tests/test_walls.py` counts the doors.
"""

from importlib import import_module
from typing import Any


def infer(*arguments: Any, **options: Any) -> Any:
    """Features, target and ledger of a table, for a price; see `privacy.inference`."""
    return import_module("dpforest.privacy.inference").infer_schema(*arguments, **options)


def observe(*arguments: Any) -> Any:
    """Features, target and a void ledger, read off a table for nothing; see `privacy.observing`."""
    return import_module("dpforest.privacy.observing").observe_schema(*arguments)


def read_ledger(*arguments: Any) -> Any:
    """What a schema cost, or that nobody paid for it; see `privacy.accounts.opening`."""
    return import_module("dpforest.privacy.accounts.opening").read_schema_ledger(*arguments)
