"""``dpforest report``: one page about a model, for whoever must say yes or no to its release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from dpforest.cli import inputs
from dpforest.cli.commands import AsJson, Force, ModelIn, app
from dpforest.cli.console import answer
from dpforest.forests.saving import load_model


@app.command()
def report(
    model: ModelIn,
    output: Annotated[Path, typer.Option("--output", "-o", help="The .html file to write.")],
    evaluation: Annotated[
        Path | None, typer.Option(help="What 'dpforest evaluate -o' wrote, to be part of it.")
    ] = None,
    budget: Annotated[
        Path | None, typer.Option(help="The budget of the table, to be part of it.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="The signer's public key, to check the signature MODEL.sig.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write one page about a saved model, to sign and file.

    It needs nothing else, holds released numbers alone, and costs nothing.
    """
    inputs.check_new(output, force)
    forest = load_model(model)
    measured = None if evaluation is None else _read(evaluation)
    page = forest.report(evaluation=measured, budget=budget, file=model, key=key)
    page.save(output, overwrite=force)
    answer({"saved": str(output), "bytes": len(page.html.encode())}, f"saved to {output}", as_json)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"--evaluation {path} is not what 'dpforest evaluate -o' wrote")
    return found
