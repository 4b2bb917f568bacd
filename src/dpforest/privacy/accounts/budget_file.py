"""The file of a budget: SQLite, written in transactions that are on the disk when they end.

``journal_mode=WAL`` and ``synchronous=FULL``: a commit returns when the disk has it. Writers take
turns (``BEGIN IMMEDIATE``), so nobody spends on a total that another is about to change; a
process that dies in between leaves the file as it was before its transaction. Every operation
has a connection of its own: a handle is a path, which threads, forks and pickles may share.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpforest.exceptions import BudgetFileError
from dpforest.new_files import require_folder
from dpforest.privacy.accounts.budget_filter import Charge, Filter, Pair
from dpforest.privacy.accounts.protection import Protection

APPLICATION = 0x64706642  # "dpfB", in the header of the file
FORMAT = 1
PATIENCE = 60.0  # seconds to wait for other writers

TABLES = """
CREATE TABLE budget (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    name TEXT NOT NULL, protection TEXT NOT NULL, created TEXT NOT NULL, creator TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL,
    aside_epsilon TEXT NOT NULL, aside_delta TEXT NOT NULL,
    plain_epsilon TEXT NOT NULL DEFAULT '0', plain_delta TEXT NOT NULL DEFAULT '0',
    mu_squared TEXT NOT NULL DEFAULT '0', pool_epsilon TEXT, pool_delta TEXT
);
CREATE TABLE uses (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    identity TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('reserved', 'released', 'failed')),
    what TEXT NOT NULL, model TEXT, who TEXT NOT NULL, process TEXT NOT NULL,
    began TEXT NOT NULL, ended TEXT,
    asked_epsilon TEXT NOT NULL, asked_delta TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL, mu_squared TEXT NOT NULL,
    pooled INTEGER NOT NULL, stage TEXT
);
"""
CHARGE = ("epsilon", "delta", "mu_squared", "pooled")
"""The columns of a use that hold its charge."""
_MEANING = {
    "SQLITE_FULL": "the disk is full: make room and try again",
    "SQLITE_READONLY": "the file or its folder is read-only: budgets are written to",
    "SQLITE_BUSY": f"others kept it locked for {PATIENCE:g} seconds: try again",
    "SQLITE_NOTADB": "it is no budget: Budget.create makes one",
    "SQLITE_CORRUPT": "it is damaged: restore it from a backup and add the uses made since then",
    "SQLITE_CANTOPEN": "it cannot be opened: check the path and the rights to file and folder",
    "SQLITE_IOERR": "the disk refused to read or write: make room, check the disk and try again",
}


def create_file(
    path: Path, name: str, protection: Protection, limits: Filter, created: str, creator: str
) -> None:
    """Write the file of a budget; FileExistsError where there is one."""
    require_folder(path)
    try:
        path.open("x").close()
    except FileExistsError:
        raise FileExistsError(
            f"{path} exists: open it with Budget.open, or give another name"
        ) from None
    try:
        with told(path), _connected(path) as connection:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode != "wal":
                raise BudgetFileError(
                    f"{path}: no write-ahead log here, expected a local disk: budgets do not work "
                    "on network drives"
                )
            amounts = [str(x) for x in (*limits.total, *limits.aside)]
            with _transaction(connection):
                for statement in TABLES.split(";"):
                    connection.execute(statement)
                connection.execute(
                    "INSERT INTO budget (one, name, protection, created, creator, epsilon, delta,"
                    " aside_epsilon, aside_delta) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (name, json.dumps(asdict(protection)), created, creator, *amounts),
                )
                connection.execute(f"PRAGMA user_version = {FORMAT}")
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection that sees one state of the file, whatever others write meanwhile."""
    with told(path), _opened(path) as connection:
        connection.execute("BEGIN")
        yield connection


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Give the only connection that may write; what it wrote is on the disk at the end, or gone."""
    with told(path), _opened(path) as connection, _transaction(connection):
        yield connection


def read_filter(connection: sqlite3.Connection) -> Filter:
    """Return the total and what is spent of it."""
    row = row_of(connection)
    total, aside, plain, pool = (
        Pair(Fraction(row[f"{part}epsilon"] or 0), Fraction(row[f"{part}delta"] or 0))
        for part in ("", "aside_", "plain_", "pool_")
    )
    opened = row["pool_epsilon"] is not None
    return Filter(total, aside, plain, Fraction(row["mu_squared"]), pool if opened else None)


def write_filter(connection: sqlite3.Connection, found: Filter) -> None:
    """Write what is spent."""
    pool = (None, None) if found.pool is None else (str(found.pool[0]), str(found.pool[1]))
    connection.execute(
        "UPDATE budget SET plain_epsilon = ?, plain_delta = ?, mu_squared = ?,"
        " pool_epsilon = ?, pool_delta = ?",
        (str(found.plain.epsilon), str(found.plain.delta), str(found.mu_squared), *pool),
    )


def row_of(connection: sqlite3.Connection) -> sqlite3.Row:
    """Return what the file says of the budget itself."""
    row: sqlite3.Row | None = connection.execute("SELECT * FROM budget").fetchone()
    if row is None:
        raise sqlite3.DatabaseError("the budget has no total")
    return row


def protection_of(row: sqlite3.Row) -> Protection:
    """Return who is protected."""
    return Protection(**json.loads(row["protection"]))


def charge_of(row: sqlite3.Row) -> Charge:
    """Return what a use takes."""
    epsilon, delta, mu_squared = (Fraction(row[name]) for name in CHARGE[:3])
    return Charge(epsilon, delta, mu_squared, bool(row["pooled"]))


def written(charge: Charge) -> tuple[str, str, str, int]:
    """Return a charge as the four columns of a use."""
    return str(charge.epsilon), str(charge.delta), str(charge.mu_squared), int(charge.pooled)


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn what SQLite says into what a user can do."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "") or "SQLITE_CORRUPT"
        kind = "_".join(name.split("_")[:2])
        meaning = _MEANING.get(kind, f"SQLite says {error} ({name})")
        raise BudgetFileError(f"budget {path}: {meaning}. Nothing was debited") from error


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    if not path.is_file():
        raise BudgetFileError(f"budget {path}: no such file; Budget.create makes one")
    with _connected(path) as connection:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION:
            raise BudgetFileError(f"budget {path}: {_MEANING['SQLITE_NOTADB']}")
        if version > FORMAT:
            raise BudgetFileError(
                f"budget {path}: it was written in format {version}, newer than {FORMAT}: upgrade "
                "dpforest to use it"
            )
        yield connection


@contextmanager
def _connected(path: Path) -> Iterator[sqlite3.Connection]:
    uri = f"{path.resolve().as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=PATIENCE)
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("PRAGMA synchronous = FULL")
        yield connection
    finally:
        connection.close()


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[Any]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
