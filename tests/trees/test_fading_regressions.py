"""Small regressions that forget: exact on small cases, right about their doubt, fading."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.trees.fading_regressions import LEAST, FadingRegressions


def test_the_posterior_is_that_of_a_ridge_regression():
    rng = np.random.default_rng(0)
    rows, seen = rng.uniform(-1, 1, (40, 3)), rng.uniform(-2, 2, (40, 2))
    known = FadingRegressions(1, 3, memory=1.0)
    known.learn(np.zeros(40, int), rows, seen, noise=0.7)
    mean, covariance = known.posterior()
    ridge = rows.T @ rows + 0.7 / known.prior * np.eye(3)
    np.testing.assert_allclose(mean[0], np.linalg.solve(ridge, rows.T @ seen))
    np.testing.assert_allclose(covariance[0], 0.7 * np.linalg.inv(ridge))


@pytest.mark.parametrize("noise", [1e-30, 1e-18, 1e-12])
def test_rows_that_say_the_same_are_no_obstacle_where_there_is_no_noise(noise):
    """One weight alone could tell what was seen: both share it, and nothing is singular."""
    known = FadingRegressions(2, 2, memory=1.0)
    known.learn(np.zeros(30, int), np.ones((30, 2)), np.full((30, 1), 5.0), noise=1.0)
    known.learn(np.zeros(1, int), np.ones((1, 2)), np.full((1, 1), 5.0), noise)
    mean, covariance = known.posterior()
    np.testing.assert_allclose(mean[:, :, 0], [[2.5, 2.5], [0, 0]], rtol=1e-4)
    assert np.isfinite(covariance).all()
    assert (np.diagonal(covariance, axis1=1, axis2=2) > 0).all()


def test_things_learn_by_themselves():
    """What is seen of one says nothing of the weights of another, beside the prior."""
    known = FadingRegressions(3, 2, memory=0.9)
    known.learn(np.array([1, 1]), np.eye(2), np.array([[4.0], [-3.0]]), noise=1.0)
    mean, _ = known.posterior()
    assert not mean[[0, 2]].any()
    assert mean[1, 0, 0] > 0 > mean[1, 1, 0]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 1000), st.floats(0.1, 10.0), st.floats(0.1, 10.0))
def test_noise_alone_is_believed_to_be_little(seed, noise, size):
    """The prior is at its least, or nearly, where nothing is seen but noise."""
    rng, known = np.random.default_rng(seed), FadingRegressions(4, 2, memory=1.0)
    rows = size * rng.uniform(-1, 1, (5000, 2))
    seen = np.sqrt(3.0 * noise) * rng.uniform(-1, 1, (5000, 1))
    known.learn(rng.integers(0, 4, 5000), rows, seen, noise)
    # A mean of 5000 squares of variance 0.8 noise^2: five standard errors are 0.063 noise.
    assert LEAST * noise <= known.typical * (1 + 1e-9)
    assert known.typical < (LEAST + 0.063) * noise


def test_the_prior_has_the_size_of_what_is_there():
    rng, known = np.random.default_rng(1), FadingRegressions(500, 1, memory=1.0)
    weights = np.sqrt(3.0) * rng.uniform(-2, 2, 500)
    for _ in range(4):
        seen = weights + np.sqrt(3.0) * rng.uniform(-1, 1, 500)
        known.learn(np.arange(500), np.ones((500, 1)), seen[:, None], noise=1.0)
    assert known.prior == pytest.approx(4.0, rel=0.2)
    mean, covariance = known.posterior()
    inside = np.abs(mean[:, 0, 0] - weights) < 2.0 * np.sqrt(covariance[:, 0, 0])
    assert inside.mean() > 0.9


def test_what_was_seen_long_ago_fades():
    known = FadingRegressions(1, 1, memory=0.9)
    known.learn(np.array([0]), np.ones((1, 1)), np.full((1, 1), 50.0), noise=1.0)
    for _ in range(200):
        known.learn(np.array([0]), np.ones((1, 1)), np.full((1, 1), -2.0), noise=1.0)
    mean, covariance = known.posterior()
    assert mean[0, 0, 0] == pytest.approx(-2.0, rel=0.05)
    # As many numbers are remembered as the memory says: ten.
    assert covariance[0, 0, 0] == pytest.approx(0.1, rel=0.05)


def test_before_anything_is_seen_there_is_nothing_to_expect():
    known = FadingRegressions(2, 2, memory=0.9)
    assert known.prior == known.typical == 0.0
