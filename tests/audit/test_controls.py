"""Every broken mechanism is caught at confidence 0.999; a right one beside it is not."""

import pytest

from dpforest.audit import audit, controls, laplace_count
from dpforest.audit.controls_diprime import many_medians

CONTROLS = controls()


@pytest.mark.parametrize("name", list(CONTROLS))
def test_caught(name):
    trials = 1_000 if name.endswith("from-data") else 100_000
    report = audit(CONTROLS[name], trials=trials, confidence=0.999, random_state=1)
    assert report.leaks
    assert report.epsilon_bound > report.claim.epsilon


def test_there_are_all_that_the_papers_and_we_know():
    assert len(CONTROLS) == 11
    assert sum(name.startswith("diprime") for name in CONTROLS) == 4


def test_one_median_alone_is_not_accused():
    assert not audit(many_medians(n_attributes=1), trials=40_000, random_state=1).leaks


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_a_right_count_is_not_accused(epsilon):
    assert not audit(laplace_count(epsilon), trials=100_000, random_state=1).leaks


def test_power():
    # The bar of the issue; the true epsilon is 1.
    report = audit(laplace_count(1.0), trials=100_000, random_state=1)
    assert 0.85 <= report.epsilon_bound <= 1.0
