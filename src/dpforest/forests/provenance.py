"""Where a model file comes from: by what it was written, when, about which table, for whom."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import dpforest
from dpforest.privacy.accounts.protection import Protection
from dpforest.schema import Schema


@dataclass(frozen=True)
class Provenance:
    """What a file says of itself; all of it is public.

    Parameters
    ----------
    library : str
        The version of dpforest.
    created : str
        The date and time of saving, UTC.
    schema_sha256 : str
        Of the features and the target of the schema.
    table : str or None
        A name that was given to the table.
    protects : str
        Who is protected.
    """

    library: str
    created: str
    schema_sha256: str
    table: str | None
    protects: str

    @classmethod
    def now(cls, schema: Schema, protection: Protection, table: str | None) -> Provenance:
        """That of a file that is written now."""
        if not isinstance(table, str | None):
            raise TypeError(f"table must be a name or None, not {type(table).__name__}")
        created = datetime.now(UTC).isoformat(timespec="seconds")
        who = protection.describe()
        return cls(dpforest.__version__, created, schema_digest(schema), table, who)

    def check(self, schema: Schema, protection: Protection) -> None:
        """Raise ValueError where the file holds another schema or protects others."""
        if self.schema_sha256 != schema_digest(schema):
            raise ValueError("the schema is not the one that the file was written with")
        if self.protects != protection.describe():
            raise ValueError("the ledger protects others than the file says")

    def __str__(self) -> str:
        """One line for readers."""
        table = "" if self.table is None else f", table {self.table!r}"
        return (
            f"written by dpforest {self.library} on {self.created}{table}, "
            f"schema {self.schema_sha256[:12]}"
        )


def schema_digest(schema: Schema) -> str:
    """SHA-256 of what a schema declares, whatever it cost."""
    written = schema.to_dict()
    return digest_of({name: written.get(name) for name in ("features", "target")})


def digest_of(value: Any) -> str:
    """SHA-256 of the canonical JSON of a value: sorted keys, no spaces.

    Examples
    --------
    >>> digest_of({"b": 1, "a": [2.0]}) == digest_of({"a": [2.0], "b": 1})
    True
    """
    # Through JSON first: keys become texts before they are sorted.
    plain = json.loads(json.dumps(value))
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
