from fractions import Fraction

import pytest

from dpforest.exceptions import BudgetExceededError
from dpforest.privacy.accounts.caps import Cap
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Approximate, Cost, Gaussian, Pure, Spend

MOST = Cost({Fraction(1, 2): 1}, Fraction(0.1) ** 2)


@pytest.mark.parametrize("loss", [Pure(0.51), Gaussian(0.11), Approximate(0.1, 1e-9)])
def test_what_exceeds_the_cap_is_refused_though_the_budget_has_it(loss):
    ledger = Cap(MOST).begin(Ledger(10, 0.1, Protection()))
    with pytest.raises(BudgetExceededError, match="a trial"):
        ledger.debit(Spend("too much", "any", loss))
    assert ledger.entries == ()


def test_debits_add_up_to_the_cap():
    ledger = Cap(MOST).begin(Ledger(10, 0.1, Protection()))
    for loss in (Pure(0.25), Pure(0.25), Gaussian(0.1)):
        ledger.debit(Spend("a", "any", loss))
    with pytest.raises(BudgetExceededError):
        ledger.debit(Spend("b", "any", Pure(1e-6)))
    assert len(ledger.entries) == 3
