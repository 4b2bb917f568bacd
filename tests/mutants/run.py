"""Plant one bug at a time in a copy of the repository, and see that its tests fail.

``python -m tests.mutants.run [--only PATTERN] [--sample N --seed S] [--jobs J]``, or ``make
mutants``. The named tests must pass on an unchanged copy first. A bug that survives, takes too
long, no longer applies, or only keeps the code from running is an error.
"""

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from tests.mutants.planted import ROOT, Mutant, all_mutants

TIME_LIMIT = 300  # seconds for the tests of one mutant; they take a few
KILLED = "killed"
COLUMNS = ("file", "what it breaks", "verdict", "tests")
# A mutant that cannot even run proves nothing about the tests.
CANNOT_RUN = re.compile(r"\b(SyntaxError|NameError|UnboundLocalError|ImportError|TypingError)\b")


def copy_repository(source: Path, target: Path) -> None:
    """Copy all that tests read. Times of files are kept, so compiled kernels stay valid."""
    unneeded = shutil.ignore_patterns(".*", "site", "dist", "build")
    shutil.copytree(source, target, ignore=unneeded)


def run_tests(
    root: Path, tests: Iterable[str], select: str = "", limit: float = TIME_LIMIT
) -> tuple[int | None, str]:
    """The exit code of pytest in a copy (None: out of time), and what it wrote."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    command += ["-k", select] if select else []
    # Whatever is installed or cached elsewhere must not run instead of the copy.
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "PYTEST_"))}
    environment["PYTHONPATH"] = str(root / "src")
    process = subprocess.Popen(
        command,
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        written, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, f"out of time after {limit} seconds"
    return process.returncode, written


def plant(mutant: Mutant, root: Path) -> None:
    """Change the file in a copy, and forget what was compiled from it."""
    path = root / mutant.path
    path.write_text(mutant.applied_to(path.read_text(encoding="utf-8")), encoding="utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        compiled.unlink()


def verdict(mutant: Mutant, sound: Path) -> str:
    """`KILLED`, or what is wrong with the mutant or its tests."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        root = Path(folder, "copy")
        copy_repository(sound, root)
        try:
            plant(mutant, root)
        except ValueError as error:
            return str(error)
        code, written = run_tests(root, mutant.tests, mutant.select)
    if code == 0:
        return "survived"
    failures = "\n".join(line for line in written.splitlines() if line.startswith("E "))
    broken = CANNOT_RUN.search(failures)
    if broken:
        return f"cannot run: {broken[0]}"
    if code != 1:
        return written if code is None else f"pytest ended with {code}"
    return KILLED


def why_unsound(root: Path, mutants: Sequence[Mutant]) -> str:
    """What the named tests say of the unchanged copy; nothing when all pass."""
    script = "import dpforest; print(dpforest.__file__)"
    environment = os.environ | {"PYTHONPATH": str(root / "src")}
    command = [sys.executable, "-c", script]
    used = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    if not Path(used.stdout.strip()).is_relative_to(root):
        return f"the tests would run {used.stdout.strip()}, not the copy in {root}"
    selections = dict.fromkeys(mutant.select for mutant in mutants)
    for select in selections:
        chosen = [mutant.tests for mutant in mutants if mutant.select == select]
        tests = dict.fromkeys(test for tests in chosen for test in tests)
        code, written = run_tests(root, tests, select, limit=TIME_LIMIT * len(tests))
        if code != 0:
            return written
    return ""


def verdicts(mutants: Sequence[Mutant], jobs: int, console: Console) -> list[str]:
    """What became of each mutant; RuntimeError when tests fail without any."""
    last = TextColumn("{task.description}")
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), last)
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as folder,
        Progress(*columns, console=console) as progress,
        ThreadPoolExecutor(jobs) as pool,
    ):
        task = progress.add_task("the tests of all mutants, without any", total=len(mutants))
        sound = Path(folder).resolve() / "sound"
        copy_repository(ROOT, sound)
        reason = why_unsound(sound, mutants)
        if reason:
            raise RuntimeError(f"tests fail without any mutant:\n{reason}")
        found = []
        judged = pool.map(lambda mutant: verdict(mutant, sound), mutants)
        for mutant, said in zip(mutants, judged, strict=True):
            progress.update(task, advance=1, description=f"{said}: {mutant.file}")
            if said != KILLED:
                progress.print(f"{said}: {mutant}")
            found.append(said)
    return found


def show(mutants: Sequence[Mutant], found: Sequence[str], console: Console) -> bool:
    """Tell what was not killed; whether all were."""
    left = [(m, said) for m, said in zip(mutants, found, strict=True) if said != KILLED]
    if left:
        table = Table(*(Column(name, overflow="fold") for name in COLUMNS))
        for mutant, said in left:
            table.add_row(mutant.file, mutant.breaks, said, "\n".join(mutant.tests))
        console.print(table)
    survived = sum(said == "survived" for said in found)
    errors = len(left) - survived
    console.print(
        f"{len(found) - len(left)} killed, {survived} survived"
        + (f", {errors} could not be judged" if errors else "")
    )
    return not left


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; 0 when all are killed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.run", description=__doc__)
    parser.add_argument("--only", default="", help="a pattern in 'room/file: what it breaks'")
    parser.add_argument("--sample", type=int, help="so many, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args(arguments)
    mutants = [m for m in all_mutants() if re.search(asked.only, f"{m.room}/{m}")]
    if asked.sample is not None:
        mutants = random.Random(asked.seed).sample(mutants, min(asked.sample, len(mutants)))
    console = Console()
    if not mutants:
        console.print(f"no mutant matches {asked.only!r}")
        return 1
    return 0 if show(mutants, verdicts(mutants, asked.jobs, console), console) else 1


if __name__ == "__main__":
    sys.exit(main())
