import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpforest.trees.votes import (
    VOTING,
    Prior,
    class_shares,
    coins_of_rows,
    draw_classes,
    leaf_votes,
    lean_to_prior,
    log_shares,
    mean_shares,
    normalise,
    pooled_prior,
)

COUNTS = arrays(
    np.float64, st.tuples(st.integers(1, 6), st.integers(2, 4)), elements=st.integers(-9, 9)
)


@given(COUNTS)
def test_shares_are_probabilities_in_proportion_to_what_is_left(counts):
    shares = class_shares(counts, np.random.default_rng(0))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    clipped = np.clip(counts, 0, None)
    told = clipped.sum(axis=1) > 0
    np.testing.assert_allclose(
        shares[told], clipped[told] / clipped[told].sum(axis=1, keepdims=True)
    )


@given(COUNTS)
def test_majority_is_one_vote_for_a_largest_class(counts):
    votes = leaf_votes(counts, "majority", np.random.default_rng(0))
    assert (votes.sum(axis=1) == 1).all()
    told = counts.max(axis=1) > 0
    np.testing.assert_array_equal((votes * counts).sum(axis=1)[told], counts.max(axis=1)[told])


@given(COUNTS)
def test_normalised_votes_are_probabilities_that_keep_the_winner(votes):
    probabilities = normalise(votes)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    told = votes.max(axis=1) > 0
    np.testing.assert_array_equal(probabilities[told].argmax(axis=1), votes[told].argmax(axis=1))


def test_empty_leaves_draw_uniform_shares():
    """Kolmogorov distance from uniform; false alarm rate about 1e-4, fixed seed."""
    shares = np.sort(class_shares(np.zeros((4000, 2)), np.random.default_rng(3))[:, 0])
    assert np.abs(shares - (np.arange(4000) + 0.5) / 4000).max() < 2.2 / np.sqrt(4000)


def test_draws_follow_the_probabilities():
    """Each share within 4.5 standard errors; false alarm rate below 1e-4, fixed seed."""
    p = np.array([0.2, 0.5, 0.3])
    rows = np.arange(20_000)
    coins = coins_of_rows(np.stack([rows % 256, rows // 256], axis=1).astype(np.uint8), key=5)
    drawn = draw_classes(np.tile(p, (20_000, 1)), coins)
    shares = np.bincount(drawn, minlength=3) / 20_000
    assert (np.abs(shares - p) < 4.5 * np.sqrt(p * (1 - p) / 20_000)).all()
    certain = draw_classes(np.array([[0.0, 1.0, 0.0]] * 50), coins[:50])
    assert (certain == 1).all()


@pytest.mark.parametrize("voting", VOTING)
def test_each_rule_leaves_the_released_counts_alone(voting):
    counts = np.array([[3.0, -1.0], [0.0, 0.0]])
    before = counts.copy()
    leaf_votes(counts, voting, np.random.default_rng(0))
    np.testing.assert_array_equal(counts, before)


def test_logarithms_of_shares_know_their_noise():
    counts = np.array([[9.0, 1.0, -4.0]])
    exact, noisy = (np.exp(log_shares(counts, np.array([s]))) for s in (0.0, 100.0))
    np.testing.assert_allclose(exact.sum(), 1)
    np.testing.assert_allclose(exact, [[9.5 / 11.5, 1.5 / 11.5, 0.5 / 11.5]])
    assert np.ptp(noisy) < np.ptp(exact) / 2
    np.testing.assert_allclose(
        log_shares(4 * counts, np.array([8.0]), n_leaves=4), log_shares(counts, np.array([2.0]))
    )


def test_the_mean_of_shares_is_geometric():
    shares = np.array([[[0.9, 0.1]], [[0.4, 0.6]]])
    found = mean_shares(np.log(shares).sum(axis=0), 2)
    expected = np.sqrt(shares.prod(axis=0))
    np.testing.assert_allclose(found, expected / expected.sum())


def test_a_prior_that_several_forests_repeat_is_taken_back_in_part():
    counts, exact = np.array([[75.0, 25.0]]), np.zeros(1)
    alone = log_shares(counts, exact)
    shares = np.array([0.75, 0.25])
    np.testing.assert_array_equal(log_shares(counts, exact, prior=Prior(shares, 1)), alone)
    of_three = log_shares(counts, exact, prior=Prior(shares, 3))
    np.testing.assert_allclose(of_three, alone * (1 - 0.75 * 2 / 3), rtol=0.02)
    noise = np.array([1_000.0])
    taken = log_shares(counts, noise) - log_shares(counts, noise, prior=Prior(shares, 3))
    assert np.ptp(taken) < 0.1  # a leaf full of noise does not repeat the prior


def test_the_prior_goes_by_those_who_know():
    totals = np.array([[75.0, 25.0], [-900.0, 900.0]])
    prior = pooled_prior(totals, np.array([1.0, 1e6]))
    assert prior.n_forests == 2
    np.testing.assert_allclose(prior.shares, [77.5 / 105, 27.5 / 105], rtol=1e-3)
    np.testing.assert_allclose(pooled_prior(totals, np.array([1e6, 1e6])).shares, 0.5, atol=0.01)


def test_labels_lean_to_the_prior_by_their_noise():
    votes, prior = np.array([[2.0, 9.0], [2.0, 9.0]]), np.array([0.8, 0.2])
    found = lean_to_prior(votes, np.array([0.0, 10.0]), prior)
    np.testing.assert_allclose(found, [[2, 9], [2 + 48, 9 + 12]])
