"""The filter: never above the total, whatever is asked, reserved, settled and in which order."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from dpforest.exceptions import BudgetExceededError
from dpforest.privacy.accounts.accounting import gaussian_delta, gaussian_epsilon, mu_for
from dpforest.privacy.accounts.budget_filter import (
    Charge,
    Filter,
    Pair,
    most_of,
    mu_of_pure,
    placed,
    pure_of_mu,
)
from dpforest.privacy.accounts.spends import Cost

NONE = Pair.of(0, 0)


def reserved(found: Filter, cost: Cost) -> tuple[Filter, Charge]:
    charge = found.charge(cost)
    return found.replaced(Charge(), charge), charge


def accepted(found: Filter, cost: Cost) -> int:
    """How many uses of a cost fit, one after the other."""
    number = 0
    while True:
        try:
            found, _ = reserved(found, cost)
        except BudgetExceededError:
            return number
        number += 1


costs = st.builds(
    lambda pure, mu, delta: Cost({Fraction(pure, 50): 1} if pure else {}, Fraction(mu, 400) ** 2,
                                 Fraction(delta, 10**7)),
    st.integers(0, 20), st.integers(0, 60), st.sampled_from([0, 0, 1, 2]),
)  # fmt: skip
moves = st.lists(st.tuples(costs, st.integers(0, 4), st.integers(0, 3)), max_size=25)


@given(moves, st.sampled_from([NONE, Pair.of(0.5, 3e-7)]))
def test_random_uses_never_exceed_the_total(sequence, aside):
    total = Pair.of(2.0, 1e-6)
    found, standing, charges, sizes = Filter(total, aside), [], [], []
    for cost, share, which in sequence:
        try:
            after, charge = reserved(found, cost)
        except BudgetExceededError:
            pass
        else:
            found = after
            standing.append((cost, len(charges)))
            charges.append(charge)
        if standing and which == 0:
            # Settle one to a share of what it was given.
            full, place = standing.pop(0)
            part = Fraction(share, 4)
            spent = Cost({full.epsilon * part: 1}, full.mu_squared * part, full.delta * part)
            settled = placed(spent, charges[place].pooled)
            found = found.replaced(charges[place], settled)
            charges[place] = settled
        assert found.plain == (sum(c.epsilon for c in charges), sum(c.delta for c in charges))
        assert found.mu_squared == sum(c.mu_squared for c in charges)
        assert min(found.room) >= 0
        assert (found.pool is None) == (not found.mu_squared)
        if found.pool is not None:
            mu = Cost(mu_squared=found.mu_squared).mu
            assert gaussian_delta(mu * (1 - 1e-14), float(found.pool.epsilon)) <= found.pool.delta
            assert found.plain.epsilon + found.pool.epsilon <= total.epsilon
            assert found.plain.delta + found.pool.delta <= total.delta
        sizes.append(found.pool)
        if len(sizes) > 1 and sizes[-2] and sizes[-1]:
            assert sizes[-2] == sizes[-1], "the pool is as large as it was opened"


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_a_full_pool_costs_no_more_than_its_size(epsilon, delta):
    empty = Filter(Pair.of(epsilon, delta), NONE)
    full, _ = reserved(empty, Cost(mu_squared=empty.pool_left))
    assert full.pool == empty.total
    assert gaussian_delta(Cost(mu_squared=full.mu_squared).mu, epsilon) <= delta


def test_gaussian_uses_add_mu_squared_and_pure_ones_epsilon():
    found = Filter(Pair.of(3.0, 1e-6), NONE)
    assert accepted(found, most_of(0.5, 0.0)) == 6
    exact_number = math.floor((mu_for(3.0, 1e-6) / mu_for(0.5, 1e-6)) ** 2)
    assert accepted(found, most_of(0.5, 1e-6)) == exact_number > 20


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0, 7.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_one_use_of_all_of_it_fits_and_nothing_after_it(epsilon, delta):
    found, _ = reserved(Filter(Pair.of(epsilon, delta), NONE), most_of(epsilon, delta))
    for more in (most_of(1e-3, 0.0), most_of(1e-3, 1e-9)):
        with pytest.raises(BudgetExceededError, match="Nothing was read"):
            found.charge(more)


def test_decimal_shares_fill_a_budget_and_not_a_grain_more():
    assert accepted(Filter(Pair.of(1.0, 0), NONE), most_of(0.1, 0)) == 10
    assert accepted(Filter(Pair.of(Fraction(999999, 1000000), 0), NONE), most_of(0.1, 0)) == 9


def test_a_reservation_that_released_nothing_gives_everything_back():
    empty = Filter(Pair.of(1.0, 1e-6), NONE)
    opened, charge = reserved(empty, most_of(0.3, 1e-7))
    assert opened.pool == empty.total
    assert opened.replaced(charge, placed(Cost(), charge.pooled)) == empty


def test_pure_uses_go_to_the_pool_when_nothing_is_left_beside_it():
    opened, _ = reserved(Filter(Pair.of(1.0, 1e-6), Pair.of(0.2, 0)), most_of(0.1, 1e-6))
    beside, first = reserved(opened, most_of(0.2, 0))
    assert (first.epsilon, first.pooled) == (Fraction(1, 5), False)
    _, second = reserved(beside, most_of(0.1, 0))
    assert (second.epsilon, second.pooled) == (0, True)
    assert second.mu_squared == Fraction(mu_of_pure(Fraction(1, 10))) ** 2


def test_thresholds_after_the_pool_has_opened_need_what_was_set_aside():
    threshold = Cost({Fraction(1, 10): 1}, delta=Fraction(1, 10**7))
    opened, _ = reserved(Filter(Pair.of(1.0, 1e-6), NONE), most_of(0.1, 1e-6))
    with pytest.raises(BudgetExceededError, match="set_aside"):
        opened.charge(threshold)
    aside, _ = reserved(Filter(Pair.of(1.0, 1e-6), Pair.of(0.1, 1e-7)), most_of(0.1, 1e-6))
    assert aside.charge(threshold).delta == Fraction(1, 10**7)


def test_gaussian_uses_of_a_budget_without_delta_are_refused():
    with pytest.raises(BudgetExceededError, match="delta"):
        Filter(Pair.of(1.0, 0), NONE).charge(most_of(0.1, 1e-6))


@pytest.mark.parametrize("epsilon", [1e-5, 1e-3, 0.01, 0.1, 1.0, 5.0, 40.0, 600.0])
def test_mu_of_pure_covers_randomised_response_and_is_the_least_that_does(epsilon):
    def worst(mu: float) -> float:
        # Total variation is where the two curves touch: both errors are equal there.
        return math.tanh(epsilon / 2) - (2 * norm.cdf(mu / 2) - 1)

    mu = mu_of_pure(epsilon)
    assert worst(mu) <= 1e-15
    if epsilon < 30:
        assert worst(mu * (1 - 1e-6)) > 0, "control: a smaller mu does not cover it"
        for at in np.linspace(0, epsilon, 50):
            response = (math.exp(epsilon) - math.exp(at)) / (1 + math.exp(epsilon))
            assert response <= gaussian_delta(mu, float(at)) + 1e-15


@given(st.floats(1e-6, 50), st.floats(1e-6, 50))
def test_squares_of_mu_of_pure_are_superadditive(one, other):
    together = mu_of_pure(one + other) ** 2 * (1 + 1e-8)
    assert together >= mu_of_pure(one) ** 2 + mu_of_pure(other) ** 2


@given(st.floats(1e-6, 12))
def test_pure_of_mu_is_the_inverse_rounded_down(mu):
    epsilon = pure_of_mu(mu)
    assert mu * (1 - 1e-7) <= mu_of_pure(epsilon) <= mu


def delta_of_stopping(total: Pair, first: float, last: float, extra: float) -> float:
    """The delta of somebody who looks at a Gaussian release before deciding what comes next.

    After mu = ``first`` they either take a pure release of ``extra`` and stop, or go on with
    Gaussian releases up to mu = ``last``: whichever gives more. With X the privacy loss so far,
    this is the mean of the larger of the two values of (1 - exp(E - loss))+.
    """
    epsilon = float(total.epsilon)
    loss = np.linspace(first**2 / 2 - 10 * first, first**2 / 2 + 10 * first, 40_001)
    weight = norm.pdf(loss, first**2 / 2, first)
    weight /= weight.sum()
    up = 1 / (1 + math.exp(-extra))
    stop = up * np.maximum(1 - np.exp(epsilon - extra - loss), 0) + (1 - up) * np.maximum(
        1 - np.exp(epsilon + extra - loss), 0
    )
    rest = math.sqrt(last**2 - first**2)
    u = (epsilon - loss) / rest - rest / 2
    go_on = norm.cdf(-u) - np.exp(epsilon - loss) * norm.cdf(-u - rest)
    return float((weight * np.maximum(stop, go_on)).sum())


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (5.0, 1e-3)])
def test_one_rule_for_mixtures_would_be_overspent_and_the_pool_is_not(epsilon, delta):
    """Why pure and Gaussian uses have accounts of their own: the naive sum is no filter."""
    total, largest = Pair.of(epsilon, delta), mu_for(epsilon, delta)
    first = largest / 10
    naive = epsilon - gaussian_epsilon(first, delta)  # what "the total so far" would leave
    assert delta_of_stopping(total, first, largest, naive) > 1.5 * delta
    aside = Pair.of(epsilon / 2, 0)
    ours, _ = reserved(Filter(total, aside), Cost(mu_squared=Fraction(first) ** 2))
    last = Cost(mu_squared=ours.pool_left + ours.mu_squared).mu
    extra = max(float(ours.room.epsilon), pure_of_mu(math.sqrt(float(ours.pool_left))))
    assert delta_of_stopping(total, first, last, extra) < 1.001 * delta
