from fractions import Fraction

import pytest

from dpforest.privacy.accounts.trainings import covering_mu
from dpforest.search.plan import MOST_TRIALS, Shares, laws, plan_search

DELTA = Fraction(1, 10**6)


def shares(delta=Fraction(0), n=20, steps=1, pure_share=Fraction(0), epsilon=Fraction(1)):
    return Shares(epsilon, delta, n, steps, pure_share)


@pytest.mark.parametrize("n", [2, 20, 200])
@pytest.mark.parametrize("coverage", [0.1, 0.6, 0.95])
def test_every_law_covers_and_the_next_one_does_not(n, coverage):
    found = list(laws(n, coverage))
    assert found[-1].eta == 1
    for law in found:
        assert law.chance(n) >= coverage
        if law.odds > 2:
            assert type(law)(law.eta, law.odds - 1).chance(n) < coverage
        assert law.mean <= MOST_TRIALS * n or law.eta == 1


@pytest.mark.parametrize("method", ["random_stopping", "permute_and_flip"])
@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
@pytest.mark.parametrize("steps", [1, 6])
def test_the_whole_budget_is_debited_and_a_training_is_held_to_its_share(method, delta, steps):
    plan = plan_search(shares(delta, steps=steps), method, 0.6)
    cost = plan.entry.cost()
    assert (cost.epsilon, cost.delta, cost.mu_squared) == (1, delta, 0)
    training = plan.entry.parts[0].cost()
    if delta:
        times = 20 if method == "permute_and_flip" else 1
        assert training.mu == pytest.approx(covering_mu(plan.most) * times**0.5)
        assert plan.most.epsilon == 0
    else:
        assert training.epsilon == plan.most.epsilon * (20 if method == "permute_and_flip" else 1)


def test_what_a_trial_may_cost_is_near_what_the_papers_hope_for():
    # A third of the total with the geometric law, more by the sharper bound and a smaller eta.
    assert 1 / 3 < plan_search(shares(), "random_stopping", 0.6).epsilon < 1 / 2
    # 25 times as many candidates leave little less.
    few, many = (plan_search(shares(DELTA, n), "random_stopping", 0.6).epsilon for n in (20, 500))
    assert many > 0.7 * few
    assert plan_search(shares(DELTA), "permute_and_flip", 0.6).epsilon < 0.25


@pytest.mark.parametrize("method", ["random_stopping", "permute_and_flip"])
@pytest.mark.parametrize("delta", ["0", "1e-12", "1e-6", "1e-2"])
@pytest.mark.parametrize("epsilon", ["1e-3", "0.1", "30"])
def test_every_budget_can_be_shared_out(epsilon, delta, method):
    plan = plan_search(shares(Fraction(delta), 3, epsilon=Fraction(epsilon)), method, 0.6)
    assert plan.epsilon > 0
    assert plan.delta <= float(delta)
    strength = plan.entry.parts[0].cost()
    times = 3 if method == "permute_and_flip" else 1
    if Fraction(delta):
        assert covering_mu(plan.most) * times**0.5 == pytest.approx(strength.mu)
        # Nothing worth mentioning is given away.
        assert plan.stopping is None or plan.choosing.mu == pytest.approx(strength.mu, rel=1e-6)


def test_pure_releases_of_a_gaussian_training_count():
    plain = plan_search(shares(DELTA), "random_stopping", 0.6)
    mixed = plan_search(shares(DELTA, pure_share=Fraction(1, 10)), "random_stopping", 0.6)
    assert mixed.epsilon < plain.epsilon
    assert mixed.most.epsilon > 0
    assert covering_mu(mixed.most) <= covering_mu(plain.most) * (1 + 1e-9)


def test_only_public_facts_are_planned_from():
    assert plan_search(shares(DELTA), "random_stopping", 0.6) == plan_search(
        shares(DELTA), "random_stopping", 0.6
    )
