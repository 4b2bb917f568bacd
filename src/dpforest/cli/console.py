"""How the command line talks: results to stdout; progress, warnings and errors to stderr."""

import json
import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from dpforest.cli.wording import in_users_words
from dpforest.exceptions import (
    BudgetExceededError,
    LittleSignalWarning,
    NoGuaranteeWarning,
    PrivacyLeakWarning,
    SourceChangedError,
    WeakGuaranteeWarning,
)

OUR_WARNINGS = (
    LittleSignalWarning,
    NoGuaranteeWarning,
    PrivacyLeakWarning,
    WeakGuaranteeWarning,
)
USER_ERRORS = (ValueError, OSError, ImportError, BudgetExceededError, SourceChangedError)


class PlainErrors(TyperGroup):
    """Commands whose user meets one line for an error, one for a warning, and no traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; exit with 1 when it cannot be done."""
        try:
            with _told_warnings():
                return super().invoke(ctx)
        except USER_ERRORS as error:
            typer.echo(f"error: {_message(error)}", err=True)
            raise typer.Exit(1) from None


def _message(error: Exception) -> str:
    """One line in the user's words; of the system's errors the file and what it said."""
    told = str(error)
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        told = f"{error.filename}: {error.strerror.lower()}"
    return in_users_words(" ".join(told.split())) or type(error).__name__


@contextmanager
def _told_warnings() -> Iterator[None]:
    """Print our warnings as they come, each as one line and every time."""
    with warnings.catch_warnings():
        for category in OUR_WARNINGS:
            warnings.simplefilter("always", category)
        warnings.showwarning = _tell
        yield


def _tell(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"WARNING: {in_users_words(str(message))}", err=True)


def tell(told: object) -> None:
    """Print a result for machines: JSON that any reader takes, infinity and such as texts."""
    typer.echo(json.dumps(_finite(told), ensure_ascii=False, allow_nan=False, default=str))


def answer(told: object, said: object, as_json: bool) -> None:
    """Print a result: what is told to machines, or what is said to people."""
    if as_json:
        tell(told)
    else:
        typer.echo(said)


def _finite(told: object) -> object:
    if isinstance(told, Mapping):
        return {key: _finite(value) for key, value in told.items()}
    if isinstance(told, list | tuple):
        return [_finite(value) for value in told]
    return str(told) if isinstance(told, float) and not math.isfinite(told) else told
