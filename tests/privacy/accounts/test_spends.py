"""Laws of composition: sequential adds, parallel takes the largest, exactly."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.privacy.accounts.spends import (
    Approximate,
    Branch,
    Cost,
    Gaussian,
    Pure,
    Spend,
    exact,
    rounded_up,
    spends_of,
)

amounts = st.fractions(0, 5, max_denominator=10**6)
losses = st.one_of(
    amounts.map(Pure),
    st.floats(0, 5).map(Gaussian),
    st.builds(Approximate, amounts, st.fractions(0, Fraction(1, 1000), max_denominator=10**9)),
)
spends = st.builds(Spend, st.just("a spend"), st.just("noise"), losses)


def branches(children):
    return st.builds(
        Branch,
        st.just("a branch"),
        st.sampled_from(["sequential", "parallel"]),
        st.lists(children, min_size=1, max_size=4).map(tuple),
        st.integers(1, 5),
    )


entries = st.recursive(spends, branches, max_leaves=8)


def totals(cost: Cost) -> tuple:
    return cost.epsilon, cost.mu_squared, cost.delta


def covers(one: Cost, other: Cost) -> bool:
    return all(a >= b for a, b in zip(totals(one), totals(other), strict=True))


@settings(deadline=None, max_examples=50)
@given(st.lists(entries, min_size=1, max_size=4), st.integers(1, 5))
def test_sequential_adds_exactly_in_any_order(parts, times):
    cost = Branch("all", "sequential", tuple(parts), times).cost()
    sums = tuple(
        times * sum(column) for column in zip(*(totals(p.cost()) for p in parts), strict=True)
    )
    assert totals(cost) == sums
    assert cost == Branch("all", "sequential", tuple(reversed(parts)), times).cost()
    unrolled = Branch("all", "sequential", tuple(parts) * times)
    assert cost == unrolled.cost()


@settings(deadline=None, max_examples=50)
@given(st.lists(entries, min_size=1, max_size=4), st.integers(1, 5))
def test_parallel_takes_the_largest_exactly(parts, times):
    cost = Branch("all", "parallel", tuple(parts), times).cost()
    largest = tuple(max(column) for column in zip(*(totals(p.cost()) for p in parts), strict=True))
    assert totals(cost) == largest


@settings(deadline=None, max_examples=50)
@given(entries, entries)
def test_more_parts_never_cost_less(one, other):
    for rule in ("sequential", "parallel"):
        both = Branch("both", rule, (one, other)).cost()
        assert covers(both, one.cost())
        assert covers(both, other.cost())


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0, 5), min_size=1, max_size=30))
def test_mu_is_the_root_of_the_sum_rounded_up(mus):
    parts = tuple(Spend("g", "noise", Gaussian(mu)) for mu in mus)
    mu = Branch("all", "sequential", parts).cost().mu
    squares = sum(Fraction(each) ** 2 for each in mus)
    assert Fraction(mu) ** 2 >= squares
    assert (Fraction(mu) * (1 - Fraction(1, 2**51))) ** 2 <= squares


def test_identical_parts_in_parallel_keep_their_list_of_epsilons():
    """A mixture of many small epsilons is cheaper than its sum, so the list matters."""
    two = Branch("two", "sequential", (Spend("s", "noise", Pure(0.5)),), times=2)
    same = Branch("p", "parallel", (two, two)).cost()
    other = Branch("p", "parallel", (two, Spend("s", "noise", Pure(0.75)))).cost()
    assert same.pure == {Fraction(1, 2): 2}
    assert other.pure == {Fraction(1): 1}


def test_parallel_of_unlike_kinds_keeps_both():
    parts = (Spend("a", "Laplace", Pure(1)), Spend("b", "Gauss", Gaussian(0.5)))
    cost = Branch("p", "parallel", parts).cost()
    assert (cost.epsilon, cost.mu) == (1, 0.5)


def test_infinite_losses_stay_infinite():
    assert Branch("b", "sequential", (Spend("s", "none", Pure(math.inf)),), 3).cost().epsilon == (
        math.inf
    )
    assert Spend("s", "none", Gaussian(math.inf)).cost().mu == math.inf


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.3, Fraction(3, 10)),
        (np.float64(0.3), Fraction(3, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (1e-6, Fraction(1, 10**6)),
        (2, Fraction(2)),
        ("1/3", Fraction(1, 3)),
        (Fraction(1, 3), Fraction(1, 3)),
        (math.inf, math.inf),
        ("inf", math.inf),
    ],
)
def test_exact_reads_decimals(value, expected):
    assert exact(value) == expected


@pytest.mark.parametrize("value", [-1, math.nan, -math.inf, "many", "1/0", None, True])
def test_exact_refuses_what_is_no_amount(value):
    with pytest.raises(ValueError, match=r"epsilon is .*, expected a number of at least 0"):
        exact(value)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Pure(-1), "epsilon is -1"),
        (lambda: Gaussian(-1), "mu is -1"),
        (lambda: Gaussian(math.nan), "mu is nan"),
        (lambda: Approximate(1, 1), "delta is 1"),
        (lambda: Approximate(1, -0.1), "delta is -0.1"),
        (lambda: Branch("b", "serial", ()), "rule is 'serial'"),
        (lambda: Branch("b", "parallel", ()), "no parts"),
        (lambda: Branch("b", "parallel", (Spend("s", "n", Pure(1)),), 0), "times is 0"),
    ],
)
def test_wrong_values_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_rounded_up_never_shows_less():
    assert rounded_up(Fraction(1, 3)) == "0.333334"
    assert rounded_up(Fraction(1234567)) == "1.23457e+06"
    assert rounded_up(0.1) == rounded_up(math.nextafter(0.1, 1)) == "0.1"
    assert rounded_up(1e-6) == "1e-06"
    assert rounded_up(math.inf) == "inf"
    assert rounded_up(0) == "0"


@settings(deadline=None, max_examples=50)
@given(entries)
def test_entries_are_values(entry):
    assert pickle.loads(pickle.dumps(entry)) == entry
    assert hash(entry) == hash(pickle.loads(pickle.dumps(entry)))
    assert all(isinstance(spend, Spend) for spend in spends_of([entry]))
