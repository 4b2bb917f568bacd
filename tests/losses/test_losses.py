"""What every loss owes: derivatives by its definition, record by record, and true bounds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.losses import Logistic, Loss, Softmax, Squared
from dpforest.trees.oblivious import MAX_DEPTH

LOSSES = [Logistic(), Softmax(2), Softmax(5), Squared(), Squared(center=3.0, width=0.25)]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
every_class_loss = pytest.mark.parametrize("loss", LOSSES[:3], ids=repr)
every_norm = pytest.mark.parametrize("norm", [1, 2])


def derivatives_of(loss, scores, target):
    scores = np.asarray(scores, np.float32)
    slopes, curvatures = np.full(scores.shape, np.nan), np.full(scores.shape[1], np.nan)
    loss.derivatives(scores, target, slopes, curvatures)
    return slopes, curvatures


def targets_of(loss, rng, n):
    if isinstance(loss, Squared):
        return rng.normal(3, 2, n)
    return rng.integers(0, max(2, loss.n_outputs), n).astype(np.int32)


def plain_loss(loss, scores, label):
    """The loss of one record as the books have it, up to a constant."""
    if isinstance(loss, Squared):
        return 0.5 * (scores[0] - (label - loss.center) / loss.width) ** 2
    if isinstance(loss, Logistic):
        return np.logaddexp(0, scores[0]) - label * scores[0]
    return np.logaddexp.reduce(scores) - scores[label]


def test_no_loss_is_left_out():
    assert {type(loss) for loss in LOSSES} == set(Loss.__subclasses__())


@every_loss
def test_gradients_are_the_slopes_of_the_loss(loss):
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 2, (loss.n_outputs, 40)).astype(np.float32)
    target = targets_of(loss, rng, 40)
    slopes, _ = derivatives_of(loss, scores, target)
    for i in range(40):
        here = scores[:, i].astype(np.float64)
        for k, step in enumerate(1e-6 * np.eye(loss.n_outputs)):
            rise = plain_loss(loss, here + step, target[i]) - plain_loss(
                loss, here - step, target[i]
            )
            assert slopes[k, i] == pytest.approx(rise / 2e-6, abs=1e-5)


@every_loss
def test_hessians_are_the_mean_curvature_and_at_most_the_largest(loss):
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 2, (loss.n_outputs, 300)).astype(np.float32)
    scores[:, 0] = 0.0  # where they are largest
    target = targets_of(loss, rng, 300)
    _, curvatures = derivatives_of(loss, scores, target)
    assert curvatures.max() == pytest.approx(loss.largest_hessian)
    assert (curvatures >= 0).all()
    # Half the trace of the matrix of several outputs, the second derivative of one.
    trace = np.zeros(300)
    for k in range(loss.n_outputs):
        step = 1e-3 * (np.arange(loss.n_outputs) == k)[:, None]
        up, down = (derivatives_of(loss, scores + sign * step, target)[0][k] for sign in (1, -1))
        trace += (up - down) / 2e-3
    share = 0.5 if loss.n_outputs > 1 else 1.0
    np.testing.assert_allclose(curvatures, share * trace, atol=2e-3)


@every_loss
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), n=st.integers(2, 40))
def test_a_record_has_derivatives_of_its_own(loss, seed, n):
    """Others may come, go and change places: this is what the sensitivity of sums rests on."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 20, (loss.n_outputs, n)).astype(np.float32)
    target = targets_of(loss, rng, n)
    slopes, curvatures = derivatives_of(loss, scores, target)
    some = rng.permutation(n)[: rng.integers(1, n)]
    again, again_curvatures = derivatives_of(loss, scores[:, some], target[some])
    np.testing.assert_array_equal(again, slopes[:, some])
    np.testing.assert_array_equal(again_curvatures, curvatures[some])


@every_loss
def test_gradients_add_up_to_zero_where_the_loss_says_so(loss):
    rng = np.random.default_rng(2)
    scores, target = rng.normal(0, 3, (loss.n_outputs, 100)), targets_of(loss, rng, 100)
    slopes, _ = derivatives_of(loss, scores, target)
    assert np.allclose(slopes.sum(axis=0), 0) == loss.gradients_add_up_to_zero


@every_class_loss
def test_derivatives_of_classes_are_bounded_whatever_the_scores(loss):
    """Numbers that are none would be dropped, and records with them."""
    scores = np.outer(np.arange(1, loss.n_outputs + 1), [3e38, -3e38, 1e4, -1e4, 800.0, 0.0])
    slopes, curvatures = derivatives_of(loss, scores / loss.n_outputs, np.zeros(6, np.int32))
    assert np.abs(slopes).max() <= 1
    assert ((curvatures >= 0) & (curvatures <= loss.largest_hessian * (1 + 1e-12))).all()


@every_norm
@every_class_loss
def test_the_clip_of_classes_is_the_norm_at_the_start(loss, norm):
    slopes, _ = derivatives_of(loss, np.zeros((loss.n_outputs, 1)), np.zeros(1, np.int32))
    assert loss.clip(norm) == pytest.approx(np.linalg.norm(slopes[:, 0], norm))


@every_class_loss
def test_without_noise_no_gradient_of_a_class_is_clipped(loss):
    rng = np.random.default_rng(3)
    scores, target = rng.normal(0, 30, (loss.n_outputs, 500)), targets_of(loss, rng, 500)
    slopes, _ = derivatives_of(loss, scores, target)
    assert np.linalg.norm(slopes, axis=0).max() < loss.clip_without_noise


@every_loss
@every_norm
def test_rules_make_plans_that_can_be_carried_out_and_grow_with_the_signal(loss, norm):
    signals = [10.0**k for k in range(-2, 9)]
    depths = [loss.depth(signal, 10, True, norm) for signal in signals]
    steps = [loss.total_step(signal, norm) for signal in signals]
    assert depths == sorted(depths)
    assert steps == sorted(steps)
    assert 1 <= depths[0] <= depths[-1] <= MAX_DEPTH
    assert 0 < loss.hessian_part(norm) < 1
    assert 0 < loss.damping(norm) < math.inf
    assert 0 <= loss.learnt <= 1


@every_class_loss
@pytest.mark.parametrize("clipped", [False, True])
def test_predictions_of_classes_are_probabilities_even_of_large_scores(loss, clipped):
    large = np.arange(loss.n_outputs)[:, None] * np.array([1e4, -1e4, 0.0]) + [5e3, -5e3, 0.0]
    p = loss.predictions(large, clipped)
    assert p.shape == (3, max(2, loss.n_outputs))
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(p[2], 1 / p.shape[1])
    assert p[:2].argmax(axis=1).tolist() == [p.shape[1] - 1, 0]


def test_predictions_of_numbers_are_in_units_of_the_target():
    loss = Squared(center=3.0, width=0.5)
    assert loss.predictions(np.array([[0.0, -2.0]], np.float32), True).tolist() == [3.0, 2.0]
