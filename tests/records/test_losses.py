"""The bound behind every gradient release: no record's integers are longer than the grid.

The kernel is asked for the integers of one record at a time, for every loss and norm, with scores
from nothing to infinity. The last line of defence, dropping a record whose integers break the
bound, is shown at work by losses that lie about it.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.records import kernels
from dpforest.records.losses import IntegerLoss

FLOAT32_MAX = float(np.finfo(np.float32).max)


def integers_of(loss, scores, target):
    """Gradients, shape (n_outputs, n), and Hessians, shape (n,), that the kernel makes."""
    scores = np.asarray(scores, np.float32)
    target = np.asarray(target, np.float64 if loss.kind == "squared" else np.int32)
    packed = np.zeros(scores.shape, np.int64)
    kernels.pack_gradients(scores, target, *loss.kernel_arguments, packed)
    hessians = packed[0] & ((1 << kernels.HESSIAN_BITS) - 1)
    gradients = packed >> kernels.HESSIAN_BITS
    assert (packed[1:] & ((1 << kernels.HESSIAN_BITS) - 1) == 0).all()
    return gradients, hessians


def lengths(loss, gradients, hessians):
    """The norm of each record's integers: L1, or the square of L2, exactly."""
    everything = np.vstack([gradients, hessians[None]]).astype(object)
    return (abs(everything) if loss.norm == 1 else everything**2).sum(axis=0)


def limit(loss):
    return loss.grid if loss.norm == 1 else loss.grid**2


@st.composite
def losses(draw):
    kind = draw(st.sampled_from(["logistic", "softmax", "squared"]))
    return IntegerLoss(
        kind,
        n_outputs=draw(st.integers(2, 6)) if kind == "softmax" else 1,
        norm=draw(st.sampled_from([1, 2])),
        grid=draw(st.sampled_from([1, 2, 16, 100, 4096]) | st.integers(1, 4096)),
        clip=draw(st.sampled_from([0.5, 1.0, 2.0]) | st.floats(1e-3, 10)),
        hessian_part=draw(st.sampled_from([0.2, 0.37, 0.5]) | st.floats(1e-3, 10)),
        center=draw(st.floats(-1e3, 1e3)) if kind == "squared" else 0.0,
        width=draw(st.floats(1e-3, 1e3)) if kind == "squared" else 1.0,
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
    if loss.kind == "squared":
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
    arguments = list(loss.kernel_arguments)
    arguments[1 if which == "bound" else 2] *= factor
    packed = np.zeros(scores.shape, np.int64)
    target = np.asarray(target, np.float64 if loss.kind == "squared" else np.int32)
    kernels.pack_gradients(scores, target, *arguments, packed)
    hessians = packed[0] & ((1 << kernels.HESSIAN_BITS) - 1)
    assert lengths(loss, packed >> kernels.HESSIAN_BITS, hessians).max() <= limit(loss)


@pytest.mark.parametrize("norm", [1, 2])
def test_control_the_guard_has_work_to_do_when_the_bound_lies(norm):
    loss = IntegerLoss("squared", 1, norm, 1024, clip=1.0, hessian_part=0.5)
    scores = np.linspace(-3, 3, 101, dtype=np.float32)[None]
    arguments = list(loss.kernel_arguments)
    arguments[5] *= 2  # clips at twice what it says
    packed = np.zeros(scores.shape, np.int64)
    kernels.pack_gradients(scores, np.zeros(101), *arguments, packed)
    assert (packed[0][np.abs(scores[0]) > 1.1] == 0).all()
    assert (packed[0][np.abs(scores[0]) < 0.9] != 0).all()
    honest, _ = integers_of(loss, scores, np.zeros(101))
    assert (honest[0][np.abs(scores[0]) > 1.1] != 0).all()


def plain_derivatives(loss, scores, target):
    """Gradients and Hessians as the module's docstring says, in plain NumPy."""
    scores = np.asarray(scores, np.float64)
    if loss.kind == "squared":
        gradients, hessians = scores - (target - loss.center) / loss.width, np.ones(len(target))
    elif loss.kind == "logistic":
        p = 1 / (1 + np.exp(-scores))
        gradients, hessians = p - target, (p * (1 - p))[0]
    else:
        p = np.exp(scores) / np.exp(scores).sum(axis=0)
        gradients = p - (np.arange(loss.n_outputs)[:, None] == target)
        hessians = (1 - (p**2).sum(axis=0)) / 2
    reach = np.abs(gradients).sum(axis=0) if loss.norm == 1 else np.linalg.norm(gradients, axis=0)
    return gradients * np.minimum(1, loss.clip / np.maximum(reach, 1e-300)), hessians


@settings(max_examples=150, deadline=None)
@given(losses(), st.integers(0, 2**32))
def test_integers_are_the_derivatives_cut_off_towards_zero(loss, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 3, (loss.n_outputs, 50)).astype(np.float32)
    target = (
        rng.normal(0, 1, 50)
        if loss.kind == "squared"
        else rng.integers(0, max(2, loss.n_outputs), 50)
    )
    got, got_hessians = integers_of(loss, scores, target)
    gradients, hessians = plain_derivatives(loss, scores, target)
    for exact, integers in (
        (gradients * loss.gradient_unit, got),
        (hessians * loss.hessian_unit, got_hessians),
    ):
        # Towards zero, but for floating point at the very edge of an integer.
        assert (np.abs(integers) <= np.abs(exact) * (1 + 1e-9) + 1e-6).all()
        assert (np.abs(exact - integers) < 1 + 1e-6).all()


@settings(max_examples=100, deadline=None)
@given(losses())
def test_the_bound_is_what_the_two_parts_make(loss):
    gradient = loss.clip * loss.gradient_unit
    hessian = loss.largest_hessian * loss.hessian_unit
    length = gradient + hessian if loss.norm == 1 else math.hypot(gradient, hessian)
    assert length == pytest.approx(loss.grid)
    assert hessian == pytest.approx(loss.hessian_part * gradient)


@pytest.mark.parametrize("kind", ["logistic", "softmax"])
def test_hessians_never_exceed_the_largest(kind):
    loss = IntegerLoss(kind, 3 if kind == "softmax" else 1, 2, 4096, 0.8, 0.37)
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 2, (loss.n_outputs, 2_000))
    scores[:, 0] = 0  # where they are largest
    _, hessians = plain_derivatives(loss, scores, np.zeros(2_000, int))
    assert hessians.max() == pytest.approx(loss.largest_hessian)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("kind", ["logistic", "softmax", "squared"])
@pytest.mark.parametrize("norm", [1, 2])
def test_scores_that_are_no_numbers_add_nothing_or_what_is_allowed(kind, norm, bad):
    """Integers made of NaN are as negative as can be, and their squares wrap around to 0."""
    loss = IntegerLoss(kind, 3 if kind == "softmax" else 1, norm, 4096, 0.5, 0.37)
    gradients, hessians = integers_of(loss, np.full((loss.n_outputs, 2), bad), [0, 1])
    assert lengths(loss, gradients, hessians).max() <= limit(loss)
    if math.isnan(bad):
        assert not gradients.any()
        assert not hessians.any()


def test_a_block_of_the_largest_integers_fits_its_word():
    largest = IntegerLoss("logistic", 1, 2, 4096, 0.5, 0.37).grid
    assert largest * kernels.WIDE_BLOCK < 1 << (kernels.HESSIAN_BITS - 1)


def test_losses_are_values():
    loss = IntegerLoss("logistic", 1, 2, 4096, 0.5, 0.37)
    assert replace(loss, grid=4096) == loss
    assert hash(replace(loss, grid=16)) != hash(loss)
