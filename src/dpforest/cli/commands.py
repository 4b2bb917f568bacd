"""The commands of ``dpforest``: thin wrappers over the library."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dpforest.cli import budgets, inputs, streaming, tables
from dpforest.cli import demo as demonstration
from dpforest.cli.console import PlainErrors, working
from dpforest.forests.files import read_model
from dpforest.forests.saving import load_model
from dpforest.forests.signatures import sign_file, signature_of, verify_file
from dpforest.schema import Schema

app = typer.Typer(
    name="dpforest",
    help="Differentially private forests for tabular data.",
    cls=PlainErrors,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.add_typer(budgets.app, name="budget")

TableIn = Annotated[Path, typer.Argument(metavar="TABLE", help="A .csv, .csv.gz or .parquet file.")]
WITH_FOLDERS = "A .csv, .csv.gz or .parquet file, or a folder of Parquet files."
TableOrFolder = Annotated[Path, typer.Argument(metavar="TABLE", help=WITH_FOLDERS)]
ModelIn = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that fit saved.")]
Groups = Annotated[str | None, typer.Option(help="The column of the person, to protect persons.")]
MaxRecords = Annotated[int | None, typer.Option(help="How many records of one person may count.")]
SharedBudget = Annotated[
    Path | None, typer.Option("--budget", help="The budget to pay from, see 'dpforest budget'.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output.")]
Seed = Annotated[
    int | None,
    typer.Option(help="Makes the noise reproducible: for tests and papers, not for release."),
]


@app.command()
def demo(
    rows: Annotated[int, typer.Option(min=100, help="People in the synthetic census.")] = 50_000,
    random_state: Seed = None,
) -> None:
    """Train on a synthetic census at several epsilons; print accuracies and a ledger."""
    found = demonstration.run(rows, random_state)
    typer.echo(found.title())
    Console().print(found.table())
    typer.echo(f"The ledger of the forest at epsilon = {demonstration.SHOWN:g}:\n")
    typer.echo(found.ledger.explain())


@app.command()
def fit(
    table: TableOrFolder,
    schema: Annotated[Path, typer.Option(help="What is public of the table, a JSON file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to save the model.")],
    epsilon: Annotated[float, typer.Option(help="The privacy budget.")] = 1.0,
    delta: Annotated[
        float | None,
        typer.Option(help="The other half of the budget: 1e-6 by default, 0 for pure epsilon."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The column to predict; else the schema's target.")
    ] = None,
    estimator: Annotated[
        str | None,
        typer.Option(help="Another estimator than PrivateForestClassifier or -Regressor."),
    ] = None,
    groups: Groups = None,
    max_records_per_group: MaxRecords = None,
    table_name: Annotated[
        str | None, typer.Option(help="A public name of the table, to be kept in the model.")
    ] = None,
    force: Force = False,
    budget: SharedBudget = None,
    random_state: Seed = None,
) -> None:
    """Train a private forest on a table and save it; print its ledger."""
    tables.check_output(output)
    inputs.check_new(output, force)
    declared = inputs.load_schema(schema)
    column = inputs.target_column(declared, target)
    model = inputs.build(
        estimator,
        declared,
        delta,
        epsilon=epsilon,
        max_records_per_group=max_records_per_group,
        random_state=random_state,
        budget=budget,
    )
    budgets.require_room(budget, model.epsilon, getattr(model, "delta", 0.0))
    source = streaming.source_to_fit(table)
    if source is not None:
        inputs.tell_ignored(source, declared, column, groups)
        model.fit(source, column, groups=groups)  # shows how far it is
    else:
        with working("reading"):
            person = [] if groups is None else [groups]
            data = tables.read_table(table, [*declared.feature_names, column, *person])
        inputs.tell_ignored(data, declared, column, groups)
        persons = {} if groups is None else {"groups": data.column(groups)}
        with working("training"):
            model.fit(data.select(declared.feature_names), data.column(column), **persons)
    typer.echo(inputs.account(model))
    inputs.save_or_keep(model, output, overwrite=force, table=table_name)
    typer.echo(f"saved to {output}")


@app.command()
def predict(
    model: ModelIn,
    table: TableOrFolder,
    output: Annotated[Path, typer.Option("--output", "-o", help="A .csv or .parquet file.")],
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="A column for each class.")
    ] = False,
) -> None:
    """Predict the rows of a table with a saved model; costs no budget."""
    tables.check_table_name(output)
    tables.check_output(output)
    forest = load_model(model)
    if probabilities and not hasattr(forest, "predict_proba"):
        raise ValueError(f"{model} predicts numbers and has no --probabilities: leave it out")
    if streaming.is_large(table):
        with working("predicting"):
            streaming.predict_large(forest, table, output, probabilities=probabilities)
        typer.echo(f"saved to {output}")
        return
    data = tables.read_table(table, forest.schema_.feature_names)
    rows = data.select(forest.schema_.feature_names)
    with working("predicting"):
        if probabilities:
            columns = dict(
                zip(map(str, forest.classes_), forest.predict_proba(rows).T, strict=True)
            )
        else:
            columns = {"prediction": forest.predict(rows)}
    tables.write_columns(output, columns)
    typer.echo(f"saved to {output}")


@app.command()
def explain(model: ModelIn) -> None:
    """Print the ledger of a saved model: what was spent, and the proof of its guarantee."""
    typer.echo(inputs.account(load_model(model)))
    typer.echo(read_model(model).provenance)


@app.command()
def sign(
    model: ModelIn,
    key: Annotated[Path, typer.Option(help="An Ed25519 private key, a .pem file.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The signature; MODEL.sig by default.")
    ] = None,
) -> None:
    """Sign a saved model; print what is vouched for."""
    promise = inputs.promise(load_model(model))
    signature = output or signature_of(model)
    sign_file(model, key, signature)
    typer.echo(f"{promise}\nsigned in {signature}")


@app.command()
def verify(
    model: ModelIn,
    key: Annotated[Path, typer.Option(help="The signer's Ed25519 public key, a .pem file.")],
    signature: Annotated[
        Path | None, typer.Option(help="The signature; MODEL.sig by default.")
    ] = None,
) -> None:
    """Check the signature of a saved model and its ledger; exits with 1 when one does not fit."""
    verify_file(model, key, signature or signature_of(model))
    typer.echo(f"{inputs.promise(load_model(model))}\nthe signature fits")


@app.command()
def schema(
    table: TableIn,
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
    groups: Groups = None,
    max_records_per_group: MaxRecords = None,
    force: Force = False,
    budget: SharedBudget = None,
    random_state: Seed = None,
) -> None:
    """Write a starter schema from a table: leaking, to be edited, or paid for with --epsilon."""
    tables.check_output(output)
    inputs.check_new(output, force)
    if budget is not None:
        budgets.check_paid(budget, epsilon)
    declared = inputs.column_types(types or [], table)
    person = [] if groups is None else [groups]
    data = tables.read_table(table, [target, *(ignore or []), *person])
    names = [name for name in data.names if name not in [*(ignore or []), *person]]
    if epsilon is None:
        inputs.save_starter(data, names, target, output)
        typer.echo(f"saved to {output}; it is PRIVATE, and fit refuses it until it is edited")
        return
    found = Schema.infer(
        data.select_by_name(names),
        target=target,
        epsilon=epsilon,
        delta=delta,
        types=declared,
        groups=None if groups is None else data.column(groups),
        max_records_per_group=max_records_per_group,
        random_state=random_state,
        budget=budget,
    )
    found.save(output)
    typer.echo(f"saved to {output}; models trained with it cost their epsilon on top of:")
    typer.echo(found.ledger.explain() if found.ledger else "nothing")


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
    random_state: Seed = None,
) -> None:
    """Try to catch a forest at leaking more than it says; exits with 1 when it does."""
    from dpforest.cli import auditing

    if plot is not None:
        tables.check_output(plot, "--plot")
    audited = auditing.find(model_or_name, epsilon, delta)
    options = {"epsilon": epsilon, "delta": delta, "confidence": confidence}
    leaks = False
    for report in auditing.run(audited, trials, random_state=random_state, **options):
        typer.echo(str(report))
        leaks |= report.leaks
        if plot is not None:
            report.plot(plot)
    if leaks:
        raise typer.Exit(1)


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(help="The paper, for example 004.")],
    table: Annotated[int | None, typer.Option(help="One table of it; else all.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A smaller grid.")] = False,
    out: Annotated[Path | None, typer.Option(help="The folder for results.")] = None,
) -> None:
    """Run a paper's experiment again and print it beside the published values."""
    from dpforest import reproduce as papers

    papers.run(paper, table=table, quick=quick, out=out)


@app.command()
def literature(
    name: Annotated[str | None, typer.Argument(help="A system, for example edprf.")] = None,
) -> None:
    """List the systems of the literature and whether their guarantee holds, or describe one."""
    from dpforest import literature as systems

    if name is not None:
        typer.echo(str(systems.describe(name)))
        return
    for each in map(systems.describe, systems.names()):
        paper = f"{each.paper.authors.split(',')[0]} {each.paper.year}"
        typer.echo(f"{each.name:18} {each.guarantee:9} {each.title} ({paper})")
