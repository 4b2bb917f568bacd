"""A bar for those who watch and wait, and nothing for those who do not."""

from io import StringIO
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from dpforest import (
    NumericFeature,
    PrivateForestClassifier,
    PrivateSearchCV,
    RandomDecisionForestClassifier,
    Schema,
    Target,
    evaluate,
    progress,
)
from dpforest.audit import SMALL_SCHEMA, audit
from dpforest.progress import Bar, watched


@pytest.fixture
def terminal(monkeypatch):
    """What a person sees: no second of patience is waited for, a test says when it is over."""
    shown, waiting = StringIO(), []

    class Waiting:
        daemon = False

        def __init__(self, seconds, then):
            assert seconds == progress.PATIENCE
            self.then = then

        def start(self):
            waiting.append(self.then)

        def cancel(self):
            waiting.remove(self.then)

    console = Console(file=shown, force_terminal=True, width=100)
    monkeypatch.setattr(progress, "_terminal", lambda: console)
    monkeypatch.setattr(progress, "Timer", Waiting)
    shown.waiting = waiting
    return shown


@pytest.fixture
def impatient(terminal, monkeypatch):
    """A person to whom bars are shown at once."""
    monkeypatch.setattr(progress, "Timer", lambda _, then: SimpleNamespace(start=then, cancel=int))
    return terminal


def table(n=200):
    rng = np.random.default_rng(0)
    X = rng.random((n, 2))
    schema = Schema((NumericFeature("a", 0, 1), NumericFeature("b", 0, 1)), Target(classes=(0, 1)))
    return X, (X[:, 0] > 0.5).astype(int), schema


def test_short_work_shows_nothing_and_long_work_a_bar(terminal):
    assert list(watched(range(5), "reading", 5)) == [0, 1, 2, 3, 4]
    assert terminal.getvalue() == ""
    assert not terminal.waiting
    with Bar("training", 7) as bar:
        bar.advance(3)
        terminal.waiting[0]()
    assert "training" in terminal.getvalue()
    assert "3/7" in terminal.getvalue()


def test_nobody_watches_where_errors_go_to_a_file(monkeypatch):
    made = []
    monkeypatch.setattr(progress, "Timer", lambda *_: made.append(1))
    monkeypatch.setattr(progress.sys, "stderr", StringIO())
    with Bar("training", 3) as bar:
        bar.advance()
    assert not made


def test_workers_leave_the_terminal_to_the_process_that_started_them(monkeypatch):
    monkeypatch.setattr(progress.sys, "stderr", SimpleNamespace(isatty=lambda: True))
    assert progress._terminal() is not None
    worker = SimpleNamespace(name="LokyProcess-1")
    monkeypatch.setattr(progress, "current_process", lambda: worker)
    assert progress._terminal() is None


def test_bars_share_a_display_and_go_when_work_breaks_off(terminal):
    def work():
        with Bar("training"):
            for item in watched(range(5), "reading", 5):
                if item == 3:
                    terminal.waiting[0]()
                    raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        work()
    assert "training" in terminal.getvalue()
    assert "reading" in terminal.getvalue()
    assert progress._DISPLAY._progress is None
    assert not progress._DISPLAY._bars


def test_steps_may_become_known_later(terminal):
    with Bar("training") as bar:
        bar.advance(2)
        bar.expect(40)
        bar.advance()
        terminal.waiting[0]()
    assert "3/42" in terminal.getvalue()


def test_fits_evaluations_and_audits_show_how_far_they_are(impatient):
    X, y, schema = table()
    model = PrivateForestClassifier(schema=schema, n_estimators=10, n_hint=200)
    assert "training" in seen(impatient, lambda: model.fit(X, y))
    assert "evaluating" in seen(impatient, lambda: evaluate(model, X, y, epsilon=1.0))
    small = RandomDecisionForestClassifier(schema=SMALL_SCHEMA, n_estimators=1, max_depth=1)
    told = seen(impatient, lambda: audit(small, trials=400))
    assert "auditing" in told
    assert told.count("training") == 1  # one fit says what is claimed; of the others nothing


@pytest.mark.filterwarnings("ignore::dpforest.exceptions.LittleSignalWarning")
def test_a_search_does_not_show_how_many_trials_there_are(impatient):
    """Their number is a secret draw: no bar of a trial, no count, no total."""
    X, y, schema = table()
    forest = RandomDecisionForestClassifier(schema=schema, n_estimators=2)
    search = PrivateSearchCV(forest, {"max_depth": [1, 2]}, epsilon=2.0, random_state=0)
    told = seen(impatient, lambda: search.fit(X, y))
    assert "searching" in told
    assert "training" not in told
    assert "0/?" in told
    assert "1/" not in told


def seen(terminal, work):
    terminal.seek(0)
    terminal.truncate()
    work()
    return terminal.getvalue()
