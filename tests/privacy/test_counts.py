"""Noisy counts: each law against the sensitivity worked out by hand, for all four protections."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpforest.exceptions import BudgetExceededError
from dpforest.privacy.accounts.mechanisms_used import Public
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Gaussian, Pure
from dpforest.privacy.counts import COUNT_GRID, bin_counts, count, table_counts, target_counts
from dpforest.schema import NumericFeature, Schema
from dpforest.tables.encode import Encoding

N = 60  # of the recorded desk
ENCODING = Encoding.from_schema(
    Schema((NumericFeature("a", 0, 1), NumericFeature("b", 0, 1))), max_bins=4
)
PRICES = {"pure": Pure(Fraction(1, 10)), "gaussian": Gaussian(0.05), "rich": Pure(20)}
VERBS = {  # and the number of counts that one record changes, each by 1
    "count": (lambda desk, price: count(desk, price), 1),
    "bins": (lambda desk, price: bin_counts(desk, ENCODING, (0, 1), price, "bins"), 2),
    "one feature": (lambda desk, price: bin_counts(desk, ENCODING, (1,), price, "bins"), 1),
    "table": (lambda desk, price: table_counts(desk, ENCODING, (0, 1), price, "table"), 1),
    "target": (lambda desk, price: target_counts(desk, 0.0, 1.0, 4, price), 1),
}


@pytest.mark.parametrize("price", PRICES.values(), ids=PRICES)
@pytest.mark.parametrize("verb", VERBS)
def test_noise_is_that_of_the_sensitivity_and_the_ledger_says_so(
    recorded_desk, protected, paid_before_read, verb, price
):
    protection, steps = protected
    release, cells = VERBS[verb]
    desk = recorded_desk(protection)
    if verb == "count" and protection == Protection("replace_one"):
        assert release(desk, price) == N  # public, and tested below
        return
    released = release(desk, price)
    ((kind, made),) = desk.draws.laws
    (call,) = desk.draws.calls
    values = released if verb == "count" else released.values
    grid = round(call.numbers.sum() / np.sum(values))
    assert (kind, grid) == ("noise", COUNT_GRID)
    if isinstance(price, Pure):
        assert made.sensitivity == grid * cells * steps
        assert made.scale == pytest.approx(grid * cells * steps / float(price.epsilon), rel=1e-8)
        deviation = math.sqrt(2) * cells * steps / float(price.epsilon)
    else:
        assert made.sensitivity == pytest.approx(grid * math.sqrt(cells) * steps, rel=1e-12)
        assert made.sensitivity >= grid * math.sqrt(cells) * steps * (1 - 1e-15)
        deviation = math.sqrt(cells) * steps / price.mu
        assert math.sqrt(made.sigma2) == pytest.approx(grid * deviation, rel=1e-4)
    if verb != "count":
        assert released.deviation == pytest.approx(deviation, rel=1e-3)
    assert desk.made() == [made]
    paid_before_read(desk)


def test_counts_are_exact_but_for_the_noise(recorded_desk):
    desk = recorded_desk()
    assert count(desk, PRICES["pure"]) == N
    bins = bin_counts(desk, ENCODING, (0, 1), PRICES["pure"], "bins").values
    assert bins.sum(axis=1).tolist() == [N, N]
    table = table_counts(desk, ENCODING, (0, 1), PRICES["pure"], "table").values
    assert [table.sum(axis=1).tolist(), table.sum(axis=0).tolist()] == bins.tolist()
    assert target_counts(desk, 0.0, 1.0, 2, PRICES["pure"]).values.sum() == N


def test_a_small_price_makes_the_grid_coarser_and_not_the_noise_smaller(recorded_desk):
    """The exact samplers have a largest deviation; the width in counts stays what it must be."""
    desk = recorded_desk(Protection("replace_one", "group", 3))
    price = Pure(Fraction(1, 10_000))
    released = target_counts(desk, 0.0, 1.0, 4, price)
    (call,) = desk.draws.calls
    grid = round(call.numbers.sum() / released.values.sum())
    assert 1 <= grid < COUNT_GRID
    assert call.law.scale == 6 * grid * 10_000


def test_without_a_budget_there_is_no_noise(recorded_desk):
    desk = recorded_desk(epsilon=math.inf)
    assert count(desk, Pure(math.inf)) == N
    assert target_counts(desk, 0.0, 1.0, 2, Pure(math.inf)).deviation == 0
    assert desk.ledger.guarantee is None
    assert [made.scale for made in desk.made()] == [0, 0]


def test_the_number_of_records_is_public_and_free_when_records_are_replaced(recorded_desk):
    desk = recorded_desk(Protection("replace_one"))
    assert count(desk, Gaussian(0.01)) == N
    assert desk.draws.calls == []
    assert desk.made() == [Public()]
    assert desk.ledger.epsilon == 0


def test_it_is_public_for_no_other_neighbours(recorded_desk, protected):
    """A person who is replaced may bring another number of records."""
    protection, _ = protected
    desk = recorded_desk(protection)
    count(desk, Pure(1))
    public = protection == Protection("replace_one")
    assert desk.count_is_public == public
    assert [call.kind for call in desk.draws.calls] == ([] if public else ["noise"])


def test_pure_budgets_refuse_gaussian_noise(recorded_desk):
    desk = recorded_desk(delta=0.0)
    with pytest.raises(BudgetExceededError):
        count(desk, Gaussian(0.01))
    assert desk.log == []
