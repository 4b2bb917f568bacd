"""One budget for everything that is done with a table, in a file that all processes share.

`budget_filter` has the arithmetic, `budget_file` the transactions, `budget_debits` what they write,
`reservation` how a ledger keeps within what was reserved. ``docs/privacy/budget.md`` has the proof.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpforest.privacy.accounts import budget_file as file
from dpforest.privacy.accounts.accounting import gaussian_epsilon
from dpforest.privacy.accounts.budget_debits import now, user
from dpforest.privacy.accounts.budget_entries import BudgetEntry, problems_of, shown_budget
from dpforest.privacy.accounts.budget_filter import (
    Filter,
    Pair,
    most_of,
    placed,
    pure_of_mu,
    root_down,
)
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import exact


@dataclass(frozen=True)
class Budget:
    """A total (epsilon, delta) for all that is released of one table, kept in a file.

    Give it to whatever reads the table: ``PrivateForestClassifier(budget=...)``,
    ``Schema.infer(budget=...)``. Each use is reserved on the disk before a record is read and
    settled to what it released; a process that is killed leaves its reservation, which counts in
    full. What would exceed the total is refused with `BudgetExceededError`.

    A budget is a path: it may be copied, pickled and used by many processes and threads of one
    machine at once. The file is the account, so keep one of it, on a local disk.

    Parameters
    ----------
    path : Path
        Use `create` and `open`, which check it.

    Examples
    --------
    >>> import tempfile
    >>> from dpforest import Budget, PrivateForestClassifier, datasets
    >>> folder = tempfile.TemporaryDirectory()
    >>> budget = Budget.create(
    ...     f"{folder.name}/patients.db", epsilon=3.0, delta=1e-6, table="patients 2026"
    ... )
    >>> budget.forecast(epsilon=0.5, delta=1e-6)
    27
    >>> census = datasets.make_census(1_000, random_state=0)
    >>> forest = PrivateForestClassifier(epsilon=0.5, schema=census.schema, budget=budget)
    >>> _ = forest.fit(census.X, census.y)
    >>> budget.forecast(epsilon=0.5, delta=1e-6), budget.history()[0].state
    (26, 'released')
    >>> folder.cleanup()
    """

    path: Path

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        epsilon: float,
        delta: float = 0.0,
        table: str,
        protects: Protection = Protection(),  # noqa: B008, frozen
        set_aside: tuple[float, float] = (0.0, 0.0),
    ) -> Budget:
        """Make the file of a budget; FileExistsError where there is one.

        Parameters
        ----------
        path : str or Path
            By custom ``name.db``, on a local disk.
        epsilon : float
            What everything may cost together, finite.
        delta : float
            Goes with it; Gaussian releases (the flagship's default) need some.
        table : str
            A public name of the table.
        protects : Protection
            Who is protected; uses that protect others are refused.
        set_aside : tuple of float
            An epsilon and a delta of the total that Gaussian releases leave to pure ones and to
            schemas that come after the first of them.
        """
        limits = Filter(Pair.of(epsilon, delta), Pair.of(*set_aside))
        if not limits.total.epsilon:
            raise ValueError(f"epsilon is {epsilon!r}, expected a positive number")
        if not isinstance(table, str) or not table:
            raise ValueError(f"table is {table!r}, expected a public name of the table")
        where = Path(path).absolute()
        file.create_file(where, table, protects, limits, now(), user())
        return cls(where)

    @classmethod
    def open(cls, path: str | os.PathLike[str] | Budget) -> Budget:
        """Return the budget of a file; BudgetFileError where it is none."""
        budget = path if isinstance(path, Budget) else cls(Path(path).absolute())
        with file.reading(budget.path) as connection:
            file.row_of(connection)
        return budget

    @property
    def table(self) -> str:
        """The name of the table."""
        return str(self._row()["name"])

    @property
    def protects(self) -> Protection:
        """Who is protected."""
        return file.protection_of(self._row())

    @property
    def epsilon(self) -> float:
        """The epsilon of the total."""
        return float(self._filter().total.epsilon)

    @property
    def delta(self) -> float:
        """The delta of the total."""
        return float(self._filter().total.delta)

    def remaining(self, delta: float | None = None) -> float:
        """Return the largest epsilon that one more use may have, at a delta of its own.

        Parameters
        ----------
        delta : float, optional
            Of the use: 0 for a pure one, else a Gaussian one; by default that of the budget.
        """
        found = self._filter()
        delta = float(found.total.delta) if delta is None else delta
        mu = root_down(max(found.pool_left, Fraction(0)))
        if delta:
            return gaussian_epsilon(mu, delta) * (1 - 1e-9) if mu else 0.0
        plain = float(found.room.epsilon)
        while exact(plain) > found.room.epsilon:
            plain = math.nextafter(plain, 0)
        return max(plain, pure_of_mu(mu)) if found.pool is not None else plain

    def forecast(self, *, epsilon: float, delta: float = 0.0) -> int:
        """Return how many more uses of this epsilon and delta there is room for.

        Parameters
        ----------
        epsilon, delta : float
            Of each; with a delta its releases are taken to be Gaussian.
        """
        if not Pair.of(epsilon, delta).epsilon:
            raise ValueError(f"epsilon is {epsilon!r}, expected a positive number")
        cost, found = most_of(epsilon, delta), self._filter()
        in_pool = placed(cost, pooled=not delta).mu_squared
        pooled = max(found.pool_left, Fraction(0)) // in_pool
        if delta:
            return int(pooled)
        return int(found.room.epsilon // cost.epsilon + (pooled if found.pool is not None else 0))

    def history(self) -> list[BudgetEntry]:
        """Return every use, in order: who, what, when, which model, what it counts, its state."""
        with file.reading(self.path) as connection:
            return [BudgetEntry.of(row) for row in connection.execute("SELECT * FROM uses")]

    def check(self) -> list[str]:
        """Return what is wrong with the file; empty when all is well.

        SQLite's own check, every use against the releases it holds, and all sums anew.
        """
        with file.reading(self.path) as connection:
            faults = [row[0] for row in connection.execute("PRAGMA integrity_check")]
            if faults != ["ok"]:
                return faults
            rows = connection.execute("SELECT * FROM uses").fetchall()
            return problems_of(file.read_filter(connection), rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the total and what is left, safe for JSON."""
        row, found = self._row(), self._filter()
        return {
            "table": row["name"],
            "protects": self.protects.describe(),
            "created": row["created"],
            "creator": row["creator"],
            "epsilon": float(found.total.epsilon),
            "delta": float(found.total.delta),
            "remaining": {"gaussian": self.remaining(), "pure": self.remaining(0.0)},
            "uses": len(self.history()),
        }

    def __str__(self) -> str:
        """Show the total, what is left, and every use."""
        with file.reading(self.path) as connection:
            row, found = file.row_of(connection), file.read_filter(connection)
            entries = [BudgetEntry.of(each) for each in connection.execute("SELECT * FROM uses")]
        left = {"Gaussian": self.remaining(), "pure": self.remaining(0.0)}
        who = file.protection_of(row).describe()
        return shown_budget(f"{row['name']!r} for {who}", found, left, entries)

    def _row(self) -> Any:
        with file.reading(self.path) as connection:
            return file.row_of(connection)

    def _filter(self) -> Filter:
        with file.reading(self.path) as connection:
            return file.read_filter(connection)
