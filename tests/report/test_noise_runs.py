"""How many residuals tell of errors: more as a model explains, none the more for its noise."""

import numpy as np
import pytest

from dpforest.report.noise_runs import LEAST_HEARD, Chance, LeafNoise

SCORES = np.array([[-1.2, 1.2]], np.float32)


def test_what_is_explained_is_no_chance_and_is_heard():
    variance, heard = Chance(1.0, 1.3).of_residuals(SCORES, np.zeros((2, 3)))
    assert variance == pytest.approx(1.3**2 - 1.2**2, abs=1e-6)
    assert heard == pytest.approx(1 - variance)


def test_noise_explains_nothing():
    variance, heard = Chance(1.0, 1.3).of_residuals(SCORES, np.tile(SCORES.T, 3))
    assert (variance, heard) == (1.0, LEAST_HEARD)
    assert Chance(1.0, 1.3, 0.6).of_residuals(SCORES, np.tile(SCORES.T, 3)) == (1.0, 0.6)


def test_more_residuals_come_near_as_more_is_explained():
    """Of what is still far off the Chebyshev bound says nothing."""
    chance, nothing = Chance(1.0, 3.0, 0.1), np.zeros((2, 3))
    heard = [chance.of_residuals(part * SCORES, nothing)[1] for part in (0.0, 1.0, 2.0, 2.3)]
    assert heard[0] == pytest.approx(0.1)
    assert (np.diff(heard) > 0.0).all()
    assert heard[-1] < 0.6


def test_of_classes_more_is_heard_as_more_is_explained():
    chance, nothing = Chance(1.0, answered=0.5), np.zeros((2, 3))
    heard = [chance.of_residuals(part * SCORES, nothing)[1] for part in (0.0, 1.0, 10.0)]
    assert heard[0] == 0.5
    assert 0.7 < heard[1] < 0.9
    assert heard[2] == pytest.approx(1.0, abs=1e-3)
    assert chance.of_residuals(SCORES, np.tile(SCORES.T, 3))[1] == pytest.approx(0.5)


def test_all_are_heard_where_none_is_clipped():
    assert Chance(0.5).of_residuals(SCORES, np.zeros((2, 3))) == (0.5, 1.0)


def leaf_noise(hessian_deviation, gradient=500.0):
    """Two trees of two leaves: one has a gradient far above the noise, the other none."""
    gains = np.full((2, 2), 0.01, np.float32)
    values = np.zeros((2, 1, 2), np.float32)
    values[0, 0] = -0.01 * gradient, 0.01 * gradient
    of_trees = np.full(2, 10.0), np.full(2, hessian_deviation), np.full(2, 50.0), np.ones(2)
    return LeafNoise(gains, np.full((2, 2), 50.0, np.float32), *of_trees), values


def test_noise_in_hessians_shakes_what_is_meant():
    """A gain off by a tenth makes the gradient off by a tenth, and noise none the louder."""
    spread = np.full((2, 2), 0.5)
    noise, values = leaf_noise(0.0)
    np.testing.assert_allclose(noise.gradient_deviations(values, spread), 10.0)
    noise, values = leaf_noise(10.0)
    shaken = noise.gradient_deviations(values, spread)
    np.testing.assert_allclose(shaken[0], np.hypot(10.0, 500.0 * 10.0 / (50.0 + 50.0)), rtol=0.1)
    np.testing.assert_allclose(shaken[1], 10.0)


def test_hessians_are_those_of_records_and_not_of_noise():
    """Noise that is cut off at 0 would be half its deviation on average, in every leaf."""
    rng, spread = np.random.default_rng(0), np.tile([0.75, 0.25], (200, 1))
    true = 40.0 * spread

    def noise_of(deviation):
        of_leaves = np.ones((200, 2), np.float32), true + deviation * rng.normal(size=(200, 2))
        deviations = np.ones(200), np.full(200, deviation), np.ones(200), np.ones(200)
        return LeafNoise(*of_leaves, *deviations)

    np.testing.assert_allclose(noise_of(0.0).likely_hessians(spread, 100.0), true)
    little = noise_of(1.0).likely_hessians(spread, 100.0)
    np.testing.assert_allclose(little, true, atol=5.0)
    drowned = noise_of(1e6).likely_hessians(spread, 100.0)
    np.testing.assert_allclose(drowned, 100.0 * spread, rtol=0.05)
    assert (noise_of(100.0).likely_hessians(spread, 100.0) >= 0.0).all()


def test_arrays_of_another_size_do_not_fit():
    noise, _ = leaf_noise(1.0)
    assert noise.fits(2, 2)
    assert not noise.fits(2, 4)
    assert not noise.fits(3, 2)
