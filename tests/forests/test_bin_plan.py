"""Bins are finer where there is more signal, and never cost most of the budget."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.forests import plan
from dpforest.forests.base import COUNT_SHARE
from dpforest.forests.bin_plan import bin_share, bin_sizes
from dpforest.forests.purse import Purse
from dpforest.tables.encode import MAX_VALUE_BINS

BUDGETS = {"gaussian": Purse(1.0, 1e-6), "pure": Purse(1.0, 0.0), "none": Purse(math.inf, 1e-6)}


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("n_records", [10.0, 1e4, 1e8])
@pytest.mark.parametrize("n_classes", [0, 2, 5])
def test_most_of_the_budget_is_left_for_the_trees(budget, n_records, n_classes):
    bins = bin_share(BUDGETS[budget], n_records, 10, n_classes)
    assert 0 < COUNT_SHARE + bins + plan.TARGET_SHARE < Fraction(1, 2)


def test_no_noise_affords_the_finest_bins():
    for budget in ("gaussian", "pure"):
        assert bin_sizes(BUDGETS["none"], 1e4, 10).bins >= bin_sizes(BUDGETS[budget], 1e9, 1).bins


@pytest.mark.parametrize("budget", ["gaussian", "pure"])
def test_more_records_and_fewer_features_never_ask_for_coarser_bins(budget):
    by_records = [bin_sizes(BUDGETS[budget], 10.0 ** (k / 4), 10) for k in range(4, 33)]
    by_features = [bin_sizes(BUDGETS[budget], 1e4, d) for d in (300, 80, 20, 5, 2)]
    for sizes in (by_records, by_features):
        for one, more in itertools.pairwise(sizes):
            assert one.bins <= more.bins
            assert one.cells <= more.cells


@settings(max_examples=100, deadline=None)
@given(
    st.floats(0.01, 100),
    st.sampled_from([0.0, 1e-6]),
    st.floats(10, 1e8),
    st.integers(1, 500),
    st.integers(1, 40),
)
def test_bins_can_be_encoded(epsilon, delta, n_records, n_features, steps):
    sizes = bin_sizes(Purse(epsilon, delta, steps), n_records, n_features)
    assert 2 <= sizes.bins <= sizes.cells <= MAX_VALUE_BINS


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_persons_of_many_records_get_the_bins_of_as_much_less_signal(delta):
    for n in (1e2, 1e3, 1e4, 1e5):
        for facts in ((n, 3), (n, 30)):
            less = n / 20, facts[1]
            several = Purse(1.0, delta, 20)
            assert bin_sizes(several, *facts) == bin_sizes(Purse(1.0, delta), *less)
            assert bin_share(several, *facts, 2) == bin_share(Purse(1.0, delta), *less, 2)
