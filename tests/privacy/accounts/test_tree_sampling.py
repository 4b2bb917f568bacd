"""What samples of records make of epsilon."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.privacy.accounts.tree_sampling import Span, TreeSampling

epsilons = st.fractions(Fraction(1, 1000), 50)
shares = st.fractions(Fraction(1, 100), 1, max_denominator=100)


def price_of_sample(within, share):
    return math.log1p(share * math.expm1(within))


@given(epsilon=epsilons, n_trees=st.integers(1, 50), steps=st.integers(1, 4))
def test_trees_that_share_records_share_epsilon(epsilon, n_trees, steps):
    shared = TreeSampling("shared", n_trees)
    disjoint = TreeSampling("disjoint", n_trees)
    assert shared.within_tree(epsilon, steps) == epsilon / n_trees / steps
    assert disjoint.within_tree(epsilon, steps) == epsilon / steps
    assert disjoint.price_of_tree(epsilon) == epsilon


@given(epsilon=epsilons, n_trees=st.integers(1, 50), share=shares, steps=st.integers(1, 4))
def test_a_sample_costs_no_more_than_its_price_and_hardly_less(epsilon, n_trees, share, steps):
    sampling = TreeSampling("without_replacement", n_trees, share)
    within = sampling.within_tree(epsilon, steps)
    price = epsilon / n_trees / steps
    assert within >= price
    assert price_of_sample(within, share) == pytest.approx(float(price), rel=1e-9)
    # Exact enough to say on which side it lies.
    assert within - price <= math.log1p((1 / share - 1) * -math.expm1(-price))


@given(epsilon=epsilons, share=shares)
def test_smaller_samples_may_spend_more(epsilon, share):
    smaller, larger = (
        TreeSampling("without_replacement", 3, s).within_tree(epsilon, 1)
        for s in (share / 2, share)
    )
    assert smaller >= larger


@pytest.mark.parametrize("share", [Fraction(1, 4), Fraction(2, 3)])
def test_the_price_of_a_sample_is_right_on_every_outcome(share):
    # A release of two outcomes that is exactly e-DP, on samples of up to three alike records.
    epsilon = 0.9
    within = float(TreeSampling("without_replacement", 1, share).within_tree(epsilon, 1))

    def chance(n):
        joined = 0.0
        for coins in itertools.product((0, 1), repeat=n):
            weight = math.prod(float(share) if c else 1 - float(share) for c in coins)
            joined += weight / (1 + math.exp(within * (1 - 2 * (sum(coins) % 2)) / 2))
        return joined

    for n in range(4):
        for p, q in ((chance(n), chance(n + 1)), (1 - chance(n), 1 - chance(n + 1))):
            assert abs(math.log(p / q)) <= epsilon + 1e-12


def test_no_privacy_stays_none():
    assert math.isinf(
        TreeSampling("without_replacement", 3, Fraction(1, 2)).within_tree(math.inf, 2)
    )


@given(
    kind=st.sampled_from(["shared", "disjoint", "without_replacement"]),
    marks=st.lists(epsilons, min_size=1, max_size=5, unique=True),
    steps=st.integers(1, 4),
)
def test_spans_of_a_tree_add_up_to_what_it_may_spend(kind, marks, steps):
    sampling = TreeSampling(kind, 3, Fraction(1, 4))
    marks = [Fraction(0), *sorted(marks)]
    spans = [Span(*pair) for pair in itertools.pairwise(marks)]
    assert sum(span.price for span in spans) == marks[-1]
    within = [sampling.within_span(span, steps) for span in spans]
    assert sum(within) == sampling.within_tree(marks[-1], steps)
    assert math.isinf(sampling.within_span(Span(marks[-1], math.inf), steps))
