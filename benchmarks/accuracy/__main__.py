"""Measure what is missing, smallest data first, then write the page and its pictures."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks.accuracy import data, report, results, tables
from benchmarks.accuracy.environments import python_with
from benchmarks.accuracy.methods import GROUPS, Group
from benchmarks.accuracy.results import Cell, Result

ROOT = Path(__file__).parents[2]
# one core a method, so that times compare and a shared machine stays usable
ONE_CORE = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def main() -> None:
    options = parse()
    groups = [group for group in GROUPS if group.name in options.groups]
    for group in groups if options.again else ():
        results.forget(group.name, lambda result: result.dataset in options.data)
    for name in options.data:
        measure(name, options.seeds or tables.n_seeds(name), groups, options.epsilons)
    report.write()


def parse() -> argparse.Namespace:
    known = tables.loadable()
    groups = [group.name for group in GROUPS if group.installable]
    usual = [group.name for group in GROUPS if group.installable and group.by_default]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("--data", nargs="*", default=known, choices=known, metavar="NAME")
    parser.add_argument("--groups", nargs="*", default=usual, choices=groups)
    parser.add_argument("--epsilons", nargs="*", type=float, default=[0.1, 0.5, 1.0, 2.0, 4.0])
    parser.add_argument("--seeds", type=int, help="seeds 0, 1, ... (default 5, 3, 2 by size)")
    parser.add_argument("--again", action="store_true", help="forget what was measured of these")
    return parser.parse_args()


def measure(
    name: str,
    n_seeds: int,
    groups: list[Group],
    epsilons: list[float],
    folder: Path | None = None,
) -> None:
    """Measure the missing cells of one data set, a group at a time, into a folder."""
    for group in groups:
        done = {result.cell for result in results.read(group.name, folder)}
        settings = group.settings(epsilons, tables.n_classes(name))
        missing = [
            cell
            for seed in range(n_seeds)
            for method, epsilon in settings
            if (cell := Cell(name, method, epsilon, seed)) not in done
        ]
        if missing:
            with tempfile.TemporaryDirectory() as splits:
                for seed in {cell.seed for cell in missing}:
                    data.make_split(name, seed).save(Path(splits) / f"{seed}.npz")
                run(group, splits, missing, folder)


def run(group: Group, splits: str, cells: list[Cell], folder: Path | None = None) -> None:
    """Hand the cells to the group's worker and keep each answer as it comes."""
    python = python_with(group.name, group.requirements) if group.requirements else sys.executable
    with subprocess.Popen(
        [python, "-m", f"benchmarks.accuracy.methods.{group.name}", splits],
        cwd=ROOT,
        env={**os.environ, **ONE_CORE},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as worker:
        for cell in cells:
            print(json.dumps(asdict(cell)), file=worker.stdin, flush=True)
            answer = worker.stdout.readline()
            if not answer:
                print(f"{cell} failed; the worker's message is above", file=sys.stderr)
                break
            result = Result(**json.loads(answer))
            results.append(group.name, result, folder)
            print(
                f"{result.dataset:20} {result.method:24} eps {result.epsilon:<4g} "
                f"seed {result.seed}  {result.score:.4f}  {result.seconds:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
