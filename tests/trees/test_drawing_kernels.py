"""What compiled loops draw is what plain NumPy draws from the same random numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.trees import drawing_kernels as kernels

SEEDS = st.integers(0, 2**32)


@settings(max_examples=50, deadline=None)
@given(SEEDS, st.integers(1, 6), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([1.0, 4.0]))
def test_each_level_draws_a_feature_that_is_left_by_what_it_adds(seed, levels, learnt, focus):
    rng = np.random.default_rng(seed)
    usable = rng.permutation(9) < 6
    promise, together = rng.uniform(0.1, 1.0, 9), rng.uniform(0.0, 3.0, (9, 9))
    gumbel = rng.gumbel(size=(levels, 4, 9))
    drawn = kernels.draw_features(promise, usable, learnt, focus, together, gumbel)
    for t in range(4):
        for level in range(levels):
            before = drawn[t, :level]
            left = usable & ~np.isin(np.arange(9), before)
            adds = np.where(left, promise + together[before].sum(axis=0), 0.0)
            power = (adds / adds.max()) ** focus
            shares = (1 - learnt) * left / left.sum() + learnt * power / power.sum()
            keys = np.log(np.maximum(shares, 1e-300)) + gumbel[level, t]
            assert drawn[t, level] == np.where(left, keys, -np.inf).argmax()


@settings(max_examples=50, deadline=None)
@given(SEEDS, st.integers(0, 12))
def test_cuts_are_drawn_by_their_shares_and_never_past_the_last(seed, n_cuts):
    rng = np.random.default_rng(seed)
    shares = np.zeros((2, 12))
    shares[0, :n_cuts] = 0.999 * rng.dirichlet(np.ones(n_cuts)) if n_cuts else 0.0
    feature, uniform = rng.integers(0, 2, (5, 3)), rng.random((5, 3))
    uniform[0, 0] = np.nextafter(1.0, 0.0)  # beyond all shares, as rounding may leave it
    cut = kernels.find_cuts(shares, np.array([n_cuts - 1, -1]), feature, uniform)
    reached = np.cumsum(shares, axis=1)[feature] < uniform[:, :, None]
    last = np.where(feature == 0, n_cuts - 1, -1)[:, :, None]
    np.testing.assert_array_equal(cut, (reached & (np.arange(12) < last)).sum(axis=2))


@settings(max_examples=50, deadline=None)
@given(SEEDS, st.integers(1, 8), st.integers(1, 4))
def test_squares_between_cuts_are_those_of_differences(seed, n_cuts, n_weights):
    rng = np.random.default_rng(seed)
    curves, root = rng.normal(size=(3, n_cuts, n_weights)), rng.normal(size=(3, n_weights, 5))
    turned = curves @ (root @ root.swapaxes(1, 2))
    squares = ((curves @ root) ** 2).sum(axis=2)
    feature, cut = rng.integers(0, 3, 6), rng.integers(0, n_cuts, 6)
    found = kernels.squares_between(curves, turned, squares, feature, cut)
    between = curves[feature] - curves[feature, cut][:, None, :]
    expected = ((between @ root[feature]) ** 2).sum(axis=2)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(SEEDS, st.integers(1, 8))
def test_ends_are_drawn_by_powers_of_promises(seed, n_places):
    rng = np.random.default_rng(seed)
    weights, between = rng.random((20, n_places)), rng.normal(size=(20, n_places))
    alone, uniform = rng.random(20), rng.random(20)
    found = kernels.find_ends(weights, alone, between, 3.0, uniform)
    promise = np.column_stack([np.maximum(between, 0.0), alone]) ** 3
    up_to = np.cumsum(np.column_stack([weights, np.ones(20)]) * promise, axis=1)
    place = (up_to <= uniform[:, None] * up_to[:, -1:]).sum(axis=1)
    np.testing.assert_array_equal(found, np.where(place < n_places, place, -1))


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_bins_between_cut_and_end_go_right_and_a_coin_answers_for_the_rest(seed):
    rng = np.random.default_rng(seed)
    cut, n_values = rng.integers(0, 20, (3, 2)), rng.integers(1, 30, (3, 2))
    end = np.where(rng.random((3, 2)) < 0.5, -1, rng.integers(0, 20, (3, 2)))
    coin, found = rng.random((3, 2)) < 0.5, np.empty((3, 2, 256), np.bool_)
    kernels.ask(cut, end, found)
    kernels.toss(n_values, coin, found)
    bin_, beyond = np.arange(256), cut[:, :, None]
    low, high = np.minimum(beyond, end[:, :, None]), np.maximum(beyond, end[:, :, None])
    inside = np.where(end[:, :, None] < 0, bin_ > beyond, (bin_ > low) & (bin_ <= high))
    expected = np.where(bin_ < n_values[:, :, None], inside, coin[:, :, None])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("learnt", [0.0, 0.9, 1.0])
def test_cuts_are_shared_out_by_weights_and_by_promises(learnt):
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(6), 3)
    weights[1, 4:] = 0.0
    weights[2] = 0.0  # a category
    promise = rng.random((3, 6))
    promise[0] = 0.0  # nothing is known
    found = kernels.share_cuts(weights, promise, learnt, 2.0)
    known = weights[1] * promise[1] ** 2
    by_promise = [weights[0], known / known.sum(), weights[2]]
    np.testing.assert_allclose(found, (1 - learnt) * weights + learnt * np.array(by_promise))
