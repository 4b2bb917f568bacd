"""Spread rows over threads: kernels hold no lock, so plain threads use all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise
from threading import Event, Lock
from typing import TypeVar

ROWS_WORTH_A_THREAD = 20_000  # below this, handing rows to a thread costs more than it saves
CORES = os.cpu_count() or 1

Result = TypeVar("Result")
Worker = TypeVar("Worker")
Item = TypeVar("Item")


def count_threads(n_jobs: int | None) -> int:
    """Threads to use: ``n_jobs`` as in scikit-learn, but None means all cores."""
    if n_jobs is None:
        return CORES
    return n_jobs if n_jobs > 0 else max(1, CORES + 1 + n_jobs)


def map_rows(
    work: Callable[[slice], Result], n_rows: int, n_jobs: int | None = None
) -> list[Result]:
    """Do the work on equal runs of rows, one thread each; results in the order of the rows.

    The caller does the first run itself, and takes back the runs that no thread has begun by then:
    it never waits for a thread that waits for another, and may be a thread of the pool.

    Examples
    --------
    >>> map_rows(lambda rows: rows.stop - rows.start, 50_001, n_jobs=2)
    [25000, 25001]
    """
    n_parts = max(1, min(count_threads(n_jobs), n_rows // ROWS_WORTH_A_THREAD))
    borders = [n_rows * i // n_parts for i in range(n_parts + 1)]
    first, *others = [slice(a, b) for a, b in pairwise(borders)]
    handed_out = [(rows, _pool().submit(work, rows)) for rows in others]
    results = [work(first)]
    for rows, future in handed_out:
        results.append(work(rows) if future.cancel() else future.result())
    return results


def take_turns(
    work: Callable[[Worker, Item], object], workers: Sequence[Worker], items: Iterable[Item]
) -> None:
    """Do the work on one item after another, a thread for each worker; the first error stops all.

    Items are taken by one thread at a time, when it is ready for one.

    Examples
    --------
    >>> sums = [[0], [0]]
    >>> def add(total, number):
    ...     total[0] += number
    >>> take_turns(add, sums, range(101))
    >>> sums[0][0] + sums[1][0]
    5050
    """
    waiting, lock = iter(items), Lock()
    failed = Event()

    def run(worker: Worker) -> None:
        try:
            while not failed.is_set():
                with lock:
                    item = next(waiting, _NO_MORE)
                if item is _NO_MORE:
                    return
                work(worker, item)  # type: ignore[arg-type]
        except BaseException:
            failed.set()
            raise

    first, *others = workers
    handed_out = [_pool().submit(run, worker) for worker in others]
    try:
        run(first)
    finally:
        # Those that no thread has begun have nothing left to do.
        wait(future for future in handed_out if not future.cancel())
    for future in handed_out:
        if not future.cancelled():
            future.result()


_NO_MORE = object()


@cache
def _pool() -> ThreadPoolExecutor:
    """The threads of this process: started when first needed, idle between fits."""
    return ThreadPoolExecutor(CORES, "dpforest")


# A forked child has the pool but not its threads.
os.register_at_fork(after_in_child=_pool.cache_clear)
