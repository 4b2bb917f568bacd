from dataclasses import replace
from fractions import Fraction

import pytest

from dpforest.privacy.accounts.choices import Choice
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Branch, Cost, Pure, Spend
from dpforest.privacy.accounts.stopping import Stopping
from dpforest.privacy.accounts.trainings import Training, covering_mu
from dpforest.privacy.accounts.writing import entry_from_dict, entry_to_dict

LAW = Stopping(1, 20)


def training(epsilon=0, mu=0.0):
    return Spend.of("training", "any", Training(epsilon, mu))


def stopped(parts, epsilon, delta=0):
    return Choice("trials", "random stopping", parts, 1, LAW, epsilon, delta)


def test_a_choice_that_costs_less_than_its_parts_is_refused():
    pure = Fraction(LAW.trial_epsilon(1.0))
    assert stopped((training(pure), training(Fraction(1, 10))), 1).cost() == Cost({Fraction(1): 1})
    with pytest.raises(ValueError, match="follows from its parts"):
        stopped((training(Fraction(1, 10)), training(pure * Fraction(101, 100))), 1)
    mu = LAW.trial_mu(1.0, 1e-6)
    found = stopped((training(mu=mu), training(mu=mu)), 1, 1e-6).cost()
    assert (found.epsilon, found.delta, found.mu_squared) == (1, Fraction(1, 10**6), 0)
    with pytest.raises(ValueError, match="follows from its parts"):
        stopped((training(mu=mu), training(mu=1.01 * mu)), 1, 1e-6)
    with pytest.raises(ValueError, match="follows from its parts"):
        stopped((training(mu=mu), training(pure)), 1, 1e-6)  # a pure part counts as a mu


def test_parts_that_all_pay_count_with_the_largest():
    many = Branch("all", "sequential", (training(Fraction(1, 20)),), times=20)
    assert Choice("all", "parallel", (many, training(1)), epsilon=1).cost().epsilon == 1
    with pytest.raises(ValueError, match="follows from its parts"):
        Choice("all", "parallel", (many, training(Fraction(11, 10))), epsilon=1)
    many = replace(many, times=21)
    with pytest.raises(ValueError, match="follows from its parts"):
        Choice("all", "parallel", (many, training(1)), epsilon=1)
    gaussian = Branch("all", "sequential", (training(mu=0.05),), times=20)
    assert Choice("all", "parallel", (gaussian, training(1)), epsilon=1, delta=1e-6)
    with pytest.raises(ValueError, match="follows from its parts"):
        Choice("all", "parallel", (gaussian, training(1)), epsilon=1, delta=1e-9)


def test_rules_and_laws_go_together():
    part = (training(Fraction(1, 10)),)
    with pytest.raises(ValueError, match="goes with"):
        Choice("x", "random stopping", part, epsilon=1)
    with pytest.raises(ValueError, match="goes with"):
        Choice("x", "parallel", part, 1, LAW, 1)
    with pytest.raises(ValueError, match="rule is"):
        Choice("x", "sequential", part, epsilon=1)
    with pytest.raises(ValueError, match="rule is"):
        Branch("x", "random stopping", part)


def test_files_tell_the_same_and_edited_ones_are_refused():
    mu = LAW.trial_mu(1.0, 1e-6)
    entry = stopped((training(mu=mu), training(mu=mu)), 1, 1e-6)
    written = entry_to_dict(entry)
    assert entry_from_dict(written) == entry
    with pytest.raises(ValueError, match="follows from its parts"):
        entry_from_dict(written | {"costs": {"epsilon": "1/2", "delta": "1/1000000"}})
    with pytest.raises(ValueError, match="follows from its parts"):
        entry_from_dict(written | {"stopping": {"eta": "1", "odds": 2000}})
    ledger = Ledger(1, Fraction(1, 10**6), Protection(), kind="search")
    ledger.debit(entry)
    again = Ledger.from_dict(ledger.to_dict())
    assert again.explain() == ledger.explain()
    assert "random stopping" in again.explain()
    assert (again.epsilon, again.delta) == (1, 1e-6)


def test_a_search_is_a_model_that_came_to_its_end():
    ledger = Ledger(1, 0, Protection(), kind="search")
    ledger.debit(training(1))
    assert ledger.failures() is None
    ledger.mark_failed()
    assert ledger.failures().epsilon == 1


def test_a_search_that_ended_ends_what_is_carried_along():
    failed = Ledger(1, 0, Protection())
    failed.debit(training(1))
    failed.mark_failed()
    ledger = Ledger(1, 0, Protection(), kind="search", after=failed.stages)
    ledger.debit(training(1))
    assert ledger.failures() is None


def test_a_training_has_one_price():
    assert Training(Fraction(1, 2), 0).loss == Pure(Fraction(1, 2))
    for epsilon, mu in ((0, 0.0), (1, 0.1)):
        with pytest.raises(ValueError, match="expected one of the two"):
            Training(epsilon, mu)
    # What is pure counts as the mu that covers it, beside the Gaussian part.
    both = covering_mu(Cost({Fraction(1, 10): 1}, Fraction(1, 100)))
    assert both == pytest.approx((0.01 + 0.1253**2) ** 0.5, rel=1e-3)
