"""``dpforest schema``: what is public of a table, written down and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dpforest.cli import budgets, inputs, streaming, tables
from dpforest.cli.checking import problems_of
from dpforest.cli.commands import (
    AsJson,
    Encoding,
    Force,
    Groups,
    MaxRecords,
    Neighbours,
    Seed,
    Separator,
    SharedBudget,
    TableOrFolder,
    app,
)
from dpforest.cli.console import answer, tell
from dpforest.cli.csv_layout import Asked
from dpforest.schema import Schema


class _WriteByDefault(TyperGroup):
    """``dpforest schema TABLE`` is short for ``dpforest schema write TABLE``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; the first that is no command belongs to ``write``."""
        if args and args[0] not in (*self.commands, *self.get_help_option_names(ctx)):
            args = ["write", *args]
        return super().parse_args(ctx, args)


schema_app = typer.Typer(cls=_WriteByDefault, no_args_is_help=True, rich_markup_mode=None)
app.add_typer(schema_app, name="schema")


@schema_app.callback()
def schema() -> None:
    """Write what is public of a table, or check a table.

    'dpforest schema TABLE' is short for 'dpforest schema write TABLE'.
    """


@schema_app.command()
def write(
    table: TableOrFolder,
    target: Annotated[str, typer.Option(help="The column to predict.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The JSON file to write.")],
    epsilon: Annotated[
        float | None, typer.Option(help="Pay for the schema from the budget instead of leaking.")
    ] = None,
    delta: Annotated[float, typer.Option(help="Goes with --epsilon, for categories.")] = 0.0,
    ignore: Annotated[
        list[str] | None, typer.Option(help="A column to leave out, such as a key; repeatable.")
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            help="Goes with --epsilon: types that are public, as age=integer,city=category "
            "(integer, number, category, boolean), or frame for those of a Parquet file; "
            "others are asked and paid for."
        ),
    ] = None,
    categories: Annotated[
        list[str] | None,
        typer.Option(
            help="Goes with --epsilon: categories (or classes) that are public, as ward=A,B,C; "
            "repeatable, a column each."
        ),
    ] = None,
    groups: Groups = None,
    max_records_per_group: MaxRecords = None,
    neighbors: Neighbours = "add_remove",
    separator: Separator = None,
    encoding: Encoding = None,
    force: Force = False,
    as_json: AsJson = False,
    budget: SharedBudget = None,
    random_state: Seed = None,
) -> None:
    """Write a starter schema to edit, or a paid one.

    Without --epsilon it is read off the table and private: fit refuses it until it is edited.
    """
    inputs.check_new(output, force)
    if budget is not None:
        budgets.check_paid(budget, epsilon)
    declared = inputs.column_types(types or [], table)
    universe = inputs.declared_categories(categories or [])
    person = [] if groups is None else [groups]
    asked, needed = Asked(separator, encoding), [target, *(ignore or []), *person]
    data = streaming.source_of(table, asked) or tables.read_table(table, needed, asked)
    data.require(needed)
    names = [name for name in data.names if name not in [*(ignore or []), *person]]
    if epsilon is None:
        inputs.save_starter(data, names, target, output)
        answer(
            {"saved": str(output), "private": True},
            f"saved to {output}; it is PRIVATE, and fit refuses it until it is edited",
            as_json,
        )
        return
    persons: Any = groups
    if isinstance(data, tables.InputTable):
        X, persons = data.select_by_name(names), None if groups is None else data.column(groups)
    else:
        X = data.only([*names, *person])
    found = Schema.infer(
        X,
        target=target,
        epsilon=epsilon,
        delta=delta,
        types=declared,
        universe=universe,
        neighbors=neighbors,
        groups=persons,
        max_records_per_group=max_records_per_group,
        random_state=random_state,
        budget=budget,
    )
    found.save(output)
    ledger = found.ledger
    if as_json:
        tell({"saved": str(output), "private": False} | (inputs.told_of(ledger) if ledger else {}))
        return
    typer.echo(f"saved to {output}; models trained with it cost their epsilon on top of:")
    typer.echo(ledger.explain() if ledger else "nothing")


@schema_app.command()
def check(
    table: TableOrFolder,
    schema: Annotated[Path, typer.Option(help="What is public of the table, a JSON file.")],
    target: Annotated[
        str | None, typer.Option(help="The column to predict; else the schema's target.")
    ] = None,
    features_only: Annotated[
        bool, typer.Option("--features-only", help="For a table to predict: it has no target.")
    ] = False,
    separator: Separator = None,
    encoding: Encoding = None,
    as_json: AsJson = False,
) -> None:
    """Say whether fit would take a table.

    Exits with 1 when not. Nothing is spent. The answer depends on private records and is not paid
    for: it is for you, who hold the table, and not to be passed on. It names columns, and neither
    values nor numbers of records. What lies outside the declared bounds and categories is not
    told: a schema that is widened after a look at the records is no longer public.
    """
    declared = inputs.load_schema(schema)
    column = None if features_only else inputs.target_column(declared, target)
    problems = problems_of(table, declared, column, Asked(separator, encoding))
    answer(
        {"fits": not problems, "problems": problems},
        "\n".join(problems) or f"{table} fits {schema}",
        as_json,
    )
    if problems:
        raise typer.Exit(1)
