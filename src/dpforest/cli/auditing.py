"""``dpforest audit``: try to catch a model at leaking more than it says."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from dpforest.cli import inputs
from dpforest.cli.commands import AsJson, Force, Seed, app
from dpforest.cli.console import tell


@app.command()
def audit(
    model_or_name: Annotated[
        str,
        typer.Argument(
            metavar="MODEL_OR_NAME",
            help="A saved model, the name of an estimator (audited in small), or of a control.",
        ),
    ],
    epsilon: Annotated[
        float | None, typer.Option(help="The claim to test; else what the ledger says.")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="Goes with the claim.")] = None,
    trials: Annotated[int, typer.Option(help="Fits, all in all.")] = 20_000,
    confidence: Annotated[float, typer.Option(help="Of the lower bound on epsilon.")] = 0.999,
    plot: Annotated[Path | None, typer.Option(help="Where to draw the scores, a .png.")] = None,
    force: Force = False,
    as_json: AsJson = False,
    random_state: Seed = None,
) -> None:
    """Try to catch a forest at leaking more than it says.

    Exits with 1 when it does.
    """
    from dpforest.cli import attacks

    if plot is not None:
        inputs.check_new(plot, force, "--plot")
    audited = attacks.find(model_or_name, epsilon, delta)
    options = {"epsilon": epsilon, "delta": delta, "confidence": confidence}
    found: list[dict[str, Any]] = []
    for report in attacks.run(audited, trials, random_state=random_state, **options):
        if not as_json:
            typer.echo(str(report))
        scores = {"scores": None}  # thousands of numbers, for pictures only
        found.append(asdict(report) | scores | {"leaks": report.leaks, "verdict": report.verdict})
        if plot is not None:
            report.plot(plot)
    if as_json:
        tell(found)
    if any(each["leaks"] for each in found):
        raise typer.Exit(1)
