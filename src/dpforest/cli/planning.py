"""``dpforest plan``: what to expect of a fit, before anything is spent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from dpforest.cli import estimators, inputs
from dpforest.cli.commands import app


@app.command()
def plan(
    schema: Annotated[Path, typer.Option(help="What is public of the table, a JSON file.")],
    rows: Annotated[int, typer.Option(min=1, help="A public guess of the number of records.")],
    more: Annotated[
        list[float] | None, typer.Argument(metavar="[EPSILON]...", help="More epsilons.")
    ] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="Epsilons to try: --epsilon 0.1 0.5 1.")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="As in fit.")] = None,
    estimator: Annotated[
        str | None,
        typer.Option(help="Another estimator than PrivateForestClassifier or -Regressor."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Synthetic tables of each kind.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    random_state: Annotated[int, typer.Option(help="Draws other tables.")] = 0,
) -> None:
    """Simulate what fits of this shape come to, on synthetic tables; reads no record."""
    from dpforest.evaluation import planning

    declared = inputs.load_schema(schema)
    epsilons = [*(epsilon or []), *(more or [])] or list(planning.EPSILONS)
    kind = estimators.flagship(declared) if estimator is None else estimators.find(estimator)
    model = kind() if delta is None else inputs.build(estimator, declared, delta)
    found = planning.plan(
        declared, rows, epsilons, estimator=model, n_seeds=seeds, random_state=random_state
    )
    typer.echo(json.dumps(found.to_dict(), indent=2) if as_json else str(found))
