"""A ledger that is held to a price: what a trial of a search may cost, whatever it releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from dpforest.exceptions import BudgetExceededError
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.spends import Cost, Entry


@dataclass(frozen=True)
class Cap:
    """The most that a fit, or a question, may cost beside its own budget.

    An (epsilon, delta) can be spent in pure and in Gaussian releases; a search has paid for a
    certain amount of each, and this keeps its trials to that.

    Parameters
    ----------
    most : Cost
    """

    most: Cost

    def begin(self, ledger: Ledger) -> CappedLedger:
        """Return a ledger that goes on from another one within the cap."""
        return CappedLedger.within(ledger, self.most)


class CappedLedger(Ledger):
    """A ledger that debits no more than a cap in its last stage; `Cap.begin` makes one."""

    _most: Cost

    @classmethod
    def within(cls, ledger: Ledger, most: Cost) -> Self:
        """Return a ledger that goes on from another one."""
        capped = cls._of(ledger.stages)
        capped._most = most
        return capped

    def debit(self, entry: Entry) -> None:
        """Append an entry, or raise BudgetExceededError and change nothing."""
        total = self.stages[-1].total + entry.cost()
        if not total.within(self._most):
            raise BudgetExceededError(
                f"the releases of a trial would cost {total}, but {self._most} is paid for each. "
                "Nothing was read or released"
            )
        super().debit(entry)
