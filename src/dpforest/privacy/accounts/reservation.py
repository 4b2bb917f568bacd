"""A use of a shared budget: reserved before a record is read, settled when it has ended."""

from __future__ import annotations

import secrets
import threading
import warnings
from dataclasses import dataclass, replace
from typing import Self

from dpforest.exceptions import BudgetExceededError, BudgetFileError
from dpforest.privacy.accounts import budget_debits
from dpforest.privacy.accounts.budget import Budget
from dpforest.privacy.accounts.budget_debits import End
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.spends import Amount, Cost, Entry
from dpforest.privacy.accounts.stages import Stage

NO_GUARANTEE = "a budget pays for what has a guarantee, and this has none"
_ONE_AT_A_TIME = threading.RLock()


@dataclass(frozen=True)
class Use:
    """What somebody is about to do with a budget.

    Parameters
    ----------
    budget : Budget
    what : str
        For readers: the estimator, or "schema".
    asked : tuple
        The epsilon and delta that it has for itself.
    most : Cost
        The most that its releases may cost, see `budget_filter.most_of`.
    model : str, optional
        The digest of the schema; that of the model once it is saved.
    """

    budget: Budget
    what: str
    asked: tuple[Amount, Amount]
    most: Cost
    model: str | None = None

    def begin(self, ledger: Ledger) -> ReservedLedger:
        """Reserve for what the ledger will debit next; on the disk when this returns.

        What it released before (a schema, failed fits, batches of a predictor) is counted if it was
        not yet. The ledger that is returned goes on from this one and keeps within what is
        reserved.
        """
        if ledger.reasons:
            raise ValueError(f"{NO_GUARANTEE}: {ledger.reasons[0]}")
        *earlier, last = ledger.stages
        # Batches of a predictor are uses of their own, of one stage; some may be other budgets'.
        parts = ledger.parts if isinstance(ledger, ReservedLedger) else (last,) * bool(last.entries)
        part = f"/{secrets.token_hex(8)}" if parts else ""
        stage = Stage(
            last.kind, *self.asked, last.protection, last.reproducible_noise, last.identity + part
        )
        before = [*earlier, *parts]
        budget_debits.reserve(self.budget.path, stage, self.most, self.what, self.model, before)
        return ReservedLedger.within(ledger, Reservation(self.budget, self.most, stage), parts)


@dataclass(frozen=True)
class Reservation:
    """What a ledger may debit, and what it did: no more than the budget's file has for it."""

    budget: Budget
    most: Cost
    debited: Stage

    def with_entry(self, entry: Entry) -> Reservation:
        """Return it with one entry more, or raise BudgetExceededError."""
        stage = self.debited.with_entry(entry)
        total, most = stage.total, self.most
        if not total.within(most):
            raise BudgetExceededError(
                f"the releases would cost {total}, but {most} is reserved in {self.budget.path}. "
                "Nothing was read or released"
            )
        return replace(self, debited=stage)


class ReservedLedger(Ledger):
    """A ledger that debits within a reservation in a budget; `Use.begin` makes one."""

    _reservation: Reservation
    _earlier_parts: tuple[Stage, ...]

    @classmethod
    def within(cls, ledger: Ledger, reservation: Reservation, parts: tuple[Stage, ...]) -> Self:
        """Return a ledger that goes on from another one, of whose last stage there are parts."""
        reserved = cls._of(ledger.stages)
        reserved._reservation, reserved._earlier_parts = reservation, parts
        return reserved

    @property
    def parts(self) -> tuple[Stage, ...]:
        """What the last stage consists of, by who paid for it."""
        return (*self._earlier_parts, self._reservation.debited)

    def debit(self, entry: Entry) -> None:
        """Append an entry, or raise BudgetExceededError and change nothing."""
        with _ONE_AT_A_TIME:
            after = self._reservation.with_entry(entry)
            super().debit(entry)
            self._reservation = after

    def void(self, reason: str) -> None:
        """Refuse: what has no guarantee must not read records that a budget protects."""
        raise ValueError(f"{NO_GUARANTEE}: {reason}")

    def settle(self, state: End) -> None:
        """Count what was debited in the place of what was reserved.

        Where the file cannot be written the reservation stands, which counts no less.
        """
        done = replace(self._reservation.debited, kind=self.stages[-1].kind)
        # Nothing more under this reservation.
        self._reservation = replace(self._reservation, debited=done, most=done.total)
        try:
            budget_debits.settle(self._reservation.budget.path, done, state)
        except BudgetFileError as error:
            warnings.warn(
                f"the use was not settled, so all that was reserved for it stays counted: {error}",
                RuntimeWarning,
                stacklevel=3,
            )

    def name_model(self, digest: str) -> None:
        """Write into the budget which file the model became."""
        path, identity = self._reservation.budget.path, self._reservation.debited.identity
        budget_debits.name_model(path, identity, digest)


def settle(ledger: Ledger, state: End) -> None:
    """Settle the use of a ledger; without a budget there is nothing to do."""
    if isinstance(ledger, ReservedLedger):
        ledger.settle(state)
