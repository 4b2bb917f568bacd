"""How epsilon is spread over levels, against the papers' formulas."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.trees.level_budgets import LEVEL_BUDGETS, share_out


@pytest.mark.parametrize("scheme", LEVEL_BUDGETS)
@given(n_levels=st.integers(1, 12))
def test_every_level_and_the_leaves_have_something(scheme, n_levels):
    shares = share_out(scheme, n_levels)
    assert len(shares.choices) == len(shares.counts) - 1 == n_levels
    assert all(share > 0 for share in (*shares.choices, shares.counts[-1]))
    assert shares.spent_after(n_levels) + shares.counts[-1] == 1
    assert shares.spent_after(n_levels) == sum(shares.choices) + sum(shares.counts[:-1])
    assert shares.spent_after(0) == 0


@pytest.mark.parametrize("scheme", ["linear", "harmonic", "hou"])
@given(n_levels=st.integers(2, 12))
def test_deeper_levels_have_more(scheme, n_levels):
    choices = share_out(scheme, n_levels).choices
    assert list(choices) == sorted(choices)


def test_the_example_of_edprf():
    # Its Figure 3: three levels of nodes; 1/3, 1/2 and 1 of 11/6.
    shares = share_out("harmonic", 2)
    assert shares.choices == (Fraction(2, 11), Fraction(3, 11))
    assert not shares.has_counts


def test_hou_counts_every_level_and_chooses_at_all_but_the_last():
    shares = share_out("hou", 2)  # w = 2/3 + 2/2 + 1/1
    assert shares.choices == (Fraction(1, 8), Fraction(3, 16))
    assert shares.counts == (Fraction(1, 8), Fraction(3, 16), Fraction(3, 8))


def test_dpgdf_halves_epsilon_and_grows_by_a_cube_root():
    shares = share_out("cube_root", 4)
    assert sum(shares.choices) == Fraction(1, 2)
    for less, more in itertools.pairwise(shares.counts):
        assert float(more / less) == pytest.approx(2 ** (1 / 3))
