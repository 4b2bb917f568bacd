"""Sums of errors: the law against the sensitivity worked out by hand, for all four protections."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpforest.privacy.accounts.spends import Gaussian, Pure
from dpforest.privacy.errors import error_sums

PRICES = {"pure": Pure(Fraction(1, 10)), "gaussian": Gaussian(0.05)}


@pytest.mark.parametrize("price", PRICES.values(), ids=PRICES)
def test_noise_is_that_of_five_numbers_of_at_most_one(
    recorded_desk, protected, paid_before_read, price
):
    protection, steps = protected
    desk = recorded_desk(protection, target="pairs")
    released = error_sums(desk, (0.0, 1.0), 0.25, price)
    (call,) = desk.draws.calls
    grid = round(call.numbers[0] / released.values[0])
    pure = isinstance(price, Pure)
    assert call.law.sensitivity == pytest.approx(grid * steps * (5 if pure else math.sqrt(5)))
    width = float(call.law.scale) if pure else math.sqrt(call.law.sigma2)
    strength = 0.1 if pure else 0.05
    assert width == pytest.approx(float(call.law.sensitivity) / strength, rel=1e-4)
    assert desk.made() == [call.law]
    paid_before_read(desk)


def test_without_noise_the_sums_are_facts(recorded_desk):
    desk = recorded_desk(target="pairs")
    found = error_sums(desk, (0.0, 1.0), 0.25, Pure(1)).values
    truth, predicted = np.random.default_rng(5).random((60, 2)).T
    errors = np.minimum(np.abs(truth - predicted) / 0.25, 1)
    places = 2 * truth - 1
    expected = [60, errors.sum(), (errors**2).sum(), places.sum(), (places**2).sum()]
    assert found == pytest.approx(expected, abs=0.01)
