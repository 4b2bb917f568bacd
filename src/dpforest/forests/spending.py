"""What a fit takes of a shared budget, and the account of what it spent, also when it failed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from os import PathLike

from dpforest.forests.provenance import schema_digest
from dpforest.privacy.accounts.budget import Budget
from dpforest.privacy.accounts.budget_filter import most_of
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.reservation import Use, settle
from dpforest.privacy.accounts.spends import Amount
from dpforest.schema import Schema

SharedBudget = Budget | str | PathLike[str]


def use_of(
    budget: SharedBudget | None,
    what: str,
    asked: tuple[Amount, Amount],
    pure_share: Fraction,
    schema: Schema,
) -> Use | None:
    """What a fit is about to take of a shared budget; None where there is none."""
    if budget is None:
        return None
    most = most_of(*asked, pure_share)
    return Use(Budget.open(budget), what, asked, most, schema_digest(schema))


@contextmanager
def spending(ledger: Ledger) -> Iterator[None]:
    """What a fit released before it failed stays spent, and the ledger says so."""
    try:
        yield
    except BaseException:
        spent = ledger.stages[-1]
        if spent.entries:
            ledger.mark_failed()
        settle(ledger, "failed")
        if spent.entries:
            warnings.warn(
                f"fit failed after it had spent epsilon = {float(spent.epsilon):.6g}; "
                "ledger_ has the account, and the next fit of this object keeps it",
                RuntimeWarning,
                stacklevel=5,
            )
        raise
    settle(ledger, "released")
