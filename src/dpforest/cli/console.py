"""How the command line talks: results to stdout; progress, warnings and errors to stderr."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import typer
from rich.console import Console
from rich.progress import track
from typer.core import TyperGroup

from dpforest.exceptions import (
    BudgetExceededError,
    NoGuaranteeWarning,
    PrivacyLeakWarning,
    SourceChangedError,
)

USER_ERRORS = (ValueError, OSError, ImportError, BudgetExceededError, SourceChangedError)

Item = TypeVar("Item")


class PlainErrors(TyperGroup):
    """Commands whose user meets one line for an error, one for a warning, and no traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; exit with 1 when it cannot be done."""
        try:
            with _told_warnings():
                return super().invoke(ctx)
        except USER_ERRORS as error:
            message = " ".join(str(error).split()) or type(error).__name__
            typer.echo(f"error: {message}", err=True)
            raise typer.Exit(1) from None


@contextmanager
def _told_warnings() -> Iterator[None]:
    """Print our warnings as they come, each as one line and every time."""
    with warnings.catch_warnings():
        for category in (PrivacyLeakWarning, NoGuaranteeWarning):
            warnings.simplefilter("always", category)
        warnings.showwarning = _tell
        yield


def _tell(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"WARNING: {message}", err=True)


@contextmanager
def working(on: str) -> Iterator[None]:
    """Show that something is under way, when a person watches."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(on):
        yield


def watched(items: Iterable[Item], on: str, total: int) -> Iterable[Item]:
    """Go through the items with a progress bar, when a person watches."""
    console = Console(stderr=True)
    hidden = not console.is_terminal
    return track(items, on, total=total, console=console, transient=True, disable=hidden)
