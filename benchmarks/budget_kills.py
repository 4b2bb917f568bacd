"""Many processes debit one budget and are killed at random: ``python -m benchmarks.budget_kills``.

Every worker writes a journal of its own beside the budget: what it tries, what it was given, what
it released, what it settled. A journal is written without a pause before the next step, and what a
process has written stays when it is killed; so afterwards the file must hold all that the journals
know of, each once, at no less than what was released.
"""

import argparse
import multiprocessing
import os
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from dpforest import Budget, BudgetExceededError, BudgetFileError, Protection
from dpforest.privacy.accounts import budget_debits
from dpforest.privacy.accounts.budget_filter import most_of, placed
from dpforest.privacy.accounts.spends import Cost, Gaussian, Pure, Spend
from dpforest.privacy.accounts.stages import Stage

PATIENCE = 1500  # looks at the file without a debit, before a budget counts as used up
EPSILON, DELTA = Fraction(1, 1000), Fraction(1, 10**6)


def work(budget: Path, journal: Path, seed: int) -> None:
    """Debit until told to stop, pure and Gaussian in turn; now and then leave a debit standing."""
    rng = random.Random(seed)
    with journal.open("a", encoding="utf-8") as written:

        def note(*words: object) -> None:
            print(*words, file=written, flush=True)

        while not journal.with_name("stop").exists():
            gaussian = rng.random() < 0.5
            asked = (EPSILON, DELTA if gaussian else Fraction(0))
            stage, most = Stage("fit", *asked, Protection()), most_of(*asked)
            note("try", stage.identity)
            try:
                budget_debits.reserve(budget, stage, most, "kills", None, ())
            except BudgetExceededError:
                note("refused", stage.identity)
                continue
            note("reserved", stage.identity)
            if rng.random() < 0.05:
                continue
            stage = stage.with_entry(_release(most, Fraction(rng.randint(0, 4), 4)))
            note("released", stage.identity, stage.total.epsilon, stage.total.mu_squared)
            budget_debits.settle(budget, stage, rng.choice(["released", "failed"]))
            note("settled", stage.identity)


def debit_until_refused(budget: Path, epsilon: float) -> int:
    """Reserve pure uses until there is no room; returns how many there were."""
    number = 0
    while True:
        stage = Stage("fit", epsilon, 0, Protection())
        try:
            budget_debits.reserve(budget, stage, most_of(epsilon, 0), "many", None, ())
        except BudgetExceededError:
            return number
        number += 1


def _release(most: Cost, share: Fraction) -> Spend:
    loss = Gaussian(most.mu * float(share) / 2) if most.mu_squared else Pure(most.epsilon * share)
    return Spend("a release", "none", loss)


@dataclass
class Outcome:
    """What the journals and the file say in the end."""

    reserved: int
    refused: int
    kills: int
    standing: int
    seconds: float
    faults: list[str]


def run(folder: Path, processes: int, debits: int, epsilon: float, kills: int) -> Outcome:
    """Let the processes debit, killing one now and then, until there were so many debits."""
    rng, start = random.Random(0), time.perf_counter()
    total = {"epsilon": epsilon, "delta": 1e-5, "set_aside": (epsilon / 4, 0)}
    budget = Budget.create(folder / "budget.db", table="kills", **total)
    spawn = multiprocessing.get_context("spawn")
    team, killed, faults = {}, 0, []

    def hire(place: int) -> None:
        journal = folder / f"{place}.{killed}.journal"
        team[place] = spawn.Process(target=work, args=(budget.path, journal, rng.random()))
        team[place].start()

    for place in range(processes):
        hire(place)
    while (done := _debits(budget)) < debits:
        target = min(done + rng.randint(1, 2 * debits // kills), debits)
        waited = 0
        while _debits(budget) < target and waited < PATIENCE:
            time.sleep(0.01)
            waited += 1
        if waited == PATIENCE:
            break  # the budget is used up: all is refused by now
        place = rng.randrange(processes)
        os.kill(team[place].pid, signal.SIGKILL)
        team[place].join()
        killed += 1
        if killed % 10 == 0:
            faults += budget.check()
        hire(place)
    (folder / "stop").touch()
    for process in team.values():
        process.join()
    counts, found = _compare(folder, budget)
    standing = sum(entry.state == "reserved" for entry in budget.history())
    seconds = time.perf_counter() - start
    return Outcome(counts["reserved"], counts["refused"], killed, standing, seconds, faults + found)


def _debits(budget: Budget) -> int:
    with budget_debits.file.reading(budget.path) as connection:
        return connection.execute("SELECT count(*) FROM uses").fetchone()[0]


def _compare(folder: Path, budget: Budget) -> tuple[Counter[str], list[str]]:
    """Journals against the file: nothing lost, nothing twice, nothing too small."""
    steps: dict[str, dict[str, list[str]]] = {}
    for path in folder.glob("*.journal"):
        for line in path.read_text(encoding="utf-8").splitlines():
            step, identity, *amounts = line.split()
            steps.setdefault(identity, {})[step] = amounts
    with budget_debits.file.reading(budget.path) as connection:
        rows = {row["identity"]: row for row in connection.execute("SELECT * FROM uses")}
    faults = budget.check()
    for identity, told in steps.items():
        row = rows.pop(identity, None)
        if "refused" in told and row is not None:
            faults.append(f"{identity} was refused, and counts")
        if "reserved" in told and row is None:
            faults.append(f"{identity} was lost")
        if row is None or "refused" in told:
            continue
        charge = budget_debits.file.charge_of(row)
        epsilon, mu_squared = (Fraction(x) for x in told.get("released", ["0", "0"]))
        least = placed(Cost({epsilon: 1}, mu_squared), charge.pooled)
        if charge.epsilon < least.epsilon or charge.mu_squared < least.mu_squared:
            faults.append(f"{identity} counts less than it released")
        if "settled" in told and charge != least:
            faults.append(f"{identity} was settled, and counts something else")
        if row["state"] == "reserved" and not charge.epsilon + charge.mu_squared:
            faults.append(f"{identity} stands, and counts nothing")
    faults += [f"{identity} counts, and nobody tried it" for identity in rows]
    return Counter(step for told in steps.values() for step in told), faults


def fill_a_disk(folder: Path) -> str:
    """Debit until a small disk is full, make room, and go on."""
    mounted = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    if subprocess.run(mounted, check=False, capture_output=True).returncode:
        return "full disk: skipped, no right to mount one"
    try:
        budget = Budget.create(folder / "b.db", epsilon=100, table="small disk")
        ballast = folder / "ballast"
        ballast.write_bytes(b"x" * 100_000)
        acknowledged = 0
        while True:
            try:
                stage = Stage("fit", EPSILON, 0, Protection())
                budget_debits.reserve(budget.path, stage, most_of(EPSILON, 0), "x", None, ())
                acknowledged += 1
            except BudgetFileError as error:
                message = str(error)
                break
        ballast.unlink()
        counted, faults = len(budget.history()), budget.check()
        stage = Stage("fit", EPSILON, 0, Protection())
        budget_debits.reserve(budget.path, stage, most_of(EPSILON, 0), "x", None, ())
        return (
            f"full disk: {acknowledged} debits, then {message!r}; with room again {counted} uses "
            f"count, faults: {faults}, and the next debit works: {len(budget.history())} uses"
        )
    finally:
        subprocess.run(["umount", str(folder)], check=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--debits", type=int, default=10_000)
    parser.add_argument("--epsilon", type=float, default=0.3)
    parser.add_argument("--kills", type=int, default=160)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(run(Path(folder), asked.processes, asked.debits, asked.epsilon, asked.kills))
    with tempfile.TemporaryDirectory() as folder:
        print(fill_a_disk(Path(folder)))


if __name__ == "__main__":
    main()
