"""``dpforest budget``: one budget for everything that is done with a table."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from dpforest.cli.console import answer, tell
from dpforest.exceptions import BudgetExceededError
from dpforest.privacy.accounts.budget import Budget
from dpforest.privacy.accounts.protection import Protection

app = typer.Typer(
    help="One budget for everything that is done with a table.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

BudgetIn = Annotated[Path, typer.Argument(metavar="FILE", help="A budget that create made.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


@app.command()
def create(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The file to make.")],
    epsilon: Annotated[float, typer.Option(help="What everything may cost together.")],
    table: Annotated[str, typer.Option(help="A public name of the table.")],
    delta: Annotated[float, typer.Option(help="Goes with epsilon; Gaussian noise needs it.")] = 0.0,
    neighbors: Annotated[
        Literal["add_remove", "replace_one"], typer.Option(help="Which tables are neighbours.")
    ] = "add_remove",
    max_records_per_group: Annotated[
        int | None, typer.Option(help="Protect persons, each with at most so many records.")
    ] = None,
    set_aside: Annotated[
        tuple[float, float],
        typer.Option(help="Epsilon and delta that Gaussian releases leave to pure ones."),
    ] = (0.0, 0.0),
    as_json: AsJson = False,
) -> None:
    """Make a budget; one that is there is never overwritten, for it is the account."""
    protects = Protection(neighbors)
    if max_records_per_group is not None:
        protects = Protection(neighbors, "group", max_records_per_group)
    budget = Budget.create(
        path, epsilon=epsilon, delta=delta, table=table, protects=protects, set_aside=set_aside
    )
    answer({"saved": str(path)} | budget.to_dict(), budget, as_json)


@app.command()
def show(
    path: BudgetIn,
    epsilon: Annotated[float, typer.Option(help="Of one more use, for the forecast.")] = 0.5,
    delta: Annotated[float, typer.Option(help="Goes with it.")] = 0.0,
    as_json: AsJson = False,
) -> None:
    """Print the total, what is left, every use, and how many more there is room for."""
    budget = Budget.open(path)
    more = budget.forecast(epsilon=epsilon, delta=delta)
    if as_json:
        asked = {"epsilon": epsilon, "delta": delta, "uses": more}
        tell(budget.to_dict() | {"forecast": asked})
        return
    typer.echo(f"{budget}\nforecast: {more} more at epsilon = {epsilon:g}, delta = {delta:g}")


@app.command()
def history(path: BudgetIn, as_json: AsJson = False) -> None:
    """Print every use: who, what, when, which model, what it counts."""
    entries = Budget.open(path).history()
    if as_json:
        tell([asdict(entry) for entry in entries])
        return
    for entry in entries:
        typer.echo(entry)


@app.command()
def check(path: BudgetIn, as_json: AsJson = False) -> None:
    """Check the file, every use and all sums; exits with 1 when something is wrong."""
    problems = Budget.open(path).check()
    answer(
        {"problems": problems},
        "\n".join(problems) or "all is well: every use and all sums fit",
        as_json,
    )
    if problems:
        raise typer.Exit(1)


def check_paid(path: Path, epsilon: float | None) -> None:
    """Refuse a schema that leaks beside a budget, and a file that is none."""
    if epsilon is None:
        raise ValueError("--budget goes with --epsilon: a schema that leaks is not paid for")
    Budget.open(path)


def require_room(path: Path | None, epsilon: float, delta: float) -> None:
    """Refuse what the budget has no room for before the table is opened; it is reserved later."""
    if path is None:
        return
    if not Budget.open(path).forecast(epsilon=epsilon, delta=delta):
        raise BudgetExceededError(
            f"--budget {path} has no room for epsilon = {epsilon:g}, delta = "
            f"{delta:g}; nothing was read. 'dpforest budget show {path}' says what is left"
        )
