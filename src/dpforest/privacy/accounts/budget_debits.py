"""What is written into the file of a budget: reservations, and what became of them.

Each function is one transaction. `reserve` returns when the disk has the reservation; only then may
a record be read.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from dpforest.exceptions import BudgetExceededError, BudgetFileError
from dpforest.privacy.accounts import budget_file as file
from dpforest.privacy.accounts.budget_filter import Charge, placed
from dpforest.privacy.accounts.spends import Cost
from dpforest.privacy.accounts.stages import Stage
from dpforest.privacy.accounts.writing import stage_to_dict

End = Literal["released", "failed"]


def reserve(
    path: Path, stage: Stage, most: Cost, what: str, model: str | None, earlier: Iterable[Stage]
) -> None:
    """Reserve for a stage that is about to begin, or raise and change nothing.

    Parameters
    ----------
    path : Path
    stage : Stage
        Nothing is debited of it yet.
    most : Cost
        The most that it may cost.
    what, model : str
        For readers.
    earlier : iterable of Stage
        What the result will contain as well: those that the file does not know are counted, too.
    """
    with file.writing(path) as connection:
        who = file.protection_of(file.row_of(connection))
        for each in (*earlier, stage):
            if each.protection != who:
                raise ValueError(
                    f"the {each.kind} protects {each.protection.describe()}, and the budget "
                    f"{who.describe()}: use the same neighbors, groups and max_records_per_group "
                    "for both"
                )
        for each in earlier:
            if each.entries and not _rows(connection, each.identity):
                _count_late(connection, each)
        _insert(connection, stage, most, what, model)


def _count_late(connection: sqlite3.Connection, stage: Stage) -> None:
    """Count what was paid elsewhere and is part of a result that this budget pays for."""
    try:
        _insert(connection, stage, stage.total, stage.kind, None)
    except BudgetExceededError as error:
        raise BudgetExceededError(
            f"the {stage.kind} was not paid from this budget, so it is counted as well: {error}"
        ) from None


def settle(path: Path, stage: Stage, state: End) -> None:
    """Count what a stage has debited in the place of what was reserved for it."""
    with file.writing(path) as connection:
        rows = _rows(connection, stage.identity)
        if not rows:
            raise BudgetFileError(
                f"budget {path}: it knows nothing of a use that was reserved in it, so the file "
                "was replaced meanwhile: put the right one back"
            )
        before, found = file.charge_of(rows[0]), file.read_filter(connection)
        charge = placed(stage.total, before.pooled)
        if any(new > old for new, old in zip(charge[:3], before[:3], strict=True)):
            raise BudgetExceededError(f"{stage.total} was debited, more than was reserved for it")
        file.write_filter(connection, found.replaced(before, charge))
        connection.execute(
            "UPDATE uses SET state = ?, ended = ?, stage = ?, epsilon = ?, delta = ?,"
            " mu_squared = ?, pooled = ? WHERE identity = ?",
            (state, now(), _text(stage), *file.written(charge), stage.identity),
        )


def name_model(path: Path, identity: str, digest: str) -> None:
    """Write down the digest of the file that a model was saved to."""
    with file.writing(path) as connection:
        connection.execute("UPDATE uses SET model = ? WHERE identity = ?", (digest, identity))


def _insert(
    connection: sqlite3.Connection, stage: Stage, cost: Cost, what: str, model: str | None
) -> None:
    found = file.read_filter(connection)
    charge = found.charge(cost)
    file.write_filter(connection, found.replaced(Charge(), charge))
    values: dict[str, str | int | None] = {
        "identity": stage.identity,
        "state": "released" if stage.entries else "reserved",
        "what": what,
        "model": model,
        "who": user(),
        "process": f"{socket.gethostname()}:{os.getpid()}",
        "began": now(),
        "asked_epsilon": str(stage.budget_epsilon),
        "asked_delta": str(stage.budget_delta),
        "stage": _text(stage) if stage.entries else None,
    }
    values |= dict(zip(file.CHARGE, file.written(charge), strict=True))
    names = ", ".join(values)
    places = ", ".join("?" for _ in values)
    connection.execute(f"INSERT INTO uses ({names}) VALUES ({places})", list(values.values()))


def _rows(connection: sqlite3.Connection, identity: str) -> list[sqlite3.Row]:
    return connection.execute("SELECT * FROM uses WHERE identity = ?", (identity,)).fetchall()


def _text(stage: Stage) -> str:
    return json.dumps(stage_to_dict(stage))


def now() -> str:
    """Return the time, UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def user() -> str:
    """Return who is at work."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"
