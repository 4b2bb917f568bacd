"""The parts of the algorithm that see released numbers only."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.forests.boosting import (
    LARGEST_STEP,
    BoostedTrees,
    leaf_values,
    let_through,
)
from dpforest.privacy.gradients import GradientRelease
from dpforest.trees.oblivious import ObliviousTrees


def make_trees(n_trees, depth):
    return ObliviousTrees(
        np.zeros((n_trees, depth), np.int32),
        np.zeros((n_trees, depth, 256), bool),
        np.full(n_trees, depth, np.int32),
    )


def make_release(seed, n_trees=3, n_leaves=4, n_outputs=2, size=1e3):
    rng = np.random.default_rng(seed)
    return GradientRelease(
        rng.normal(0, size, (n_trees, n_leaves, n_outputs)),
        rng.normal(0, size, (n_trees, n_leaves)),
        1.0,
    )


PLAN = SimpleNamespace(
    learning_rate=0.6, damping=10.0, leaf_damping=8.0
)  # what leaf values follow from


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1e-3, 1.0, 1e6, 1e300]))
def test_steps_go_against_the_gradient_and_stay_short(seed, size):
    release = make_release(seed, size=size)
    values = leaf_values(release, PLAN)
    assert values.shape == (3, 2, 4)
    assert values.dtype == np.float32
    assert (np.abs(values) <= np.float32(LARGEST_STEP * 0.6 / 3)).all()
    downhill = np.sign(values.transpose(0, 2, 1)) * np.sign(release.gradients)
    assert (downhill <= 0).all()


def test_a_step_by_hand():
    release = GradientRelease(np.full((1, 2, 1), 4.0), np.array([[30.0, -5.0]]), 1.0)
    # -4 / (30 + 10 + 8 / 2), and with a Hessian that only noise can make negative, -4 / 14.
    expected = [-0.6 * 4 / 44, -0.6 * 4 / 14]
    np.testing.assert_allclose(leaf_values(release, PLAN)[0, 0], expected, rtol=1e-6)


def test_gradients_that_are_let_through_ask_for_the_steps_that_are_taken():
    release = make_release(0, size=1.0)
    steps = leaf_values(release, PLAN)
    held = 0.3 * steps + 0.01
    heard = let_through(release, PLAN, steps - held)
    asked = leaf_values(release._replace(gradients=heard), PLAN)
    np.testing.assert_allclose(asked, held, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(let_through(release, PLAN, 0 * steps), release.gradients)


def test_rounds_of_different_depth_stack():
    rounds = [
        BoostedTrees(make_trees(2, depth), np.full((2, 1, 1 << depth), depth, np.float32))
        for depth in (1, 3)
    ]
    stacked = BoostedTrees.stack(rounds)
    assert stacked.values.shape == (4, 1, 8)
    assert stacked.values[0, 0].tolist() == [1, 1, 0, 0, 0, 0, 0, 0]
    assert stacked[2:].values.tolist() == rounds[1].values.tolist()
    stacked.refuse_misfits(1)


@pytest.mark.parametrize(
    "values", [(4, 1, 8), (3, 1, 4), (3, 8)], ids=["a tree too many", "too few leaves", "flat"]
)
def test_values_that_do_not_fit_are_refused(values):
    with pytest.raises(ValueError, match=r"."):
        BoostedTrees(make_trees(3, 3), np.zeros(values, np.float32)).refuse_misfits(1)


def test_features_that_are_not_there_are_refused():
    trees = make_trees(1, 1)
    trees.feature[0, 0] = 2
    with pytest.raises(ValueError, match="feature"):
        BoostedTrees(trees, np.zeros((1, 1, 2), np.float32)).refuse_misfits(2)
