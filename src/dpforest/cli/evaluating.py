"""``dpforest evaluate``: how good a saved model is on a private table, for a price."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from dpforest.cli import budgets, inputs, streaming, tables
from dpforest.cli.commands import (
    AsJson,
    Encoding,
    Force,
    Groups,
    MaxRecords,
    ModelIn,
    Neighbours,
    Seed,
    Separator,
    SharedBudget,
    TableOrFolder,
    app,
)
from dpforest.cli.csv_layout import Asked
from dpforest.forests.saving import load_model
from dpforest.progress import Bar


@app.command()
def evaluate(
    model: ModelIn,
    table: TableOrFolder,
    epsilon: Annotated[float, typer.Option(help="The privacy budget.")],
    delta: Annotated[float, typer.Option(help="Above 0 for Gaussian noise.")] = 0.0,
    target: Annotated[
        str | None, typer.Option(help="The column of the truth; else the schema's target.")
    ] = None,
    groups: Groups = None,
    max_records_per_group: MaxRecords = None,
    neighbors: Neighbours = "add_remove",
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    separator: Separator = None,
    encoding: Encoding = None,
    as_json: AsJson = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A JSON file to write.")
    ] = None,
    force: Force = False,
    budget: SharedBudget = None,
    random_state: Seed = None,
) -> None:
    """Measure a saved model on a private table, for a price.

    Prints figures, intervals and the ledger.
    """
    from dpforest.evaluation import evaluate as measure

    if output is not None:
        inputs.check_new(output, force)
    budgets.require_room(budget, epsilon, delta)
    forest = load_model(model)
    column = inputs.target_column(forest.schema_, target)
    person = [] if groups is None else [groups]
    names = forest.schema_.feature_names
    asked = Asked(separator, encoding)
    X: Any = streaming.source_of(table, asked)
    y: Any = column
    persons: Any = groups
    if X is None:
        with Bar("reading"):
            data = tables.read_table(table, [*names, column, *person], asked)
        X, y = data.select(names), inputs.labels_of(data, column, forest.schema_)
        persons = None if groups is None else data.column(groups)
    found = measure(
        forest,
        X,
        y,
        epsilon=epsilon,
        delta=delta,
        groups=persons,
        max_records_per_group=max_records_per_group,
        neighbors=neighbors,
        level=level,
        budget=budget,
        random_state=random_state,
    )
    written = json.dumps(found.to_dict(), indent=2, ensure_ascii=False)
    # Printed first: what is paid for must not be lost to a full disk.
    typer.echo(written if as_json else f"{found}\n\n{found.ledger.explain()}")
    if output is not None:
        output.write_text(written + "\n", encoding="utf-8")
        typer.echo(f"saved to {output}", err=True)
