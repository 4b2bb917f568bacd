"""A linear model of bins, and the forest that is the same function."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.tables.routing import add_tree_values
from dpforest.trees.linear import LinearDesign
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
    return bins, LinearDesign.of_bins(bins, shares), rng


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
def test_ranks_are_centred_and_bins_that_are_no_values_turn_nothing(drawn):
    bins, design, _ = drawn
    for j, n in enumerate(bins.n_values):
        assert (design.size[j, n:] == 0).all()
        assert np.abs(design.size[j]).max() <= design.constant * (1 + 1e-12)
        if not bins.categorical[j]:
            assert (np.diff(design.size[j, :n]) >= 0).all()


def test_features_that_share_a_weight_are_refused():
    place = np.ones((2, 256), np.int32)
    with pytest.raises(ValueError, match="weights of their own"):
        LinearDesign(place, np.ones((2, 256)), 1.0, 3)
    place[1] = 0
    with pytest.raises(ValueError, match="weights of their own"):
        LinearDesign(place, np.ones((2, 256)), 1.0, 3)
