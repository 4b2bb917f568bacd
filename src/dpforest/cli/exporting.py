"""``dpforest export``: a saved model for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from dpforest.cli import inputs
from dpforest.cli.commands import AsJson, Force, ModelIn, app
from dpforest.cli.console import answer
from dpforest.forests.exporting import ExportedEstimator
from dpforest.forests.saving import load_model


@app.command()
def export(
    model: ModelIn,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    form: Annotated[Literal["onnx", "json"], typer.Option("--format", help="Of the file.")],
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a saved model as ONNX or JSON; costs no budget."""
    inputs.check_new(output, force)
    forest = load_model(model)
    assert isinstance(forest, ExportedEstimator)
    write = forest.to_onnx if form == "onnx" else forest.to_json
    write(output, overwrite=force)
    answer({"saved": str(output), "format": form}, f"saved to {output}", as_json)
