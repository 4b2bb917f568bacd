"""``dpforest explain``: what was spent, and the proof, of whatever has a ledger."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Annotated, Any

import typer

from dpforest.cli import inputs
from dpforest.cli.commands import AsJson, app
from dpforest.cli.console import answer
from dpforest.exceptions import ModelFileError
from dpforest.forests.files import read_model
from dpforest.forests.saving import load_model
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.schema import Schema
from dpforest.schema.reading import is_marked

LEAKS = "no guarantee: the schema was read from the data; edit it, or pay for one with --epsilon"
FREE = "nothing was spent: the schema is declared, all of it counts as public"


@app.command()
def explain(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A model, a schema, or an evaluation, as saved."),
    ],
    as_json: AsJson = False,
) -> None:
    """Print what was spent, and the proof of the guarantee.

    Of a model, a schema or an evaluation, by its ledger.
    """
    if not file.is_file():
        raise OSError(f"{file}: no such file; 'dpforest fit' saves models")
    written = None if zipfile.is_zipfile(file) else _json_of(file)
    if written is None:
        model = load_model(file)
        lines = [inputs.account(model), str(read_model(file).provenance)]
        told = inputs.described(model, file)
    elif "features" in written:
        lines, told = _schema(file, written)
    else:
        ledger = Ledger.from_dict(written["ledger"])
        lines, told = [ledger.explain()], {"kind": "evaluation"} | inputs.told_of(ledger)
    answer(told, "\n".join(lines), as_json)


def _schema(file: Path, written: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """What a schema cost: a price, nothing, or the guarantee."""
    if is_marked(written):
        return [LEAKS], {"kind": "schema", "guarantee": None, "reasons": [LEAKS], "ledger": None}
    ledger = Schema.load(file).ledger
    if ledger is None:
        return [FREE], {"kind": "schema", "ledger": None}
    return [ledger.explain()], {"kind": "schema"} | inputs.told_of(ledger)


def _json_of(file: Path) -> dict[str, Any]:
    """A schema or an evaluation; ModelFileError when the file is neither, nor a model."""
    try:
        written = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        written = None
    if not isinstance(written, dict) or not {"features", "ledger"} & written.keys():
        raise ModelFileError(
            f"{file} is not a model, a schema or an evaluation that dpforest saved: expected one"
        )
    return written
