from fractions import Fraction

import numpy as np
import pytest

from dpforest.exceptions import BudgetExceededError
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Gaussian, Pure
from dpforest.privacy.desk import Desk
from dpforest.privacy.hold_out import (
    MARK_STEPS,
    choose_candidate,
    marks_spend,
    noisy_marks,
    selection_spend,
)
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.records.local import LocalStore
from dpforest.tables.frames import Frame

PERSONS = Protection("replace_one", "group", 3)


class Recording(Draws):
    """Keeps the exact numbers behind releases."""

    def __init__(self):
        super().__init__(0)
        self.asked = []

    def add_noise(self, noise, totals):
        self.asked.append((noise, totals.copy()))
        return super().add_noise(noise, totals)

    def permute_and_flip(self, utilities, **terms):
        self.asked.append((terms, np.array(utilities)))
        return super().permute_and_flip(utilities, **terms)


def desk(marks, protection=Protection(), ledger=None, draws=None):  # noqa: B008, frozen
    marks = np.asarray(marks, np.float64)
    store = LocalStore(Frame(marks[:, np.newaxis]), marks)
    return Desk(store, ledger or Ledger(1, 1e-6, protection), draws or Recording())


@pytest.mark.parametrize("price", [Pure(0.5), Gaussian(0.1)])
@pytest.mark.parametrize("protection", [Protection(), PERSONS])
def test_noise_covers_what_neighbours_change(price, protection):
    """All records that may change do, from the one end of the marks to nothing."""
    base = [0.3, 1.0, 0.0]
    for mark in (0.0, 0.4, 1.0):
        one, other = desk(base, protection), desk([*base, *[mark] * protection.steps], protection)
        for each in (one, other):
            noisy_marks(each, price)
        (noise, before), (again, after) = one.draws.asked[0], other.draws.asked[0]
        assert noise == again
        order = 2 if isinstance(price, Gaussian) else 1
        distance = np.linalg.norm(after - before, order)
        assert distance <= float(noise.made.sensitivity)
        if mark != 0.4 or order == 1:
            assert distance == pytest.approx(float(noise.made.sensitivity))
        assert one.ledger.entries == (marks_spend(price, protection.steps),)
        assert one.ledger.entries[0].loss == noise.loss


def test_marks_come_with_the_deviation_of_their_noise():
    asked = desk([1.0] * 70 + [0.0] * 30)
    found = noisy_marks(asked, Pure(0.5))
    assert abs(found.values - [70, 30]).max() < 8 * found.deviation
    assert found.deviation == pytest.approx(np.sqrt(2) / 0.5, rel=1e-3)


@pytest.mark.parametrize("protection", [Protection(), PERSONS])
def test_the_choice_is_paid_for_and_made_at_the_price_of_a_step(protection):
    ledger, draws = Ledger(1, 0, protection), Recording()
    marks = [np.zeros(400), np.ones(400), np.full(400, 0.1)]
    desks = [desk(each, protection, ledger, draws) for each in marks]
    assert choose_candidate(desks, Fraction(1)) == 1
    ((terms, utilities),) = draws.asked
    assert terms["monotone"]
    assert terms["epsilon"] * protection.steps == 1
    assert terms["sensitivity"] == MARK_STEPS
    assert utilities.tolist() == [[0, 400 * MARK_STEPS, 400 * round(0.1 * MARK_STEPS)]]
    assert ledger.entries == (selection_spend(Fraction(1), protection.steps),)
    assert ledger.epsilon == 1


def test_nothing_is_looked_at_that_the_ledger_does_not_afford():
    for ask in (lambda d: noisy_marks(d, Pure(2)), lambda d: choose_candidate([d], Fraction(2))):
        asked = desk([1.0, 0.0])
        asked.total = None  # whoever looks, fails otherwise
        with pytest.raises(BudgetExceededError):
            ask(asked)
