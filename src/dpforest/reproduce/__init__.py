"""The papers' tables, run again and shown beside the published values."""

from __future__ import annotations

from pathlib import Path

from dpforest.reproduce.cache import CellCache, Figures
from dpforest.reproduce.cells import cells_of
from dpforest.reproduce.definitions import Paper, PaperTable, find_paper, papers
from dpforest.reproduce.runner import run_cells
from dpforest.reproduce.summary import Result, summarise
from dpforest.reproduce.writing import show, write

__all__ = ["Paper", "PaperTable", "Result", "papers", "run", "run_table"]

FOLDER = "reproduction"


def run(
    paper: str,
    table: int | None = None,
    quick: bool = False,
    out: str | Path | None = None,
    n_jobs: int | None = None,
) -> list[Result]:
    """Run a paper's tables, print them beside the published values, and write them down.

    Parameters
    ----------
    paper : str
        Its name or document number, as in `papers`.
    table : int, optional
        One table; all of them by default.
    quick : bool, default=False
        Fewer seeds, a thinned grid, no slow rows.
    out : str or Path, optional
        The folder for tables (Markdown and CSV) and finished cells; ``reproduction`` by default.
        Run again with the same folder, and only what is missing is run. Cells know the version of
        dpforest, not its source: after a change of the code, start in a new folder.
    n_jobs : int, optional
        Processes; as many as there are cores by default.

    Returns
    -------
    list of Result
    """
    found = find_paper(paper)
    chosen = [t for t in found.tables if table in (None, t.number)]
    if not chosen:
        numbers = ", ".join(str(t.number) for t in found.tables)
        raise ValueError(f"{found.name} has no table {table} here: choose one of {numbers}")
    folder = Path(out or FOLDER)
    results = []
    for definition in chosen:
        name = f"{found.name}-table-{definition.number}"
        cache = CellCache(folder / "cells" / f"{name}.jsonl")
        result = run_table(definition.quick() if quick else definition, cache, n_jobs)
        show(result)
        write(result, folder, f"{name}-quick" if quick else name)
        results.append(result)
    return results


def run_table(table: PaperTable, cache: CellCache, n_jobs: int | None = None) -> Result:
    """Run what the cache lacks of a table, row by row, and sum it up."""
    values: dict[str, Figures] = {}
    for row in table.rows:
        cells = [cell for _, cell in cells_of(table, row)]
        run_cells(cells, cache, label=row.label, n_jobs=n_jobs)
        values |= {cell.key: cache[cell.key] for cell in cells}
    return summarise(table, values)
