"""The app, and the options that its commands share; each group of commands has a file.

A new group is a file that imports ``app`` and the options it needs from here, puts
``@app.command()`` over its functions, and is imported by `dpforest.cli`.
"""

from pathlib import Path
from typing import Annotated, Literal

import typer

import dpforest
from dpforest.cli import budgets
from dpforest.cli.console import PlainErrors

app = typer.Typer(
    name="dpforest",
    cls=PlainErrors,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.add_typer(budgets.app, name="budget")

WITH_FOLDERS = "A .csv, .csv.gz or .parquet file, or a folder of Parquet files."
TableOrFolder = Annotated[Path, typer.Argument(metavar="TABLE", help=WITH_FOLDERS)]
ModelIn = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that fit saved.")]
Groups = Annotated[str | None, typer.Option(help="The column of the person, to protect persons.")]
MaxRecords = Annotated[int | None, typer.Option(help="How many records of one person may count.")]
Neighbours = Annotated[
    Literal["add_remove", "replace_one"],
    typer.Option(
        "--neighbors",
        help="What is protected: a record (or person) more or less, or one in place of another.",
    ),
]
SharedBudget = Annotated[
    Path | None, typer.Option("--budget", help="The budget to pay from, see 'dpforest budget'.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Separator = Annotated[
    str | None,
    typer.Option(
        "--sep", help="Between the cells of a CSV file, 'tab' for tabs; else found in its header."
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="Of a CSV file, such as latin-1 or cp1252; else UTF-8, or as its mark says."),
]
Seed = Annotated[
    int | None,
    typer.Option(help="Makes the noise reproducible: for tests and papers, not for release."),
]


def _tell_version(asked: bool) -> None:
    if asked:
        typer.echo(f"dpforest {dpforest.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_tell_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Differentially private forests for tabular data."""
