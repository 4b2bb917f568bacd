"""When a linear start comes first, and what it gets."""

import itertools

import pytest

from dpforest.forests.linear_plan import NO_LINEAR_START, plan_linear
from dpforest.forests.purse import Purse
from dpforest.losses import Logistic, Softmax, Squared
from dpforest.losses.softmax import MANY_CLASSES

GAUSSIAN = Purse(1.0, 1e-6)
RISING = [10.0 ** (k / 4) for k in range(4, 30)]


def most_records(loss):
    """With how many there is a linear start."""
    return max(n for n in RISING if plan_linear(GAUSSIAN, 1, n, 10, 1.0, loss).n_steps)


@pytest.mark.parametrize("purse", [Purse(1.0, 0.0), Purse(float("inf"), 1e-6)])
def test_there_is_none_under_laplace_noise_or_without_noise(purse):
    assert all(plan_linear(purse, 1, n, 10, 1.0, Logistic()) == NO_LINEAR_START for n in RISING)


@pytest.mark.parametrize("loss", [Logistic(), Softmax(5), Squared()])
def test_more_records_leave_more_to_trees_until_all_is_theirs(loss):
    shares = [plan_linear(GAUSSIAN, 1, n, 10, 1.0, loss).share for n in RISING]
    assert shares[0] == 1
    assert shares[-1] == 0
    assert all(more <= one for one, more in itertools.pairwise(shares))


def test_with_more_than_ten_classes_it_pays_longer():
    assert most_records(Logistic()) == most_records(Softmax(MANY_CLASSES))
    assert most_records(Softmax(10 * MANY_CLASSES)) == pytest.approx(10 * most_records(Logistic()))


def test_numbers_start_linearly_where_classes_no_longer_do():
    assert most_records(Squared()) > 10 * most_records(Logistic())
