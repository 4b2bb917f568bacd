"""How many residuals tell of errors: more as a model explains, none the more for its noise."""

import numpy as np
import pytest

from dpforest.report.noise_runs import LEAST_HEARD, Chance

SCORES = np.array([[-1.2, 1.2]], np.float32)


def test_what_is_explained_is_no_chance_and_is_heard():
    variance, heard = Chance(1.0, 1.3).of_residuals(SCORES, np.zeros((2, 3)))
    assert variance == pytest.approx(1.3**2 - 1.2**2, abs=1e-6)
    assert heard == pytest.approx(1 - variance)


def test_noise_explains_nothing():
    variance, heard = Chance(1.0, 1.3).of_residuals(SCORES, np.tile(SCORES.T, 3))
    assert (variance, heard) == (1.0, LEAST_HEARD)
    assert Chance(1.0, 1.3, 0.6).of_residuals(SCORES, np.tile(SCORES.T, 3)) == (1.0, 0.6)


def test_all_are_heard_where_none_is_clipped():
    assert Chance(0.5).of_residuals(SCORES, np.zeros((2, 3))) == (0.5, 1.0)
