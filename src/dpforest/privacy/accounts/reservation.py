"""A use of a shared budget: reserved before a record is read, settled when it has ended."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dpforest.exceptions import BudgetExceededError, BudgetFileError
from dpforest.privacy.accounts.budget import Budget
from dpforest.privacy.accounts.spends import Cost

if TYPE_CHECKING:
    from dpforest.privacy.accounts.ledger import Ledger


@dataclass(frozen=True)
class Use:
    """What somebody is about to do with a budget.

    Parameters
    ----------
    budget : Budget
    what : str
        For readers: the estimator, or "schema".
    most : Cost
        The most that its releases may cost.
    model : str, optional
        A digest: of the schema of a model, of the model once it is saved.
    """

    budget: Budget
    what: str
    most: Cost
    model: str | None = None

    def begin(self, ledger: Ledger) -> None:
        """Reserve for the last stage of a ledger, on the disk; from now on it keeps within that.

        What earlier stages released (a schema, failed fits) is counted if it was not before.
        """
        if ledger.reasons:
            raise ValueError(
                f"a budget pays for what has a guarantee, and this has none: {ledger.reasons[0]}"
            )
        self.budget.reserve(self, ledger.stages)
        ledger.reservation = Reservation(self.budget, ledger.stages[-1].identity, self.most)


@dataclass
class Reservation:
    """What a ledger may debit: no more than is reserved for it in the budget's file."""

    budget: Budget
    identity: str
    most: Cost

    def require(self, total: Cost) -> None:
        """Refuse a total beyond what is reserved."""
        most = self.most
        if (
            total.epsilon > most.epsilon
            or total.delta > most.delta
            or total.mu_squared > most.mu_squared
        ):
            raise BudgetExceededError(
                f"the releases would cost {total}, but {most} is reserved in {self.budget.path}. "
                "Nothing was read or released"
            )

    def extend(self, ledger: Ledger, by: Cost) -> None:
        """Reserve more for the same ledger, on the disk."""
        most = ledger.stages[-1].total + by
        self.budget.extend(self.identity, most)
        self.most = most


def settle(ledger: Ledger, state: Literal["released", "failed"]) -> None:
    """Count what was debited in the place of what was reserved.

    Where the file cannot be written the reservation stands, which counts no less.
    """
    reservation = ledger.reservation
    if reservation is None:
        return
    stage = ledger.stages[-1]
    reservation.most = stage.total
    try:
        reservation.budget.settle(stage, state)
    except BudgetFileError as error:
        warnings.warn(
            f"the use was not settled, so all that was reserved for it stays counted: {error}",
            RuntimeWarning,
            stacklevel=3,
        )


def name_model(ledger: Ledger, digest: str) -> None:
    """Write into the budget which file a model became."""
    if ledger.reservation is not None:
        ledger.reservation.budget.name_model(ledger.reservation.identity, digest)
