"""How far long work is and how much time it has left, when a person watches.

A person watches where standard error is a terminal; elsewhere nothing is shown. Bars come after two
seconds, so that short work stays silent, and all that are open share one display.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from multiprocessing import current_process
from threading import RLock, Timer
from typing import Self, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

Item = TypeVar("Item")
PATIENCE = 2.0  # seconds before anything is shown


class Bar:
    """A bar of so many steps on the terminal of errors; nothing where that is none.

    Parameters
    ----------
    label : str
    steps : int, optional
        None where nobody knows how many there are, or nobody may.
    alone : bool, default=False
        Bars within this one are not shown.

    Examples
    --------
    >>> with Bar("training", 3) as bar:
    ...     for _ in range(3):
    ...         bar.advance()
    """

    def __init__(self, label: str, steps: int | None = None, *, alone: bool = False) -> None:
        self.alone = alone
        self._task = _DISPLAY.open(self, label, steps)

    def expect(self, steps: int) -> None:
        """So many steps follow."""
        if self._task is not None:
            _DISPLAY.expect(self._task, steps)

    def advance(self, steps: int = 1) -> None:
        """So many steps are done."""
        if self._task is not None:
            _DISPLAY.advance(self._task, steps)

    def close(self) -> None:
        """Take the bar away."""
        if self._task is not None:
            _DISPLAY.close(self, self._task)
            self._task = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def watched(items: Iterable[Item], label: str, steps: int | None = None) -> Iterator[Item]:
    """Go through items with a bar."""
    with Bar(label, steps) as bar:
        for item in items:
            yield item
            bar.advance()


class _Display:
    """All bars that are open, each a line; threads may share it."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._bars: list[Bar] = []
        self._progress: Progress | None = None
        self._timer: Timer | None = None

    def open(self, bar: Bar, label: str, steps: int | None) -> TaskID | None:
        with self._lock:
            if any(other.alone for other in self._bars):
                return None
            if self._progress is None:
                console = _terminal()
                if console is None:
                    return None
                self._progress = _lines(console)
                self._timer = Timer(PATIENCE, self._show)
                self._timer.daemon = True
                self._timer.start()
            self._bars.append(bar)
            return self._progress.add_task(label, total=steps)

    def _show(self) -> None:
        with self._lock:
            if self._progress is not None:
                self._progress.start()

    def expect(self, task: TaskID, steps: int) -> None:
        with self._lock:
            if self._progress is not None:
                done = next(each.completed for each in self._progress.tasks if each.id == task)
                self._progress.update(task, total=done + steps)

    def advance(self, task: TaskID, steps: int) -> None:
        with self._lock:
            if self._progress is not None:
                self._progress.advance(task, steps)

    def close(self, bar: Bar, task: TaskID) -> None:
        with self._lock:
            self._bars.remove(bar)
            if self._progress is None or self._timer is None:
                return
            self._progress.remove_task(task)
            if not self._bars:
                self._timer.cancel()
                if self._progress.live.is_started:
                    self._progress.stop()
                self._progress = None


_DISPLAY = _Display()


def _terminal() -> Console | None:
    """The terminal of errors, if there is one and no other process writes to it."""
    if sys.stderr is None or not sys.stderr.isatty() or current_process().name != "MainProcess":
        return None
    return Console(stderr=True)


def _lines(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        redirect_stdout=False,  # results stay results, whoever reads them
    )
