"""A linear model of bins, and the forest that is the same function."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.tables.routing import add_tree_values
from dpforest.trees.linear import FURTHEST, LinearDesign
from dpforest.trees.structure import FeatureBins


@st.composite
def designs(draw):
    n_values = np.array(draw(st.lists(st.integers(1, 40), min_size=1, max_size=5)))
    kinds = np.array([draw(st.booleans()) for _ in n_values])
    bins = FeatureBins(n_values, n_values + 1 + kinds, kinds)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shares = tuple(
        None if kind else rng.dirichlet(np.ones(n)) for n, kind in zip(n_values, kinds, strict=True)
    )
    middles = tuple(
        None if kind else np.cumsum(rng.exponential(size=n) ** 3)
        for n, kind in zip(n_values, kinds, strict=True)
    )
    by_value = draw(st.sampled_from([0.0, 0.7, 1.0]))
    return bins, LinearDesign.of_bins(bins, shares, middles, by_value), rng


@settings(max_examples=50, deadline=None)
@given(designs(), st.integers(1, 3))
def test_the_trees_say_what_the_weights_say(drawn, n_outputs):
    bins, design, rng = drawn
    weights = rng.normal(size=(n_outputs, design.n_weights))
    records = np.column_stack([rng.integers(0, n, 30) for n in bins.n_bins]).astype(np.uint8)
    trees, values = design.as_trees(weights, bins.n_bins)
    scores = np.zeros((n_outputs, 30), np.float32)
    add_tree_values(trees, np.asfortranarray(records), values.astype(np.float32), scores)
    expected = np.repeat(design.constant * weights[:, :1], 30, axis=1)
    for j, column in enumerate(records.T):
        expected += weights[:, design.place[j, column]] * design.size[j, column]
    np.testing.assert_allclose(scores, expected, atol=1e-4)


@settings(max_examples=50, deadline=None)
@given(designs())
def test_places_rise_within_reach_and_bins_that_are_no_values_turn_nothing(drawn):
    bins, design, _ = drawn
    for j, n in enumerate(bins.n_values):
        assert (design.size[j, n:] == 0).all()
        assert np.abs(design.size[j]).max() <= FURTHEST * design.constant * (1 + 1e-12)
        if not bins.categorical[j]:
            assert (np.diff(design.size[j, :n]) >= 0).all()


def placed(share, middles, by_value):
    """Where the bins of one feature lie, in units of the constant."""
    bins = FeatureBins(np.array([len(share)]), np.array([len(share) + 1]), np.array([False]))
    design = LinearDesign.of_bins(bins, (share,), (middles,), by_value)
    return design.size[0, : len(share)] / design.constant


def test_values_are_a_line_where_none_is_far_off_and_as_wide_as_ranks():
    share, middles = np.array([0.1, 0.2, 0.3, 0.4]), np.array([1.0, 2.0, 4.0, 5.0])
    values, ranks = placed(share, middles, 1.0), placed(share, middles, 0.0)
    slopes = np.diff(values) / np.diff(middles)
    np.testing.assert_allclose(slopes, slopes[0])
    np.testing.assert_allclose(share @ values, 0.0, atol=1e-12)
    np.testing.assert_allclose(share @ values**2, 1 / 3)
    np.testing.assert_allclose(placed(share, middles, 0.25), 0.75 * ranks + 0.25 * values)


def test_a_value_far_off_is_held_and_one_place_for_all_leaves_ranks():
    share = np.array([0.499, 0.499, 0.002])
    assert placed(share, np.array([0.0, 1.0, 1e6]), 1.0)[2] == FURTHEST
    alone = np.array([1.0, 0.0, 0.0])
    np.testing.assert_array_equal(
        placed(alone, np.arange(3.0), 1.0), placed(alone, np.arange(3.0), 0.0)
    )


def test_features_that_share_a_weight_are_refused():
    place = np.ones((2, 256), np.int32)
    with pytest.raises(ValueError, match="weights of their own"):
        LinearDesign(place, np.ones((2, 256)), 1.0, 3)
    place[1] = 0
    with pytest.raises(ValueError, match="weights of their own"):
        LinearDesign(place, np.ones((2, 256)), 1.0, 3)
