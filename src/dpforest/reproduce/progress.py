"""A bar for long work, when a person watches."""

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


def progress_bar() -> Progress:
    """A bar on the error stream that goes when the work is done; silent where nobody watches."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        *Progress.get_default_columns()[1:-1],
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
