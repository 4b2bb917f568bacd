"""Run cells on all cores, keep each as it finishes, and show progress when a person watches."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed

from dpforest.progress import Bar
from dpforest.reproduce.cache import CellCache, Figures
from dpforest.reproduce.cells import Cell, run_cell


def run_cells(
    cells: Iterable[Cell], cache: CellCache, *, label: str, n_jobs: int | None = None
) -> None:
    """Run those cells that the cache does not hold yet.

    Parameters
    ----------
    cells : iterable of Cell
    cache : CellCache
        Holds the values of every cell afterwards.
    label : str
        What the progress bar says.
    n_jobs : int, optional
        Processes; as many as there are cores by default. 1 runs here.
    """
    missing = {cell.key: cell for cell in cells if cell.key not in cache}
    if not missing:
        return
    n_workers = min(n_jobs or os.cpu_count() or 1, len(missing))
    with Bar(label, len(missing), alone=True) as bar:
        for key, values in _results(missing, n_workers):
            cache.add(key, values)
            bar.advance()


def _results(cells: dict[str, Cell], n_workers: int) -> Iterator[tuple[str, Figures]]:
    if n_workers == 1:
        for key, cell in cells.items():
            yield key, run_cell(cell)
        return
    # Spawned, not forked: the parent may hold threads, of numba or of BLAS.
    pool = ProcessPoolExecutor(n_workers, mp_context=multiprocessing.get_context("spawn"))
    try:
        keys = {pool.submit(run_cell, cell): key for key, cell in cells.items()}
        for future in as_completed(keys):
            yield keys[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)
