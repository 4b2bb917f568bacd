"""The file of a budget: durable, shared by threads and processes, and never overspent."""

import copy
import math
import multiprocessing
import os
import pickle
import re
import resource
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from benchmarks import budget_kills
from dpforest import Budget, BudgetExceededError, BudgetFileError, PrivateForestClassifier
from dpforest.privacy.accounts import budget_debits, budget_file
from dpforest.privacy.accounts.budget_filter import most_of
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Gaussian, Pure, Spend
from dpforest.privacy.accounts.stages import Stage


@pytest.fixture
def budget(tmp_path) -> Budget:
    return Budget.create(tmp_path / "b.db", epsilon=1.0, delta=1e-6, table="patients 2026")


def reserve(budget: Budget, epsilon: float = 0.1, delta: float = 0.0) -> Stage:
    stage = Stage("fit", epsilon, delta, Protection())
    budget_debits.reserve(budget.path, stage, most_of(epsilon, delta), "test", None, ())
    return stage


def settle(budget: Budget, stage: Stage, share: float = 1.0) -> Stage:
    epsilon, delta = float(stage.budget_epsilon), float(stage.budget_delta)
    most = most_of(epsilon, delta)
    loss = Gaussian(most.mu * share * 0.999) if delta else Pure(float(most.epsilon) * share)
    done = stage.with_entry(Spend("a release", "none", loss))
    budget_debits.settle(budget.path, done, "released")
    return done


def test_a_budget_says_what_it_is_for(budget):
    again = Budget.open(str(budget.path))
    assert again == budget
    assert (again.epsilon, again.delta, again.table) == (1.0, 1e-6, "patients 2026")
    assert again.protects == Protection()
    assert again.history() == []
    assert again.check() == []
    assert "patients 2026" in str(again)


def test_what_is_reserved_counts_in_full_and_what_is_settled_as_it_was_released(budget):
    standing, settled = reserve(budget, 0.4), reserve(budget, 0.4)
    assert budget.remaining(0.0) == 0.2
    settle(budget, settled, share=0.5)
    assert budget.remaining(0.0) == 0.4
    states = [(entry.state, entry.plain_epsilon) for entry in budget.history()]
    assert states == [("reserved", 0.4), ("released", 0.2)]
    assert standing.identity != settled.identity


def test_an_entry_says_who_what_and_when(budget):
    settle(budget, reserve(budget, 0.25, 1e-6))
    (entry,) = budget.history()
    assert (entry.number, entry.state, entry.what) == (1, "released", "test")
    assert entry.who == budget_debits.user()
    assert entry.process.endswith(f":{os.getpid()}")
    assert entry.began.endswith("+00:00")
    assert (entry.epsilon, entry.delta, entry.plain_epsilon) == (0.25, 1e-6, 0.0)
    assert entry.mu > 0
    assert "released: mu" in str(entry)


def test_a_refusal_says_what_is_left_in_epsilon(budget):
    """At the delta of the budget, where it speaks of mu: as much as `remaining` says."""
    reserve(budget, 0.4, 1e-6)
    with pytest.raises(BudgetExceededError) as caught:
        reserve(budget, 0.9, 1e-6)
    told = re.findall(r"mu = [\d.]+ \(epsilon = ([\d.]+) at delta = 1e-06\)", str(caught.value))
    asked, left = told
    assert float(asked) == pytest.approx(0.9, rel=1e-3)
    assert float(left) == pytest.approx(budget.remaining(), rel=1e-3)


def test_an_infinite_epsilon_is_refused_in_plain_words(budget):
    with pytest.raises(ValueError, match="epsilon = inf, delta = 1e-06: expected a finite") as told:
        most_of(math.inf, Fraction(1, 1_000_000))
    assert "Fraction" not in str(told.value)


@pytest.mark.parametrize("delta", [0.0, 1e-6, 3e-7])
@pytest.mark.parametrize("spent", [(), ((0.3, 0.0),), ((0.3, 1e-6),), ((0.2, 0.0), (0.3, 1e-7))])
def test_forecast_and_remaining_are_what_can_be_reserved(tmp_path, delta, spent):
    made = {"epsilon": 1.0, "delta": 1e-6, "table": "t", "set_aside": (0.3, 0.0)}
    budget = Budget.create(tmp_path / "b.db", **made)
    for use in spent:
        settle(budget, reserve(budget, *use), share=0.9)
    promised = budget.forecast(epsilon=0.11, delta=delta)
    one = Budget.create(tmp_path / "one.db", **made)
    for use in spent:
        settle(one, reserve(one, *use), share=0.9)
    with pytest.raises(BudgetExceededError):
        reserve(one, one.remaining(delta) * (1 + 1e-6), delta)
    reserve(one, one.remaining(delta), delta)
    for _ in range(promised):
        reserve(budget, 0.11, delta)
    with pytest.raises(BudgetExceededError):
        reserve(budget, 0.11, delta)
    assert budget.check() == []


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.05, 0.1, 0.3]), st.sampled_from([0.0, 1e-6]), st.integers(0, 3)
        ),
        max_size=12,
    )
)
def test_random_uses_are_what_is_counted(tmp_path_factory, uses):
    folder = tmp_path_factory.mktemp("budget")
    budget = Budget.create(folder / "b.db", epsilon=1.0, delta=1e-6, table="t")
    accepted = 0
    for epsilon, delta, share in uses:
        try:
            stage = reserve(budget, epsilon, delta)
        except BudgetExceededError:
            continue
        accepted += 1
        if share:
            settle(budget, stage, share / 3)
    assert len(budget.history()) == accepted
    assert budget.check() == []


def test_threads_cannot_overspend(budget):
    refused = threading.Semaphore(0)

    def debit(_: int) -> int:
        try:
            settle(budget, reserve(budget, 0.05))
        except BudgetExceededError:
            refused.release()
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(debit, range(30))) == 20
    assert budget.remaining(0.0) == 0.0
    assert budget.check() == []


def test_processes_cannot_overspend(budget):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        numbers = pool.starmap(budget_kills.debit_until_refused, [(budget.path, 0.05)] * 2)
    assert sum(numbers) == len(budget.history()) == 20
    assert budget.check() == []


def test_killed_processes_lose_no_debit(tmp_path):
    outcome = budget_kills.run(tmp_path, processes=4, debits=160, epsilon=0.05, kills=6)
    assert outcome.faults == []
    assert outcome.kills > 0


def test_the_same_use_is_never_counted_twice(budget):
    stage = Stage("fit", 0.1, 0, Protection())
    arguments = (budget.path, stage, most_of(0.1, 0), "test", None, ())
    budget_debits.reserve(*arguments)
    with pytest.raises(BudgetFileError):
        budget_debits.reserve(*arguments)
    assert len(budget.history()) == 1
    assert budget.check() == []


def test_a_commit_is_on_the_disk(budget):
    """SQLite's word for it: 2 is FULL, and the log is written ahead."""
    with budget_file.writing(budget.path) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


@pytest.mark.parametrize("which", ["stage", "earlier"])
def test_uses_for_other_neighbours_are_refused(budget, which):
    stage, other = (
        Stage("fit", 0.1, 0, Protection(name)) for name in ("add_remove", "replace_one")
    )
    arguments = (other, ()) if which == "stage" else (stage, (other,))
    with pytest.raises(ValueError, match="same neighbors"):
        budget_debits.reserve(
            budget.path, arguments[0], most_of(0.1, 0), "test", None, arguments[1]
        )
    assert budget.history() == []


def test_settling_more_than_was_reserved_is_refused(budget):
    stage = reserve(budget, 0.1).with_entry(Spend("too much", "none", Pure(0.2)))
    with pytest.raises(BudgetExceededError, match="more than was reserved"):
        budget_debits.settle(budget.path, stage, "released")
    assert budget.history()[0].plain_epsilon == 0.1


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE uses SET epsilon = '0' WHERE number = 1",
        "UPDATE uses SET stage = '{}' WHERE number = 1",
        "UPDATE uses SET stage = replace(stage, '1/10', '1/20') WHERE number = 1",
        "UPDATE budget SET plain_epsilon = '0'",
        "UPDATE budget SET epsilon = '1/10'",
        "UPDATE budget SET mu_squared = '1'",
        "DELETE FROM uses WHERE number = 2",
    ],
)
def test_check_finds_edits(budget, edit):
    for _ in range(3):
        settle(budget, reserve(budget, 0.1))
    assert budget.check() == []
    connection = sqlite3.connect(budget.path)
    assert connection.execute(edit).rowcount == 1
    connection.commit()
    connection.close()
    assert budget.check() != []


def test_check_finds_a_use_and_the_sum_that_were_edited_together(budget):
    for _ in range(2):
        settle(budget, reserve(budget, 0.1))
    connection = sqlite3.connect(budget.path)
    connection.execute("UPDATE uses SET epsilon = '0' WHERE number = 1")
    connection.execute("UPDATE budget SET plain_epsilon = '1/10'")
    connection.commit()
    connection.close()
    assert budget.check() == ["use 1 does not count what it released"]


def test_copies_and_pickles_are_the_same_budget(budget):
    for same in (copy.deepcopy(budget), pickle.loads(pickle.dumps(budget))):
        assert same == budget
    forest = clone(PrivateForestClassifier(budget=budget))
    assert forest.budget == budget
    assert forest.get_params()["budget"].path == budget.path


def test_files_that_are_no_budget_are_refused(tmp_path, budget):
    text, empty, other = (tmp_path / name for name in ("text", "empty", "other"))
    text.write_text("no budget" * 100)
    empty.touch()
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE x (y)")
    connection.close()
    for path in (text, empty, other):
        with pytest.raises(BudgetFileError, match="no budget"):
            Budget.open(path)
    with pytest.raises(BudgetFileError, match="no such file"):
        Budget.open(tmp_path / "nowhere.db")
    with pytest.raises(FileExistsError):
        Budget.create(budget.path, epsilon=1.0, table="t")
    connection = sqlite3.connect(budget.path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(BudgetFileError, match="newer"):
        Budget.open(budget.path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0.0},
        {"epsilon": float("inf")},
        {"epsilon": -1.0},
        {"delta": 1.0},
        {"table": ""},
        {"set_aside": (2.0, 0.0)},
    ],
)
def test_a_budget_that_makes_no_sense_leaves_no_file(tmp_path, wrong):
    with pytest.raises(ValueError, match="expected"):
        Budget.create(tmp_path / "b.db", **({"epsilon": 1.0, "table": "t"} | wrong))
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_refused(budget):
    for _ in range(5):
        reserve(budget, 0.01)
    content = bytearray(budget.path.read_bytes())
    content[4096:12288] = b"\xff" * 8192
    budget.path.write_bytes(content)
    with pytest.raises(BudgetFileError, match="damaged"):
        reserve(budget)


def test_a_full_disk_is_a_clear_error_and_changes_nothing(budget, monkeypatch):
    connected = budget_file._connected

    def no_room(path):
        @budget_file.contextmanager
        def limited():
            with connected(path) as connection:
                connection.execute("PRAGMA max_page_count = 1")
                yield connection

        return limited()

    monkeypatch.setattr(budget_file, "_connected", no_room)
    with pytest.raises(BudgetFileError, match="disk is full"):
        budget_kills.debit_until_refused(budget.path, 0.0001)
    monkeypatch.undo()
    assert len(budget.history()) < 1000
    assert budget.check() == []


DEBIT = """
import os, resource, signal, sys
from pathlib import Path
from dpforest.privacy.accounts import budget_debits
from dpforest.privacy.accounts.budget_filter import most_of
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.stages import Stage
if sys.argv[2] == "stranger":
    os.setuid(65534)
else:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
stage = Stage("fit", 0.1, 0, Protection())
budget_debits.reserve(Path(sys.argv[1]), stage, most_of(0.1, 0), "test", None, ())
"""


def _debit_as(budget: Budget, how: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", DEBIT, str(budget.path), how],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_a_disk_that_takes_no_more_is_a_clear_error(budget):
    failed = _debit_as(budget, "100")
    assert "BudgetFileError" in failed.stderr
    assert "Nothing was debited" in failed.stderr
    assert budget.history() == budget.check() == []
    assert _debit_as(budget, str(resource.RLIM_INFINITY)).returncode == 0
    assert len(budget.history()) == 1


def test_a_read_only_file_is_a_clear_error(budget):
    if os.geteuid() != 0:
        pytest.skip("only root may become somebody else")
    for folder in (budget.path.parent, *budget.path.parents):
        if folder.stat().st_uid == os.geteuid() and folder.name.startswith(("pytest-", "popen-")):
            folder.chmod(0o755)
    budget.path.parent.chmod(0o755)
    budget.path.chmod(0o444)
    failed = _debit_as(budget, "stranger")
    assert "BudgetFileError" in failed.stderr
    assert "read-only" in failed.stderr
    budget.path.chmod(0o644)
    assert budget.history() == budget.check() == []
