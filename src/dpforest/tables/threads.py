"""Spread rows over threads: kernels hold no lock, so plain threads use all cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

ROWS_WORTH_A_THREAD = 20_000  # below this, starting a thread costs more than it saves

Result = TypeVar("Result")


def count_threads(n_jobs: int | None) -> int:
    """Threads to use: ``n_jobs`` as in scikit-learn, but None means all cores."""
    cores = os.cpu_count() or 1
    if n_jobs is None:
        return cores
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def map_rows(
    work: Callable[[slice], Result], n_rows: int, n_jobs: int | None = None
) -> list[Result]:
    """Do the work on equal runs of rows, one thread each; results in the order of the rows.

    Examples
    --------
    >>> map_rows(lambda rows: rows.stop - rows.start, 50_001, n_jobs=2)
    [25000, 25001]
    """
    n_parts = max(1, min(count_threads(n_jobs), n_rows // ROWS_WORTH_A_THREAD))
    borders = [n_rows * i // n_parts for i in range(n_parts + 1)]
    slices = [slice(a, b) for a, b in pairwise(borders)]
    if n_parts == 1:
        return [work(slices[0])]
    with ThreadPoolExecutor(n_parts) as pool:
        return list(pool.map(work, slices))
