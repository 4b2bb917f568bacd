"""What every loss owes: derivatives by its definition, record by record, and true bounds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.losses import Logistic, Loss, Pinball, Softmax, Squared
from dpforest.losses.number_rules import NumberRules
from dpforest.trees.oblivious import MAX_DEPTH

LOSSES = [
    Logistic(),
    Softmax(2),
    Softmax(5),
    Squared(),
    Squared(center=3.0, width=0.25),
    Pinball(),
    Pinball((0.1,), (3.0,), (0.25,)),
    Pinball((0.05, 0.5, 0.95), (1.0, 3.0, 4.0), (0.5, 2.0, 1.0)),
]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
every_class_loss = pytest.mark.parametrize("loss", LOSSES[:3], ids=repr)
every_curved_loss = pytest.mark.parametrize("loss", LOSSES[:5], ids=repr)
every_pinball = pytest.mark.parametrize("loss", LOSSES[5:], ids=repr)
every_norm = pytest.mark.parametrize("norm", [1, 2])


def derivatives_of(loss, scores, target):
    scores = np.asarray(scores, np.float32)
    slopes, curvatures = np.full(scores.shape, np.nan), np.full(scores.shape[1], np.nan)
    loss.derivatives(scores, target, slopes, curvatures)
    return slopes, curvatures


def targets_of(loss, rng, n):
    if isinstance(loss, NumberRules):
        return rng.normal(3, 2, n)
    return rng.integers(0, max(2, loss.n_outputs), n).astype(np.int32)


def plain_loss(loss, scores, label):
    """The loss of one record as the books have it, up to a constant."""
    if isinstance(loss, Squared):
        return 0.5 * (scores[0] - (label - loss.center) / loss.width) ** 2
    if isinstance(loss, Pinball):
        outputs = zip(scores, loss.quantiles, loss.centers, loss.widths, strict=True)
        return sum(smoothed_pinball(*output, label) for output in outputs)
    if isinstance(loss, Logistic):
        return np.logaddexp(0, scores[0]) - label * scores[0]
    return np.logaddexp.reduce(scores) - scores[label]


def smoothed_pinball(score, quantile, center, width, label):
    """The mean pinball loss over all shifts of the target, in widths, its steeper side of slope 1.

    The loss is linear on either side of the score, so the mean is that of two triangles.
    """
    steeper = max(quantile, 1.0 - quantile)
    reach = 0.5 / steeper
    apart = score - (label - center) / width
    above, below = np.clip([apart + reach, reach - apart], 0.0, 2.0 * reach)  # shifts on each side
    # Over so many shifts, the mean distance lies half way between the nearest and the farthest.
    over = 0.5 * above * (max(apart - reach, 0.0) + max(apart + reach, 0.0))
    under = 0.5 * below * (max(-apart - reach, 0.0) + max(reach - apart, 0.0))
    return ((1.0 - quantile) * over + quantile * under) / (2.0 * reach * steeper)


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


@every_curved_loss
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


@every_pinball
def test_hessians_of_quantiles_are_the_largest_slope_of_their_gradients(loss):
    """So that no Newton step goes beyond where the gradient is 0."""
    target = np.random.default_rng(1).normal(3, 2, 300)
    scores = np.linspace(-8, 8, 300, dtype=np.float32) * np.ones((loss.n_outputs, 1))
    slopes, curvatures = derivatives_of(loss, scores, target)
    moved, _ = derivatives_of(loss, scores + np.float32(1e-3), target)
    rises = (moved - slopes) / 1e-3
    assert (curvatures == loss.largest_hessian).all()
    assert rises.min() > -1e-3
    assert rises.max() == pytest.approx(1.0, abs=1e-2)


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


def test_steps_of_numbers_shrink_with_the_little_signal_there_is():
    """Half the signal, half the step; with much of it, less than that is lost."""
    for signal in (200.0, 400.0):
        assert Squared().total_step(signal, 2) == pytest.approx(
            2.0 * Squared().total_step(signal / 2.0, 2), rel=1e-3
        )
    assert Squared().total_step(4000.0, 2) < 1.4 * Squared().total_step(2000.0, 2)
    assert Squared().total_step(100.0, 1) < 1.4 * Squared().total_step(50.0, 1)


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
    """Of the softmax loss under Gaussian noise seven tenths of it."""
    slopes, _ = derivatives_of(loss, np.zeros((loss.n_outputs, 1)), np.zeros(1, np.int32))
    part = 0.7 if isinstance(loss, Softmax) and norm == 2 else 1.0
    assert loss.clip(norm) == pytest.approx(part * np.linalg.norm(slopes[:, 0], norm))


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
    assert 0 < loss.damping(norm, 30.0) < math.inf
    for drawing in (loss.drawing, loss.gaussian_drawing):
        assert 0 <= drawing.learnt <= 1
        assert 0 <= drawing.learnt_cuts <= 1
        assert 0 < drawing.memory <= 1


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


def test_predictions_of_quantiles_are_in_units_of_the_target():
    loss = Pinball((0.1, 0.5), (3.0, 5.0), (0.5, 1.0))
    assert loss.predictions(np.array([[0.0, -2.0], [1.0, 0.0]]), True).tolist() == [[3, 6], [2, 5]]
    assert Pinball((0.5,), (5.0,), (2.0,)).predictions(np.array([[1.0]]), True).tolist() == [7.0]


@every_pinball
@every_norm
def test_the_clip_of_quantiles_is_the_longest_gradient_of_scores_in_order(loss, norm):
    """Reached beyond all quantiles, exceeded nowhere: gradients of quantiles are not cut off."""
    rng = np.random.default_rng(4)
    places = np.sort(rng.normal(3, 2, (loss.n_outputs, 2_000)), axis=0)
    centers, widths = np.array(loss.centers)[:, None], np.array(loss.widths)[:, None]
    slopes, _ = derivatives_of(loss, (places - centers) / widths, rng.normal(3, 40, 2_000))
    lengths = np.linalg.norm(slopes, norm, axis=0)
    assert lengths.max() == pytest.approx(loss.clip(norm))
    crossed, _ = derivatives_of(loss, rng.normal(0, 99, slopes.shape), rng.normal(3, 2, 2_000))
    assert np.linalg.norm(crossed, axis=0).max() < loss.clip_without_noise


@pytest.mark.parametrize("quantile", [0.05, 0.5, 0.8])
def test_gradients_balance_at_the_quantile(quantile):
    """Where targets are even over a wide range, smoothing moves nothing."""
    target = np.linspace(-20, 20, 40_001)
    rest = np.quantile(target, quantile)
    means = [
        derivatives_of(Pinball((quantile,)), np.full((1, len(target)), at), target)[0].mean()
        for at in (rest - 0.5, rest, rest + 0.5)
    ]
    assert means[0] < -0.01 < 0.01 < means[2]
    assert means[1] == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize("shape", [(4, 3, 8), (3, 5)])
def test_a_step_of_the_median_moves_all_quantiles_alike(shape):
    loss = Pinball((0.05, 0.5, 0.95), (1.0, 3.0, 4.0), (0.5, 2.0, 1.0))
    steps = np.random.default_rng(0).normal(0, 1, shape).astype(np.float32)
    moved = np.moveaxis(loss.moves(steps), -2, -1) * loss.widths
    asked = np.moveaxis(steps, -2, -1) * loss.widths
    np.testing.assert_allclose(moved[..., 1], asked[..., 1])
    np.testing.assert_allclose(moved[..., ::2], asked[..., ::2] + asked[..., 1:2], rtol=1e-5)
    assert loss.moves(steps).dtype == np.float32
    assert Pinball((0.1,)).moves(steps[..., :1, :]) is not None
    np.testing.assert_array_equal(Pinball((0.1, 0.9)).moves(steps[..., :2, :]), steps[..., :2, :])


@pytest.mark.parametrize("n_classes", [3, 10, 26])
def test_softmax_goes_further_with_more_signal_and_not_without_end(n_classes):
    steps = [Softmax(n_classes).total_step(10.0**k, 2) for k in range(9)]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (160.0, 400.0)


@every_loss
def test_a_constant_hessian_is_1_whatever_the_score(loss):
    rng = np.random.default_rng(0)
    scores = rng.uniform(-5, 5, (loss.n_outputs, 200))
    _, hessians = derivatives_of(loss, scores, targets_of(loss, rng, 200))
    assert loss.constant_hessian == bool((hessians == 1.0).all())
