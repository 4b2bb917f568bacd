"""The uses of a budget for readers, and whether its file is consistent."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from itertools import pairwise

from dpforest.privacy.accounts.budget_file import charge_of
from dpforest.privacy.accounts.budget_filter import NOTHING, Charge, Filter, Pair, placed
from dpforest.privacy.accounts.guarantee import pair
from dpforest.privacy.accounts.spends import Cost
from dpforest.privacy.accounts.writing import stage_from_dict


@dataclass(frozen=True)
class BudgetEntry:
    """One use of a budget.

    Parameters
    ----------
    number : int
    state : {"reserved", "released", "failed"}
        Under way or killed; ended; ended by an error. All count.
    what : str
        The estimator, or "schema".
    model : str or None
        The digest of the saved model, else of its schema.
    who, process : str
        The user, and ``machine:process``.
    began, ended : str
        UTC; ``ended`` is None while it is reserved.
    epsilon, delta : float
        What was asked for.
    mu : float
        What it takes of the pool of Gaussian releases; 0 when it takes nothing there.
    plain_epsilon, plain_delta : float
        What it takes beside the pool, where epsilons add up.
    """

    number: int
    state: str
    what: str
    model: str | None
    who: str
    process: str
    began: str
    ended: str | None
    epsilon: float
    delta: float
    mu: float
    plain_epsilon: float
    plain_delta: float

    @classmethod
    def of(cls, row: sqlite3.Row) -> BudgetEntry:
        """Read a row of the file."""
        charge = charge_of(row)
        return cls(
            number=row["number"],
            state=row["state"],
            what=row["what"],
            model=row["model"],
            who=row["who"],
            process=row["process"],
            began=row["began"],
            ended=row["ended"],
            epsilon=float(Fraction(row["asked_epsilon"])),
            delta=float(Fraction(row["asked_delta"])),
            mu=Cost(mu_squared=charge.mu_squared).mu,
            plain_epsilon=float(charge.epsilon),
            plain_delta=float(charge.delta),
        )

    def __str__(self) -> str:
        """One line for readers."""
        plain = Fraction(self.plain_epsilon), Fraction(self.plain_delta)
        takes = Cost({plain[0]: 1} if plain[0] else {}, Fraction(self.mu) ** 2, plain[1])
        model = "" if self.model is None else f", {self.model[:12]}"
        return (
            f"{self.number}. {self.began} {self.who} ({self.process}): {self.what}{model}, asked "
            f"{pair(Fraction(str(self.epsilon)), Fraction(str(self.delta)))}, {self.state}: {takes}"
        )


def problems_of(found: Filter, rows: Sequence[sqlite3.Row]) -> list[str]:
    """Return where uses do not follow from their releases, or sums from the uses."""
    problems: list[str] = []
    for row in rows:
        if row["stage"] is None:
            continue
        try:
            stage = stage_from_dict(json.loads(row["stage"]))
        except (KeyError, TypeError, ValueError) as error:
            problems.append(f"use {row['number']}: its releases are damaged ({error})")
            continue
        if placed(stage.total, bool(row["pooled"])) != charge_of(row):
            problems.append(f"use {row['number']} does not count what it released")
    total = _sums([charge_of(row) for row in rows])
    if (total.epsilon, total.delta, total.mu_squared) != (*found.plain, found.mu_squared):
        problems.append("what is spent is not the sum of the uses")
    if min(found.room) < 0 or found.pool_left < 0 or (found.pool is None) != (not found.mu_squared):
        problems.append("the uses cost more than the total")
    numbers = [0, *(row["number"] for row in rows)]
    if any(later != earlier + 1 for earlier, later in pairwise(numbers)):
        problems.append("uses are missing: their numbers have gaps")
    return problems


def shown_budget(
    title: str, found: Filter, left: Mapping[str, float], entries: Sequence[BudgetEntry]
) -> str:
    """Return a page about a budget."""
    lines = [f"budget {pair(*found.total)} of {title} [filter: fixed total]"]
    lines += list(_spent(found))
    lines += [f"left: epsilon = {_down(x)} for one more {kind} use" for kind, x in left.items()]
    return "\n".join([*lines, *map(str, entries)])


def _spent(found: Filter) -> Iterator[str]:
    yield f"plain: {pair(*found.plain)}, epsilons and deltas add up"
    if found.pool is not None:
        mu = Cost(mu_squared=found.mu_squared).mu
        largest = Cost(mu_squared=found.mu_squared + found.pool_left).mu
        size = Pair(*found.pool)
        yield f"pool of Gaussian releases: mu = {mu:.6g} of {largest:.6g}, which is {pair(*size)}"


def _down(value: float) -> str:
    """Four digits, never more than there is."""
    return f"{float(Context(prec=4, rounding=ROUND_FLOOR).create_decimal(value)):.4g}"


def _sums(charges: Sequence[Charge]) -> Charge:
    return Charge(
        sum((c.epsilon for c in charges), NOTHING),
        sum((c.delta for c in charges), NOTHING),
        sum((c.mu_squared for c in charges), NOTHING),
    )
