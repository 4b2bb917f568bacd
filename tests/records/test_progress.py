"""A bar for those who watch, and nothing for those who do not."""

from io import StringIO

from rich.console import Console

from dpforest.records import progress


def test_items_go_through_and_a_bar_is_shown_to_a_person(monkeypatch):
    for watching in (True, False):
        shown = StringIO()
        console = Console(file=shown, force_terminal=watching)
        monkeypatch.setattr(progress, "Console", lambda console=console, **_: console)
        assert list(progress.watched(range(5), "reading", 5)) == [0, 1, 2, 3, 4]
        assert ("reading" in shown.getvalue()) == watching


def test_a_bar_goes_when_the_work_breaks_off(monkeypatch):
    shown = StringIO()
    console = Console(file=shown, force_terminal=True)
    monkeypatch.setattr(progress, "Console", lambda **_: console)
    for item in progress.watched(range(5), "reading"):
        if item == 2:
            break
    bar = progress.Bar("training", 3)  # of two on one console the second would be refused
    bar.close()
