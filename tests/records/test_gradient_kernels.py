"""The bound behind every gradient release: no record's integers are longer than the grid.

The kernel is asked for the integers of one record at a time, for every loss and norm, with scores
from nothing to infinity. The last line of defence, dropping a record whose integers break the
bound, is shown at work by losses that lie about it.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.losses import LARGEST_GRID, IntegerLoss, Logistic, Pinball, Softmax, Squared
from dpforest.losses.number_rules import NumberRules
from dpforest.records import gradient_kernels as kernels

INTERVAL = Pinball((0.05, 0.5, 0.95), (-1.0, 0.0, 2.0), (0.5, 1.0, 2.0))
FLOAT32_MAX = float(np.finfo(np.float32).max)


def integers_of(loss, scores, target, limits=None, weights=()):
    """Gradients, shape (n_outputs, n), and Hessians, shape (n,), that the kernel makes."""
    scores = np.asarray(scores, np.float32)
    slopes, curvatures = np.empty(scores.shape), np.empty(scores.shape[1])
    target = np.asarray(target, np.float64 if isinstance(loss.loss, NumberRules) else np.int32)
    loss.loss.derivatives(scores, target, slopes, curvatures)
    packed = np.full(scores.shape, -1, np.int64)
    weights = np.asarray(weights, np.float64)
    limits = limits or loss.limits
    kernels.pack_gradients(slopes, 0, curvatures, weights, limits, loss.norm, packed)
    assert (packed[1:] & ((1 << kernels.HESSIAN_BITS) - 1) == 0).all()
    return packed >> kernels.HESSIAN_BITS, packed[0] & ((1 << kernels.HESSIAN_BITS) - 1)


def lengths(loss, gradients, hessians):
    """The norm of each record's integers: L1, or the square of L2, exactly."""
    everything = np.vstack([gradients, hessians[None]]).astype(object)
    return (abs(everything) if loss.norm == 1 else everything**2).sum(axis=0)


def limit(loss):
    return loss.grid if loss.norm == 1 else loss.grid**2


def pinballs(n):
    """Pinball losses of so many quantiles."""
    each = st.floats(0.001, 0.999), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3)
    return st.builds(Pinball, *(st.tuples(*[values] * n) for values in each))


@st.composite
def losses(draw):
    plain = draw(
        st.just(Logistic())
        | st.builds(Softmax, st.integers(2, 6))
        | st.builds(Squared, st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
        | st.integers(1, 3).flatmap(pinballs)
    )
    return IntegerLoss(
        plain,
        norm=draw(st.sampled_from([1, 2])),
        grid=draw(st.sampled_from([1, 2, 16, 100, 4096]) | st.integers(1, 4096)),
        clip=draw(st.sampled_from([0.5, 1.0, 2.0]) | st.floats(1e-3, 10)),
        hessian_part=draw(st.sampled_from([0.2, 0.37, 0.5]) | st.floats(1e-3, 10)),
    )


EXTREMES = [0.0, -0.0, 1e-45, 20.0, 88.7, 104.0, 1e4, 1e30, FLOAT32_MAX, math.inf, math.nan]
SCORES = st.sampled_from([sign * x for x in EXTREMES for sign in (1, -1)]) | st.floats(
    -30, 30, width=32
)


@st.composite
def questions(draw):
    loss = draw(losses())
    n = draw(st.integers(1, 6))
    scores = draw(st.lists(SCORES, min_size=n * loss.n_outputs, max_size=n * loss.n_outputs))
    if isinstance(loss.loss, NumberRules):
        target = draw(st.lists(st.floats(-1e6, 1e6), min_size=n, max_size=n))
    else:
        most = max(1, loss.n_outputs - 1)
        target = draw(st.lists(st.integers(0, most), min_size=n, max_size=n))
    return loss, np.array(scores, np.float32).reshape(loss.n_outputs, n), target


@settings(max_examples=300, deadline=None)
@given(questions())
def test_no_record_is_longer_than_the_grid(question):
    loss, scores, target = question
    gradients, hessians = integers_of(loss, scores, target)
    assert lengths(loss, gradients, hessians).max() <= limit(loss)
    assert (hessians >= 0).all()


@settings(max_examples=200, deadline=None)
@given(
    questions(),
    st.floats(1.5, 1e6) | st.sampled_from([1e6, 1e9, 1e12, 1e300]),
    st.sampled_from(["bound", "hessian"]),
)
def test_a_lying_bound_is_caught_record_by_record(question, factor, which):
    """The control: units too large for the limit. Records that break it are dropped."""
    loss, scores, target = question
    limits = list(loss.limits)
    limits[0 if which == "bound" else 1] *= factor
    gradients, hessians = integers_of(loss, scores, target, tuple(limits))
    assert lengths(loss, gradients, hessians).max() <= limit(loss)


@settings(max_examples=200, deadline=None)
@given(
    questions(),
    st.lists(
        st.sampled_from([0.0, 0.3, 1.0, 7.0, 1e9, math.inf, math.nan, -1.0]), min_size=6, max_size=6
    ),
)
def test_no_weight_makes_a_record_longer_than_the_grid(question, weights):
    loss, scores, target = question
    gradients, hessians = integers_of(loss, scores, target, weights=weights[: len(target)])
    assert lengths(loss, gradients, hessians).max() <= limit(loss)


@pytest.mark.parametrize("norm", [1, 2])
def test_control_a_weight_beyond_its_bound_is_dropped(norm):
    loss = IntegerLoss(Logistic(), norm, 4096, clip=0.5, hessian_part=0.37)
    scores, target = np.zeros((1, 3), np.float32), [0, 1, 1]
    honest, _ = integers_of(loss, scores, target, weights=[1.0, 1.0, 0.5])
    assert (honest != 0).all()
    lied, lied_hessians = integers_of(loss, scores, target, weights=[1.0, 2.0, 0.5])
    assert lied[0, 1] == 0
    assert lied_hessians[1] == 0
    np.testing.assert_array_equal(lied[:, [0, 2]], honest[:, [0, 2]])


@pytest.mark.parametrize("norm", [1, 2])
def test_control_the_guard_has_work_to_do_when_the_bound_lies(norm):
    loss = IntegerLoss(Squared(), norm, 1024, clip=1.0, hessian_part=0.5)
    scores = np.linspace(-3, 3, 101, dtype=np.float32)[None]
    unit, hessian_unit, clip, limit = loss.limits
    twice = unit, hessian_unit, 2 * clip, limit  # clips at twice what it says
    lied, lied_hessians = integers_of(loss, scores, np.zeros(101), twice)
    far, near = np.abs(scores[0]) > 1.1, np.abs(scores[0]) < 0.9
    assert not lied[0][far].any()
    assert not lied_hessians[far].any()
    assert (lied_hessians[near] != 0).all()
    honest, _ = integers_of(loss, scores, np.zeros(101))
    assert (honest[0][far] != 0).all()


def clipped_derivatives(loss, scores, target):
    """What the integers stand for, in plain NumPy."""
    slopes, curvatures = np.empty(scores.shape), np.empty(scores.shape[1])
    loss.loss.derivatives(scores, target, slopes, curvatures)
    reach = np.abs(slopes).sum(axis=0) if loss.norm == 1 else np.linalg.norm(slopes, axis=0)
    return slopes * np.minimum(1, loss.clip / np.maximum(reach, 1e-300)), curvatures


@settings(max_examples=150, deadline=None)
@given(losses(), st.integers(0, 2**32))
def test_integers_are_the_derivatives_cut_off_towards_zero(loss, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 3, (loss.n_outputs, 50)).astype(np.float32)
    target = (
        rng.normal(0, 1, 50)
        if isinstance(loss.loss, NumberRules)
        else rng.integers(0, max(2, loss.n_outputs), 50)
    )
    weights = rng.choice([0.0, 0.25, 0.9, 1.0], 50) if seed % 2 else np.ones(50)
    asked = weights if seed % 2 else ()
    got, got_hessians = integers_of(loss, scores, target, weights=asked)
    gradients, hessians = clipped_derivatives(loss, scores, target)
    gradients, hessians = gradients * weights, hessians * weights  # after clipping
    for exact, integers in (
        (gradients * loss.gradient_unit, got),
        (hessians * loss.hessian_unit, got_hessians),
    ):
        # Towards zero, but for floating point at the very edge of an integer.
        assert (np.abs(integers) <= np.abs(exact) * (1 + 1e-9) + 1e-6).all()
        assert (np.abs(exact - integers) < 1 + 1e-6).all()


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("plain", [Logistic(), Softmax(3), Squared(), INTERVAL], ids=repr)
@pytest.mark.parametrize("norm", [1, 2])
def test_scores_that_are_no_numbers_add_nothing_or_what_is_allowed(plain, norm, bad):
    """Integers made of NaN are as negative as can be, and their squares wrap around to 0."""
    loss = IntegerLoss(plain, norm, 4096, 0.5, 0.37)
    gradients, hessians = integers_of(loss, np.full((loss.n_outputs, 2), bad), [0, 1])
    assert lengths(loss, gradients, hessians).max() <= limit(loss)
    if math.isnan(bad):
        assert not gradients.any()
        assert not hessians.any()


def test_a_block_of_the_largest_integers_fits_its_word():
    assert LARGEST_GRID * kernels.WIDE_BLOCK < 1 << (kernels.HESSIAN_BITS - 1)
