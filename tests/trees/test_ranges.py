"""Questions that ask for a range: where they end, how they are asked, and how they are read."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.trees import drawing_kernels
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.ranges import FOCUS, RANGES, draw_ends, ends_of
from dpforest.trees.structure import FeatureBins


def test_ends_are_drawn_by_what_they_promise():
    """Exact shares, within 5 standard deviations; fixed seed."""
    n, weights = 20_000, np.array([0.1, 0.4, 0.3, 0.2])
    between, alone = np.array([0.0, 1.0, 2.0, 1.0]), 1.5
    drawn = draw_ends(
        np.tile(weights, (n, 1)),
        np.full(n, alone),
        np.tile(between, (n, 1)),
        np.random.default_rng(0),
    )
    expected = np.append(RANGES * weights * between**FOCUS, alone**FOCUS)
    expected /= expected.sum()
    counts = np.bincount(np.where(drawn < 0, 4, drawn), minlength=5)
    assert (np.abs(counts - n * expected) <= 5 * np.sqrt(n * expected)).all()
    assert counts[0] == 0


@pytest.mark.parametrize("size", [0.0, 1e-250, 1e-30, 1e250])
def test_promises_may_be_tiny_or_huge(size):
    """A cut stays likely: its power neither vanishes nor overflows; with no promise it is a cut."""
    ends = draw_ends(
        np.full((100, 3), 1 / 3),
        np.full(100, size),
        np.full((100, 3), 0.5 * size),
        np.random.default_rng(0),
    )
    assert (ends == -1).mean() > 0.8


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_what_is_asked_is_what_is_read(data):
    n_values = data.draw(st.integers(3, 40))
    cut = data.draw(st.integers(0, n_values - 2))
    others = [-1, *(place for place in range(n_values - 1) if place != cut)]
    end = data.draw(st.sampled_from(others))
    right = np.empty((1, 1, 256), np.bool_)
    drawing_kernels.ask(np.array([[cut]]), np.array([[end]]), right)
    right = right[0]
    right[:, n_values:] = data.draw(st.booleans())  # missing values
    trees = ObliviousTrees(np.zeros((1, 1), np.int32), right[None], np.ones(1, np.int32))
    bins = FeatureBins(np.array([n_values]), np.array([n_values + 1]), np.array([False]))
    first = int(right[0, :n_values].argmax()) - 1
    assert (first, int(ends_of(trees, bins)[0, 0])) == (
        (cut, -1) if end < 0 else (min(cut, end), max(cut, end))
    )
    inside = (np.arange(n_values) > first) & (
        np.arange(n_values) <= (max(cut, end) if end >= 0 else 255)
    )
    np.testing.assert_array_equal(right[0, :n_values], inside)
