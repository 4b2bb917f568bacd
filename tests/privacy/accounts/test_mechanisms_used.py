"""What releases were made of: the loss follows, and nothing cheaper can be told in a file."""

import itertools
import json
import math
from dataclasses import fields
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.privacy.accounts.accounting import mu_of_discrete_gaussian
from dpforest.privacy.accounts.bounded_range import BoundedRange
from dpforest.privacy.accounts.mechanisms_used import (
    AsPrinted,
    DiscreteGaussian,
    DiscreteLaplace,
    OfTree,
    Public,
    Selection,
    Threshold,
    mechanism_from_dict,
    mechanism_to_dict,
)
from dpforest.privacy.accounts.spends import Approximate, Gaussian, Pure, Spend
from dpforest.privacy.accounts.tree_sampling import TreeSampling
from dpforest.privacy.mechanisms.additive import AdditiveNoise

amounts = st.fractions(Fraction(1, 1000), 1000)
mechanisms = st.one_of(
    st.builds(DiscreteLaplace, amounts, st.integers(1, 1000)),
    st.builds(DiscreteGaussian, st.fractions(17, 10**9), st.floats(0.1, 1e6)),
    st.builds(Selection, st.text(max_size=9), amounts | st.just(math.inf), st.integers(1, 9)),
    st.builds(BoundedRange, amounts | st.just(math.inf), st.integers(1, 1000)),
    st.builds(Threshold, amounts, st.integers(1, 9), st.fractions(0, Fraction(1, 2))),
    st.builds(AsPrinted, amounts),
    st.just(Public()),
    st.just(DiscreteLaplace(0, 3)),
    st.just(DiscreteGaussian(0, 3.0)),
    st.just(OfTree(Selection("a", "1/4", 1), "without_replacement", 10, "1/2", 1, 0, 2)),
)


@settings(deadline=None, max_examples=100)
@given(mechanisms)
def test_round_trip_through_json(made):
    text = json.dumps(mechanism_to_dict(made), allow_nan=False)
    again = mechanism_from_dict(json.loads(text))
    assert again == made
    assert again.loss == made.loss  # to the last bit


@settings(deadline=None, max_examples=100)
@given(st.floats(1e-3, 10), st.integers(1, 10_000))
def test_noise_says_what_it_is_made_of(price, sensitivity):
    laplace = AdditiveNoise.for_price(Pure(price), l1=sensitivity, l2=1.0)
    assert laplace.made == DiscreteLaplace(laplace.parameter, sensitivity)
    assert laplace.loss == Pure(Fraction(sensitivity) / laplace.parameter)
    gauss = AdditiveNoise.for_price(Gaussian(price), l1=1, l2=float(sensitivity))
    assert gauss.made == DiscreteGaussian(gauss.parameter, float(sensitivity))
    assert gauss.loss == Gaussian(mu_of_discrete_gaussian(sensitivity, gauss.parameter))
    for noise in (laplace, gauss):
        spend = noise.spend("sums", 2)
        assert (spend.made, spend.loss) == (noise.made, noise.loss)
        assert spend.mechanism == noise.mechanism(2)


def test_losses():
    assert DiscreteLaplace(30, 3).loss == Pure(Fraction(1, 10))
    assert DiscreteLaplace(0, 3).loss == Pure(math.inf)
    assert DiscreteGaussian(0, 3).loss == Gaussian(math.inf)
    assert Selection("permute-and-flip", Fraction(1, 3), 3).loss == Pure(1)
    assert Threshold(10, 2, 1e-6).loss == Approximate(Fraction(1, 5), Fraction(1, 10**6))
    assert AsPrinted(0.3).loss == Pure(Fraction(3, 10))
    assert Public().loss == Pure(0)


@pytest.mark.parametrize("kind", ["shared", "disjoint", "without_replacement"])
def test_spans_of_a_tree_add_up_to_its_price_and_allow_what_sampling_does(kind):
    sampling = TreeSampling(kind, 5, Fraction(1, 3))
    marks = [Fraction(0), Fraction(1, 2), Fraction(2), Fraction(3)]
    paid = Fraction(0)
    for before, after in itertools.pairwise(marks):
        within = sampling.within_tree(after, 2) - sampling.within_tree(before, 2)
        made = Selection("permute-and-flip", within, 1)
        paid += OfTree(made, kind, 5, Fraction(1, 3), 2, before, after).loss.epsilon
        dearer = Selection("permute-and-flip", within * Fraction(11, 10), 1)
        with pytest.raises(ValueError, match="more on its sample"):
            OfTree(dearer, kind, 5, Fraction(1, 3), 2, before, after)
    assert paid == sampling.price_of_tree(3)
    free = OfTree(Selection("any", math.inf, 1), kind, 5, Fraction(1, 3), 2, 0, math.inf)
    assert free.loss == Pure(math.inf)


@settings(deadline=None, max_examples=100)
@given(mechanisms)
def test_a_spend_with_another_loss_is_refused(made):
    Spend("a release", "so", made.loss, made=made)
    with pytest.raises(ValueError, match="follows from how it was made"):
        Spend("a release", "so", Pure(Fraction(1, 12345678)), made=made)


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"mechanism": "Laplace", "scale": "1", "sensitivity": "1"},
        {"mechanism": "DiscreteLaplace", "scale": "1"},
        {"mechanism": "DiscreteLaplace", "scale": "-1", "sensitivity": "1"},
        {"mechanism": "DiscreteLaplace", "scale": "1", "sensitivity": "1", "more": 1},
        {"mechanism": "Selection", "name": "a", "epsilon": "1", "steps": 0},
        {"mechanism": "Selection", "name": "a", "epsilon": "1", "steps": "3"},
        {"mechanism": "Threshold", "scale": "1", "sensitivity": "x", "delta": "0"},
    ],
)
def test_what_is_no_mechanism_is_refused(written):
    with pytest.raises((KeyError, TypeError, ValueError)):
        mechanism_from_dict(written)


def test_every_field_is_written():
    made = OfTree(DiscreteLaplace(8, 1), "disjoint", 4, 1, 2, 0, Fraction(1, 2))
    written = mechanism_to_dict(made)
    assert set(written) == {"mechanism", *(field.name for field in fields(made))}
    assert written["made"] == mechanism_to_dict(made.made)
