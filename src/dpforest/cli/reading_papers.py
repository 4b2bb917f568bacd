"""``dpforest literature`` and ``reproduce``: the systems and the tables of the papers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dpforest.cli.commands import AsJson, app
from dpforest.cli.console import tell


@app.command()
def literature(
    name: Annotated[str | None, typer.Argument(help="A system, for example edprf.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the systems of the literature, or describe one.

    The list says whether their guarantee holds.
    """
    from dpforest import literature as systems

    if as_json:
        found = [systems.describe(each) for each in (systems.names() if name is None else [name])]
        tell([asdict(each) for each in found])
        return
    if name is not None:
        typer.echo(str(systems.describe(name)))
        return
    for each in map(systems.describe, systems.names()):
        paper = f"{each.paper.authors.split(',')[0]} {each.paper.year}"
        typer.echo(f"{each.name:18} {each.guarantee:9} {each.title} ({paper})")


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(help="The paper, for example 004.")],
    table: Annotated[int | None, typer.Option(help="One table of it; else all.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A smaller grid.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="The folder for results, as Markdown and CSV.")
    ] = None,
) -> None:
    """Run a paper's tables beside the published values."""
    from dpforest import reproduce as papers

    papers.run(paper, table=table, quick=quick, out=out)
