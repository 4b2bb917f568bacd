"""Which cuts promise most: learnt where single trees show next to nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.trees.cut_effects import CutEffects


def shown(effect, n_rounds, n_cuts=31, n_leaves=16, seed=0, n_features=2):
    """What is learnt when feature 0 has an effect at its cuts, in noise of variance 1."""
    rng, cuts = np.random.default_rng(seed), CutEffects(np.full(n_features, n_cuts))
    for _ in range(n_rounds):
        feature, cut = rng.integers(0, n_features, 12), rng.integers(0, n_cuts, 12)
        contrast = np.where(feature == 0, effect[cut], 0.0)
        contrast = contrast + np.sqrt(3.0) * rng.uniform(-1, 1, 12)
        cuts.learn(feature, cut, np.full(12, -1), contrast[:, None], n_leaves, 1.0)
    return cuts


@pytest.mark.parametrize("peak", [4, 15, 27])
def test_a_cut_with_a_weak_effect_is_found(peak):
    """At its peak the effect is half of the noise of a tree, elsewhere far less."""
    effect = 0.5 * np.maximum(1.0 - np.abs(np.arange(31) - peak) / 12.0, 0.0)
    cuts = shown(effect, 200)
    promise = cuts.promise
    assert abs(int(promise[0].argmax()) - peak) <= 5
    assert promise[0].max() > 2.0 * promise[1].max()


def test_signs_count_and_not_squares_alone():
    """An effect that turns its sign from tree to tree is none; squares could not tell."""
    rng = np.random.default_rng(0)
    steady, turning = CutEffects(np.array([15])), CutEffects(np.array([15]))
    for _ in range(100):
        cut, sign = np.arange(15), rng.choice([-1.0, 1.0], 15)
        steady.learn(np.zeros(15, int), cut, np.full(15, -1), np.full((15, 1), 0.5), 4, 1.0)
        turning.learn(np.zeros(15, int), cut, np.full(15, -1), 0.5 * sign[:, None], 4, 1.0)
    assert steady.promise.mean() > 5.0 * turning.promise.mean()


def test_nothing_is_preferred_in_noise_alone():
    """Control: half of the differences between two features have either sign, over 60 seeds."""
    wins = sum(
        bool(np.subtract(*shown(np.zeros(31), 40, seed=seed).promise.mean(axis=1)) > 0)
        for seed in range(60)
    )
    assert 15 <= wins <= 45  # outside in one of 10,000 such tests


def test_what_was_not_asked_promises_what_is_usual():
    """Doubt is a reason to ask: a feature never asked promises more than one that showed none."""
    rng, cuts = np.random.default_rng(0), CutEffects(np.array([15, 15, 15]))
    for _ in range(60):
        feature, cut = rng.integers(0, 2, 10), rng.integers(0, 15, 10)
        contrast = np.where(feature == 0, 1.0, 0.0) + np.sqrt(3.0) * rng.uniform(-1, 1, 10)
        cuts.learn(feature, cut, np.full(10, -1), contrast[:, None], 4, 1.0)
    assert cuts.promise[2].mean() > 2.0 * cuts.promise[1].mean()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=5), st.integers(1, 3), st.integers(0, 99))
def test_promises_are_finite_and_only_of_cuts_that_are_there(n_cuts, n_outputs, seed):
    n_cuts = np.array([*n_cuts, 3])
    rng, cuts = np.random.default_rng(seed), CutEffects(n_cuts)
    feature = rng.choice(np.flatnonzero(n_cuts), 8)
    cut = rng.integers(0, n_cuts[feature])
    end = rng.integers(-1, n_cuts[feature])
    cuts.learn(feature, cut, end, rng.uniform(-5, 5, (8, n_outputs)), 8, 2.0)
    assert np.isfinite(cuts.between(feature, cut)).all()
    assert np.isfinite(cuts.promise).all()
    there = np.arange(cuts.promise.shape[1]) < n_cuts[:, None]
    assert (cuts.promise[there] > 0.0).all()
    assert not cuts.promise[~there].any()


def test_features_without_an_order_are_believed_the_more_the_more_they_showed():
    cuts = shown(np.full(31, 0.5), 100)
    squares, times = np.array([0.0, 0.3, 3e3, -3e3]), np.array([0.0, 1.0, 1e4, 1e4])
    none, little, much, less = cuts.believed(squares, times, 1.0)
    assert less < none == pytest.approx(little, rel=0.2)
    assert much == pytest.approx(0.3, rel=0.1)
    assert less == 0.0


def test_ranges_show_the_difference_of_the_effects_at_their_ends():
    """Of a hump, the range from its one foot to its other promises most."""
    rng, cuts, place = np.random.default_rng(0), CutEffects(np.array([31])), np.arange(31)
    effect = 2.0 * np.sin(2 * np.pi * (place + 1) / 32)  # more below the middle, less above it
    for _ in range(300):
        cut, end = rng.integers(0, 31, 12), rng.integers(16, 31, 12)
        end[:4] = -1
        contrast = effect[cut] - np.where(end < 0, 0.0, effect[end])
        contrast += np.sqrt(3.0) * rng.uniform(-1, 1, 12)
        cuts.learn(np.zeros(12, int), cut, end, contrast[:, None], 16, 1.0)
    between = cuts.between(np.array([0]), np.array([7]))[0]
    assert between[7] == 0.0
    assert abs(int(between.argmax()) - 23) <= 3
    assert between.max() == pytest.approx(16.0, rel=0.3)  # twice the largest effect, squared
    assert cuts.promise[0, 7] == pytest.approx(4.0, rel=0.3)
