"""The low bits of floating-point noise tell; ours do not. An ordinary forest gives people away."""

import numpy as np
import pytest

from dpforest.audit import attack_floating_point, membership_inference
from dpforest.audit.floating import reachable


@pytest.mark.parametrize("value", [0.0, 1.0, 17.0])
def test_what_numpy_draws_is_reachable(value):
    draws = value + np.random.default_rng(0).laplace(scale=2.0, size=500)
    assert np.mean([reachable(x, value, 2.0) for x in draws]) > 0.95


def test_the_attack_fails_on_our_noise():
    report = attack_floating_point(ours=True, trials=8000, random_state=0)
    assert not report.leaks


def test_control_the_attack_succeeds_on_floating_point_noise():
    report = attack_floating_point(ours=False, trials=8000, random_state=0)
    assert report.leaks
    assert report.epsilon_bound > 3.0


def test_members_of_an_ordinary_forest_are_found_and_ours_are_not(tmp_path):
    report = membership_inference(n_members=1000)
    ordinary, private = report.scores
    assert report.true_positives(ordinary) > 0.03
    # With epsilon = 1, at most e times as many members as strangers can be found, plus chance.
    assert report.true_positives(private) < 0.015
    report.plot(tmp_path / "roc.png")
    assert (tmp_path / "roc.png").stat().st_size > 1000
