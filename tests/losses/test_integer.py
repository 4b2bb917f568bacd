"""The grid of a loss: what the two parts of the bound make."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.losses import LARGEST_GRID, IntegerLoss, Logistic, Pinball, Softmax, Squared


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(
        [Logistic(), Softmax(3), Squared(1.0, 2.0), Pinball((0.1, 0.5), (0, 1), (2, 3))]
    ),
    st.sampled_from([1, 2]),
    st.integers(1, LARGEST_GRID),
    st.floats(1e-3, 10),
    st.floats(1e-3, 10),
)
def test_the_bound_is_what_the_two_parts_make(plain, norm, grid, clip, part):
    loss = IntegerLoss(plain, norm, grid, clip, part)
    gradient = loss.clip * loss.gradient_unit
    hessian = plain.largest_hessian * loss.hessian_unit
    length = gradient + hessian if norm == 1 else math.hypot(gradient, hessian)
    assert length == pytest.approx(grid)
    assert hessian == pytest.approx(part * gradient)
    assert loss.limits == (loss.gradient_unit, loss.hessian_unit, clip, grid**norm)


@pytest.mark.parametrize("grid", [0, LARGEST_GRID + 1])
def test_grids_out_of_range_are_refused(grid):
    with pytest.raises(ValueError, match="grid must be between"):
        IntegerLoss(Logistic(), 2, grid, 0.5, 0.37)


def test_losses_are_values():
    loss = IntegerLoss(Softmax(3), 2, 4096, 0.5, 0.37)
    assert replace(loss, loss=Softmax(3)) == loss
    assert hash(replace(loss, grid=16)) != hash(loss)
