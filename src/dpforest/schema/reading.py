"""Read the parts of a schema from files and dictionaries, with errors that name the place."""

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpforest.exceptions import PrivacyLeakWarning, SchemaError
from dpforest.schema import doors
from dpforest.schema.features import (
    CategoricalFeature,
    Feature,
    NumericFeature,
    Target,
    check_name,
    feature_where,
)

if TYPE_CHECKING:
    from dpforest.privacy.accounts.ledger import Ledger


READ_FROM_DATA = "read_from_data"
"""The key of a schema that was read off records, which goes when somebody has edited it."""


def read_json(path: str | Path) -> Any:
    """Read a JSON file."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        where = f"see line {error.lineno}, column {error.colno}" if error.doc else "it is empty"
        raise SchemaError(f"{path}: not a JSON file: {where}") from None
    except UnicodeDecodeError:
        raise SchemaError(f"{path}: not a JSON file: it is not UTF-8 text") from None


def read_parts(item: object) -> tuple[tuple[Feature, ...], Target | None, "Ledger | None"]:
    """Read the features, the target and what the schema cost; warn if nobody paid for it."""
    entry = mapping(item, "schema")
    features = key(entry, "features", "schema")
    if not isinstance(features, Sequence) or isinstance(features, str):
        raise SchemaError("schema: 'features' must be a list of dictionaries")
    target = entry.get("target")
    parts = (
        tuple(read_feature(item, i) for i, item in enumerate(features)),
        None if target is None else read_target(target),
        read_ledger(entry),
    )
    if is_marked(entry):
        warn_of_leak(stacklevel=4)
    return parts


def is_marked(item: object) -> bool:
    """Whether the mark of a schema that was read off the records is still there."""
    return isinstance(item, Mapping) and READ_FROM_DATA in item


def warn_of_leak(stacklevel: int) -> None:
    """Say that nobody paid for a schema."""
    warnings.warn(
        "the schema was read from the data: its bounds, categories and classes are private "
        "and were not paid for; declare a Schema, or pay with Schema.infer",
        PrivacyLeakWarning,
        stacklevel=stacklevel,
    )


def read_feature(item: object, position: int) -> Feature:
    """Read a feature."""
    entry = mapping(item, f"schema: features[{position}]")
    name = check_name(key(entry, "name", f"schema: features[{position}]"), "feature")
    where = feature_where(name)
    match key(entry, "kind", where):
        case "numeric":
            cuts = entry.get("cuts")
            return NumericFeature(
                name,
                low=key(entry, "low", where),
                high=key(entry, "high", where),
                integer=entry.get("integer", False),
                cuts=cuts,
            )
        case "categorical":
            return CategoricalFeature(name, categories=key(entry, "categories", where))
        case _:
            raise SchemaError(f"{where}: 'kind' must be 'numeric' or 'categorical'")


def read_target(item: object) -> Target:
    """Read a target."""
    entry = mapping(item, "target")
    known = {key: entry[key] for key in ("name", "classes", "low", "high") if key in entry}
    return Target(**known)


def read_ledger(entry: Mapping[str, Any]) -> "Ledger | None":
    """Read what a schema cost; None when it was declared."""
    if "ledger" not in entry and not is_marked(entry):
        return None
    written = mapping(entry["ledger"], "ledger") if "ledger" in entry else None
    ledger: Ledger = doors.read_ledger(written, is_marked(entry))
    return ledger


def mapping(item: object, where: str) -> Mapping[str, Any]:
    """Return the item if it is a dictionary; SchemaError otherwise."""
    if not isinstance(item, Mapping):
        raise SchemaError(f"{where}: expected a dictionary, got {type(item).__name__}")
    return item


def key(entry: Mapping[str, Any], name: str, where: str) -> Any:
    """Return what an entry holds under a key; SchemaError when there is nothing."""
    if name not in entry:
        raise SchemaError(f"{where}: {name!r} is missing")
    return entry[name]
