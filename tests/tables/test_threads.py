"""One pool for the process: every row once and in order, no waiting in circles, forks included."""

import multiprocessing
import threading
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpforest.tables import threads
from dpforest.tables.threads import ROWS_WORTH_A_THREAD, count_threads, map_rows, take_turns

MANY = 8 * ROWS_WORTH_A_THREAD


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10 * ROWS_WORTH_A_THREAD), st.none() | st.integers(1, 9))
@example(MANY + 7, 2)
@example(MANY + 7, 3)
@example(MANY + 7, 8)
def test_every_row_is_worked_on_once_and_in_order(n_rows, n_jobs):
    parts = map_rows(lambda rows: rows, n_rows, n_jobs)
    assert parts[0].start == 0
    assert parts[-1].stop == n_rows
    assert all(a.stop == b.start for a, b in pairwise(parts))
    assert len(parts) <= count_threads(n_jobs)


def test_threads_are_kept_from_call_to_call():
    seen = set()

    def work(rows):
        seen.add(threading.get_ident())
        time.sleep(0.001)

    for _ in range(30):
        map_rows(work, MANY, n_jobs=4)
    # Those of the pool, and the caller.
    assert 1 < len(seen) <= threads.CORES + 1


def test_work_may_hand_out_work_itself():
    """More levels than threads: a pool whose threads wait for each other would never end."""

    def work(depth):
        def inner(rows):
            return 1 if depth == 0 else sum(work(depth - 1))

        return map_rows(inner, MANY, n_jobs=4)

    assert sum(work(3)) == 4**4


def test_callers_from_many_threads_get_their_own_results():
    results = {}

    def call(k):
        for _ in range(20):
            results[k] = map_rows(lambda rows: (k, rows.start), MANY, n_jobs=3)

    callers = [threading.Thread(target=call, args=(k,)) for k in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert sorted(results) == list(range(6))
    for k, parts in results.items():
        assert parts == [(k, MANY * i // 3) for i in range(3)]


@pytest.mark.parametrize("which", [0, 3])
def test_errors_reach_the_caller(which):
    def work(rows):
        if rows.start == MANY * which // 4:
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        map_rows(work, MANY, n_jobs=4)
    assert map_rows(lambda rows: 1, MANY, n_jobs=4) == [1, 1, 1, 1]


def _total():
    return sum(map_rows(lambda rows: int(np.arange(rows.start, rows.stop).sum()), MANY, 4))


def _in_child(answers):
    answers.put(_total())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking with threads is what is tested
def test_a_forked_child_starts_threads_of_its_own():
    whole = _total()  # the parent's pool is up
    fork = multiprocessing.get_context("fork")
    answers = fork.SimpleQueue()
    child = fork.Process(target=_in_child, args=(answers,))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert answers.get() == whole


@pytest.mark.parametrize(
    ("n_jobs", "expected"), [(None, 4), (1, 1), (3, 3), (9, 9), (-1, 4), (-2, 3), (-9, 1)]
)
def test_n_jobs_counts_as_in_scikit_learn(monkeypatch, n_jobs, expected):
    monkeypatch.setattr(threads, "CORES", 4)
    assert count_threads(n_jobs) == expected


def test_every_item_is_worked_on_once_by_one_of_the_workers():
    done = [[], [], []]
    take_turns(lambda mine, item: mine.append(item), done, range(500))
    assert sorted(item for mine in done for item in mine) == list(range(500))


@pytest.mark.parametrize("where", ["work", "items"])
def test_the_first_error_stops_all_and_is_raised(where):
    taken = []

    def items():
        for item in range(10_000):
            taken.append(item)
            if where == "items" and item == 50:
                raise KeyError("broken")
            yield item

    def work(_, item):
        if where == "work" and item == 50:
            raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        take_turns(work, [None] * 3, items())
    assert len(taken) < 10_000
