"""``dpforest sign`` and ``verify``: who vouches for a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpforest.cli import inputs
from dpforest.cli.commands import AsJson, Force, ModelIn, app
from dpforest.cli.console import answer
from dpforest.forests.saving import load_model
from dpforest.forests.signatures import sign_file, signature_of, verify_file


@app.command()
def sign(
    model: ModelIn,
    key: Annotated[Path, typer.Option(help="An Ed25519 private key, a .pem file.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The signature; MODEL.sig by default.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Sign a saved model; print what is vouched for."""
    signature = output or signature_of(model)
    forest = load_model(model)
    inputs.check_new(signature, force)
    sign_file(model, key, signature, overwrite=force)
    answer(
        {"saved": str(signature)} | inputs.described(forest, model),
        f"{inputs.promise(forest)}\nsigned in {signature}",
        as_json,
    )


@app.command()
def verify(
    model: ModelIn,
    key: Annotated[Path, typer.Option(help="The signer's Ed25519 public key, a .pem file.")],
    signature: Annotated[
        Path | None, typer.Option(help="The signature; MODEL.sig by default.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check the signature and the ledger of a saved model.

    Exits with 1 when one does not fit.
    """
    verify_file(model, key, signature or signature_of(model))
    forest = load_model(model)
    answer(
        {"signature": "fits"} | inputs.described(forest, model),
        f"{inputs.promise(forest)}\nthe signature fits",
        as_json,
    )
