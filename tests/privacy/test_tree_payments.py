"""One way to pay for trees: what a tree may do, and what all of them cost, by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.mechanisms_used import DiscreteLaplace, Selection
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.tree_sampling import Span, TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.tree_payments import noise_within, pay_for_choices, pay_for_noise, whole

SPANS = [Span(Fraction(0), Fraction(1, 2)), Span(Fraction(1, 2), Fraction(2))]


@pytest.mark.parametrize("span", SPANS)
def test_choices_get_what_a_tree_may_spend(
    recorded_desk, protected, sampling, allowed, require_debit, span
):
    protection, steps = protected
    desk = recorded_desk(protection)
    epsilon = pay_for_choices(desk, "choices", "some choice", span, sampling, where="a level")
    expected = float(allowed(sampling, span, steps))
    assert float(epsilon) == pytest.approx(expected, rel=1e-9)
    assert float(epsilon) <= expected * (1 + 1e-12)
    require_debit(desk, sampling, steps, [(Selection("some choice", epsilon, 1), span)])
    assert desk.log == ["debit"]


@pytest.mark.parametrize("grid", [1, 512])
@pytest.mark.parametrize("span", SPANS)
def test_noise_is_for_one_record_at_what_a_tree_may_spend(
    recorded_desk, protected, sampling, allowed, require_debit, span, grid
):
    protection, steps = protected
    desk = recorded_desk(protection)
    noise = pay_for_noise(desk, "noise", span, sampling, grid=grid, where="a level")
    within = float(allowed(sampling, span, steps))
    assert noise.made.sensitivity == grid
    assert float(noise.made.scale) == pytest.approx(grid / within, rel=1e-8)
    assert float(noise.made.scale) * within >= grid * (1 - 1e-12)
    assert noise == noise_within(desk, span, sampling, grid)
    require_debit(desk, sampling, steps, [(noise.made, span)])
    assert desk.log == ["debit"]


def test_without_a_budget_nothing_is_drawn():
    desk = Desk(None, Ledger(math.inf, 0.0, Protection()), Draws(0))
    span = whole(math.inf)
    for kind in ("shared", "disjoint", "without_replacement"):
        sampling = TreeSampling(kind, 3, Fraction(1, 2))
        assert pay_for_choices(desk, "c", "choice", span, sampling, where="a") == math.inf
        noise = pay_for_noise(desk, "n", span, sampling, where="a")
        assert noise.made == DiscreteLaplace(0, 1)
        assert noise.deviation == 0
    assert desk.ledger.guarantee is None


def test_the_price_of_a_sample_covers_its_worst_loss_and_is_tight():
    """One record more, one tree: the law of a noisy count of a sample, enumerated.

    The sampled record is in with the probability p, and the noise is that of the ledger. The worst
    log ratio is the price that was debited, to within a thousandth of it.
    """
    share = Fraction(2, 5)
    sampling = TreeSampling("without_replacement", 1, share)
    desk = Desk(None, Ledger(1.0, 0.0, Protection()), Draws(0))
    noise = pay_for_noise(desk, "n", whole(Fraction(1, 2)), sampling, where="a")
    values = np.arange(-60, 61)
    without = np.exp(-np.abs(values) / float(noise.made.scale))
    with_one = 0.6 * without + 0.4 * np.exp(-np.abs(values - 1) / float(noise.made.scale))
    worst = np.abs(np.log(with_one / without)).max()
    assert 0.999 * 0.5 <= worst <= 0.5
    assert desk.ledger.epsilon == pytest.approx(0.5)
