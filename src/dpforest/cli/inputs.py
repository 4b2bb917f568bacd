"""What the options of the commands mean: schema, target column, estimator."""

import json
import secrets
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import typer

from dpforest.cli import estimators
from dpforest.cli.tables import InputTable, is_parquet, with_guessed_numbers
from dpforest.exceptions import SchemaError
from dpforest.forests.base import PrivateEstimator
from dpforest.forests.files import read_model
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.schema import Schema
from dpforest.schema.column_types import Types, check_types
from dpforest.schema.reading import READ_FROM_DATA, is_marked, read_json
from dpforest.tables.arrow_source import ParquetTable
from dpforest.tables.labels import spelled_classes


def load_schema(path: Path) -> Schema:
    """Read the schema; refuse one that is not there, or that was read off the data."""
    if not path.is_file():
        raise OSError(
            f"--schema {path}: no such file; 'dpforest schema TABLE --target COLUMN -o {path}' "
            "writes a starter to edit"
        )
    entry = read_json(path)
    if is_marked(entry):
        raise SchemaError(
            f"--schema {path} was read from the data, so training with it has no guarantee: "
            "replace its bounds, categories and classes by public ones and delete "
            f"{READ_FROM_DATA!r}, or pay for a schema with 'dpforest schema --epsilon'"
        )
    return Schema.from_dict(entry)


def target_column(schema: Schema, asked: str | None) -> str:
    """Return the column to predict: the one asked for, else the schema's."""
    if schema.target is None:
        raise ValueError("the schema declares no target: add 'target': {'classes': [...]}")
    name = asked or schema.target.name
    if name in schema.feature_names:
        raise ValueError(
            f"--target {name!r} is also a feature of the schema: take it out of the features"
        )
    return name


def labels_of(table: InputTable, name: str, schema: Schema) -> Any:
    """Return the target; the cells of a CSV file are texts, and read as the schema's classes."""
    column = table.column(name)
    if schema.target is None or schema.target.classes is None or is_parquet(table.source):
        return column
    return spelled_classes(column, schema.target.classes)


def build(
    name: str | None, schema: Schema, delta: float | None, **options: Any
) -> PrivateEstimator:
    """Make the estimator that was asked for, else the flagship; ValueError if it has no delta."""
    kind = estimators.flagship(schema) if name is None else estimators.find(name)
    if delta is not None:
        if "delta" not in kind().get_params():
            raise ValueError(f"{name} is purely epsilon-private and has no --delta: leave it out")
        options["delta"] = delta
    return kind(schema=schema, **options)


def tell_ignored(
    table: InputTable | ParquetTable, schema: Schema, target: str, groups: str | None
) -> None:
    """Say which columns of the table take no part."""
    used = {*schema.feature_names, target, groups}
    ignored = [repr(name) for name in table.names if name not in used]
    if ignored:
        typer.echo(f"not in the schema and ignored: {', '.join(ignored)}", err=True)


def save_starter(
    table: InputTable | ParquetTable, names: Sequence[str], target: str, path: Path
) -> None:
    """Read a schema off a table, which leaks (`Schema.from_frame` warns), and mark it so."""
    if isinstance(table, ParquetTable):
        found = Schema.from_frame(table.only(names), target)
    else:
        found = _starter(with_guessed_numbers(table), names, target)
    # Without its ledger: what is public after editing has no account of a leak.
    entry = Schema(found.features, found.target).to_dict()
    why = "PRIVATE: replace bounds, categories and classes by public ones, then delete this line"
    text = json.dumps({READ_FROM_DATA: why} | entry, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def _starter(table: InputTable, names: Sequence[str], target: str) -> Schema:
    features = [name for name in names if name != target]
    found = Schema.from_frame(table.select(features), table.column(target))
    assert found.target is not None
    pairs = zip(found.features, features, strict=True)
    named = tuple(replace(feature, name=name) for feature, name in pairs)
    return Schema(named, replace(found.target, name=target))


def column_types(options: Sequence[str], table: Path) -> Types:
    """Read --types: column=type, several with commas or by repeating it; or frame."""
    items = [item for option in options for item in option.split(",")]
    if items == ["frame"]:
        if not is_parquet(table):
            raise ValueError(
                f"--types frame: {table} is CSV and has no types; declare them, as in "
                "--types age=integer,city=category, or leave them to be asked and paid for"
            )
        return "frame"
    pairs = [item.rpartition("=") for item in items]
    if not all(name for name, _, _ in pairs):
        raise ValueError(
            "--types: expected column=type and commas between them, as in "
            "age=integer,city=category, or the one word frame for the types of a Parquet file"
        )
    types: dict[str, Any] = {name: declared for name, _, declared in pairs}
    check_types(types, list(types))
    return types


def declared_categories(options: Sequence[str]) -> dict[str, list[str]]:
    """Read --categories: column=a,b,c, a column each."""
    pairs = [option.partition("=") for option in options]
    if not all(name and values for name, _, values in pairs):
        raise ValueError(
            "--categories: expected column=a,b,c, and the option again for another column"
        )
    return {name: values.split(",") for name, _, values in pairs}


def check_ids(names: Sequence[str], answers: Sequence[str]) -> None:
    """Refuse a column to carry over that has the name of a column of predictions."""
    taken = [name for name in names if name in answers]
    if taken:
        raise ValueError(
            f"--id {taken[0]!r} is the name of a column of predictions: rename it in the table"
        )


def told_of(ledger: Ledger) -> dict[str, Any]:
    """Return a ledger for machines: the guarantee or why there is none, notes, and the proof."""
    written = ledger.to_dict()
    return {
        "guarantee": written["guarantee"],
        "releasable": written["releasable"],
        "protects": ledger.protection.describe(),
        "reasons": list(ledger.reasons),
        "notes": list(ledger.notes),
        "ledger": written,
    }


def described(model: PrivateEstimator, path: Path) -> dict[str, Any]:
    """Return a saved model for machines: what it promises and where the file comes from."""
    saved = read_model(path)
    return {
        "kind": "model",
        "estimator": type(model).__name__,
        "digest": saved.digest,
        "provenance": asdict(saved.provenance),
    } | told_of(model.ledger_)


def account(model: PrivateEstimator) -> str:
    """Return the ledger of a model, which holds what its schema cost."""
    return model.ledger_.explain()


def promise(model: PrivateEstimator) -> str:
    """Return the first line of it: the guarantee, or why there is none."""
    return account(model).splitlines()[0]


def check_new(path: Path, force: bool, option: str = "--output") -> None:
    """Refuse a place where nothing can be written, or is already: before anything is read."""
    if path.is_dir():
        raise OSError(f"{option} {path} is a folder: name a file")
    if not path.parent.is_dir():
        raise OSError(f"{option} {path}: there is no folder {path.parent}; create it first")
    if path.exists() and not force:
        raise OSError(f"{option} {path} exists: give another name, or --force to overwrite it")


def save_or_keep(model: PrivateEstimator, path: Path, **options: Any) -> None:
    """Save a model; where another one took the name meanwhile, keep this one under its own."""
    try:
        model.save(path, **options)
    except FileExistsError:
        kept = path.with_name(f"{path.stem}-{secrets.token_hex(4)}{path.suffix}")
        model.save(kept, **options)
        raise OSError(
            f"{path} was written by somebody else meanwhile: it was left as it is, and this model "
            f"was kept as {kept}"
        ) from None
