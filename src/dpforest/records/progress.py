"""How far a long work is and how much time it has left, when a person watches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Item = TypeVar("Item")


class Bar:
    """A bar of so many steps on the terminal of errors; nothing where that is none.

    Parameters
    ----------
    label : str
    steps : int, optional
        None where nobody knows how many there are.
    """

    def __init__(self, label: str, steps: int | None) -> None:
        console = Console(stderr=True)
        shown = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        self._progress = Progress(
            *shown,
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task(label, total=steps)
        self._progress.start()

    def advance(self) -> None:
        """One step more; after the last one the bar goes."""
        self._progress.advance(self._task)
        if self._progress.finished:
            self.close()

    def close(self) -> None:
        """Take the bar away."""
        self._progress.stop()


def watched(items: Iterable[Item], label: str, steps: int | None = None) -> Iterator[Item]:
    """Go through items with a bar."""
    bar = Bar(label, steps)
    try:
        for item in items:
            yield item
            bar.advance()
    finally:
        bar.close()
