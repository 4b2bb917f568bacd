"""When a linear start comes first, and what it gets."""

import itertools

import pytest

from dpforest.forests.linear_plan import MANY_CLASSES, NO_LINEAR_START, plan_linear
from dpforest.forests.plan import Purse

GAUSSIAN = Purse(1.0, 1e-6)
RISING = [10.0 ** (k / 4) for k in range(4, 30)]


@pytest.mark.parametrize("purse", [Purse(1.0, 0.0), Purse(float("inf"), 1e-6)])
def test_there_is_none_under_laplace_noise_or_without_noise(purse):
    assert all(plan_linear(purse, 1, n, 10, 1.0, 1) == NO_LINEAR_START for n in RISING)


def test_more_records_leave_more_to_trees_until_all_is_theirs():
    shares = [plan_linear(GAUSSIAN, 1, n, 10, 1.0, 1).share for n in RISING]
    assert shares[0] == 1
    assert shares[-1] == 0
    assert all(more <= one for one, more in itertools.pairwise(shares))


def test_with_more_than_ten_classes_it_pays_longer():
    def most_records(n_outputs):
        starts = [n for n in RISING if plan_linear(GAUSSIAN, 1, n, 10, 1.0, n_outputs).n_steps]
        return max(starts)

    assert most_records(1) == most_records(MANY_CLASSES)
    assert most_records(10 * MANY_CLASSES) == pytest.approx(10 * most_records(1))
