"""``dpforest demo``: what privacy costs, shown on a synthetic census."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dpforest.cli import demo as demonstration
from dpforest.cli import inputs
from dpforest.cli.commands import AsJson, Force, Seed, app
from dpforest.cli.console import tell


@app.command()
def demo(
    rows: Annotated[int, typer.Option(min=100, help="People in the synthetic census.")] = 50_000,
    report: Annotated[
        Path | None, typer.Option(help="Write the report of one forest, an .html file.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    random_state: Seed = None,
) -> None:
    """Show on a synthetic census what privacy costs.

    Trains at several epsilons and without privacy; prints accuracies and a ledger.
    """
    if report is not None:
        inputs.check_new(report, force, "--report")
    found = demonstration.run(rows, random_state)
    if report is not None:
        found.report().save(report, overwrite=force)
    if as_json:
        tell(found.to_dict() | {"report": None if report is None else str(report)})
        return
    typer.echo(found.title())
    Console().print(found.table())
    typer.echo(f"The ledger of the forest at epsilon = {demonstration.SHOWN:g}:\n")
    typer.echo(found.ledger.explain())
    if report is not None:
        typer.echo(f"\nits report is in {report}: open it in a browser")
