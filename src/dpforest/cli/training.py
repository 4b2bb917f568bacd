"""``dpforest fit`` and ``predict``: from a table to a model, and from a model to predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpforest.cli import budgets, estimators, inputs, streaming, tables
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
from dpforest.cli.console import answer, tell
from dpforest.cli.csv_layout import Asked
from dpforest.cli.streaming import INTERVAL, PREDICTION
from dpforest.forests.saving import load_model
from dpforest.progress import Bar


@app.command()
def fit(
    table: TableOrFolder,
    schema: Annotated[Path, typer.Option(help="What is public of the table, a JSON file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to save the model.")],
    epsilon: Annotated[
        float, typer.Option(help="The privacy budget; inf for a model without privacy.")
    ] = 1.0,
    delta: Annotated[
        float | None,
        typer.Option(help="The other half of the budget: 1e-6 by default, 0 for pure epsilon."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The column to predict; else the schema's target.")
    ] = None,
    estimator: Annotated[
        str | None,
        typer.Option(
            help="Another estimator than PrivateForestClassifier or -Regressor: "
            + ", ".join(estimators.OTHERS)
            + ".",
        ),
    ] = None,
    groups: Groups = None,
    max_records_per_group: MaxRecords = None,
    neighbors: Neighbours = "add_remove",
    table_name: Annotated[
        str | None, typer.Option(help="A public name of the table, to be kept in the model.")
    ] = None,
    separator: Separator = None,
    encoding: Encoding = None,
    force: Force = False,
    as_json: AsJson = False,
    budget: SharedBudget = None,
    random_state: Seed = None,
) -> None:
    """Train a private forest on a table and save it.

    Prints its ledger. Everything is checked before anything is spent.
    """
    inputs.check_new(output, force)
    declared = inputs.load_schema(schema)
    column = inputs.target_column(declared, target)
    model = inputs.build(
        estimator,
        declared,
        delta,
        epsilon=epsilon,
        max_records_per_group=max_records_per_group,
        neighbors=neighbors,
        random_state=random_state,
        budget=budget,
    )
    budgets.require_room(budget, model.epsilon, getattr(model, "delta", 0.0))
    asked = Asked(separator, encoding)
    source = streaming.source_of(table, asked)
    if source is not None:
        inputs.tell_ignored(source, declared, column, groups)
        model.fit(source, column, groups=groups)
    else:
        with Bar("reading"):
            person = [] if groups is None else [groups]
            data = tables.read_table(table, [*declared.feature_names, column, *person], asked)
        inputs.tell_ignored(data, declared, column, groups)
        persons = {} if groups is None else {"groups": data.column(groups)}
        labels = inputs.labels_of(data, column, declared)
        model.fit(data.select(declared.feature_names), labels, **persons)
    # Printed first: what is paid for must not be lost to a full disk.
    if not as_json:
        typer.echo(inputs.account(model))
    try:
        inputs.save_or_keep(model, output, overwrite=force, table=table_name)
    except OSError:
        if as_json:
            tell({"saved": None} | inputs.told_of(model.ledger_))
        raise
    answer({"saved": str(output)} | inputs.described(model, output), f"saved to {output}", as_json)


@app.command()
def predict(
    model: ModelIn,
    table: TableOrFolder,
    output: Annotated[Path, typer.Option("--output", "-o", help="A .csv or .parquet file.")],
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="A column for each class.")
    ] = False,
    id_columns: Annotated[
        list[str] | None,
        typer.Option("--id", help="A column to carry over, such as a key; repeatable."),
    ] = None,
    separator: Separator = None,
    encoding: Encoding = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Predict the rows of a table; costs no budget."""
    tables.check_table_name(output)
    inputs.check_new(output, force)
    forest = load_model(model)
    if probabilities and not hasattr(forest, "predict_proba"):
        raise ValueError(f"{model} predicts numbers and has no --probabilities: leave it out")
    numbers = INTERVAL if hasattr(forest, "predict_interval") else PREDICTION
    answers = [str(each) for each in forest.classes_] if probabilities else numbers
    kept = list(dict.fromkeys(id_columns or []))
    inputs.check_ids(kept, answers)
    asked = Asked(separator, encoding)
    if streaming.is_large(table):
        with Bar("predicting"):
            columns = streaming.predict_large(forest, table, output, answers, kept, asked)
    else:
        data = tables.read_table(table, [*forest.schema_.feature_names, *kept], asked)
        rows = data.select(forest.schema_.feature_names)
        columns = {name: data.values(name) for name in kept}
        with Bar("predicting"):
            columns |= streaming.answers_of(forest, rows, answers)
        tables.write_columns(output, columns)
    answer({"saved": str(output), "columns": list(columns)}, f"saved to {output}", as_json)
