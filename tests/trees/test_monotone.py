"""Sums of held trees never fall along a feature that may not, and the rest stays as it is."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.trees.monotone import Holding, Monotone
from dpforest.trees.oblivious import ObliviousTrees

N_VALUES = 5
FEATURES = 3
GRID = np.array(list(itertools.product(range(N_VALUES + 1), repeat=FEATURES)))
SIGNS = [(1, 0, 0), (1, -1, 0), (-1, 1, 1), (0, 0, 0)]


def following(*signs):
    """Features of five values, and a bin of missing ones."""
    n_values = np.full(len(signs), N_VALUES)
    return Monotone(np.array(signs), n_values, n_values + 1)


def asking(questions, depth):
    """Trees of some questions, (feature, bins that go right), of which each asks the first few."""
    right = np.zeros((len(questions), len(questions[0]), 256), np.bool_)
    for t, levels in enumerate(questions):
        for k, (_, bins) in enumerate(levels):
            right[t, k, list(bins)] = True
    feature = np.array([[j for j, _ in levels] for levels in questions], np.int32)
    return ObliviousTrees(feature, right, np.asarray(depth, np.int32))


def drawn(rng, n_trees=12, depth=4, n_outputs=2, ranges=True):
    """Cuts and ranges, often of one feature twice; the bin of missing values goes by a coin."""
    ends = rng.integers(1, N_VALUES + 1, (n_trees, depth, 2))
    ends[..., 1] = np.where(ranges & (rng.random((n_trees, depth)) < 0.3), ends[..., 1], N_VALUES)
    missing = rng.random((n_trees, depth)) < 0.5
    questions = [
        [
            (
                rng.integers(FEATURES),
                [*range(ends[t, k, 0], ends[t, k, 1]), *[N_VALUES] * int(missing[t, k])],
            )
            for k in range(depth)
        ]
        for t in range(n_trees)
    ]
    trees = asking(questions, rng.integers(0, depth + 1, n_trees))
    size = 10.0 ** rng.integers(-3, 3)
    values = size * rng.normal(rng.normal(), 1, size=(n_trees, n_outputs, 1 << depth))
    return trees, values.astype(np.float32)


def answers(trees, values, bins):
    """What each tree says of each record, shape (n_trees, n_outputs, n)."""
    found = np.empty((trees.n_trees, values.shape[1], len(bins)), np.float32)
    for t in range(trees.n_trees):
        leaf = np.zeros(len(bins), int)
        for k in range(trees.depth[t]):
            leaf |= trees.goes_right[t, k, bins[:, trees.feature[t, k]]].astype(int) << k
        found[t] = values[t][:, leaf]
    return found


def added(parts):
    """Added one by one, as predictions are, in float32."""
    total = np.zeros(parts.shape[1:], np.float32)
    for part in parts:
        total += part
    return total


def least_rise(scores, signs):
    """The least step, along the features to be followed, of scores of the whole grid."""
    shape = (-1, *[N_VALUES + 1] * FEATURES)
    steps = [np.inf]
    for j, sign in enumerate(signs):
        if sign:
            ordered = np.moveaxis(scores.reshape(shape), j + 1, 0)[:N_VALUES]
            steps.append((sign * np.diff(ordered, axis=0)).min())
    return min(steps)


@given(st.integers(0, 2**32), st.sampled_from(SIGNS))
def test_sums_follow_the_signs_exactly_in_any_order_and_at_any_stage(seed, signs):
    rng = np.random.default_rng(seed)
    trees, values = drawn(rng)
    held = following(*signs).settle(trees, values)
    parts = answers(trees, held, GRID)
    assert least_rise(added(parts), signs) >= 0
    assert least_rise(added(parts[rng.permutation(len(parts))]), signs) >= 0
    assert least_rise(added(parts[: rng.integers(1, len(parts))]), signs) >= 0
    if any(signs):
        np.testing.assert_array_equal(added(parts), parts.sum(axis=0, dtype=np.float64))
    else:
        assert held is values


@given(st.integers(0, 2**32), st.sampled_from(SIGNS[:3]))
def test_trees_that_come_round_by_round_follow_what_came_before(seed, signs):
    rng = np.random.default_rng(seed)
    trees, values = drawn(rng, depth=5)
    holding, rounds = Holding(following(*signs), 2), (slice(0, 3), slice(3, 4), slice(4, None))
    weights = rng.exponential(size=(len(values), 32)) ** 2 + 1e-3
    held = np.concatenate([holding.hold(trees[r], values[r], weights[r]) for r in rounds])
    scores = answers(trees, held, GRID).sum(axis=0, dtype=np.float64)
    assert least_rise(scores, signs) >= -1e-5 * np.abs(values).max()
    # What is held stays as it is, but for rounding.
    settled = following(*signs).settle(trees, held)
    np.testing.assert_allclose(settled, held, atol=1e-4 * np.abs(values).max())


@given(st.integers(0, 2**32), st.sampled_from(SIGNS[:3]))
def test_what_keeps_to_it_already_is_left_alone(seed, signs):
    """Trees may fall by as much as those before them rose, and no more."""
    rng = np.random.default_rng(seed)
    trees, values = drawn(rng, ranges=False)
    cuts = [
        [(j, range(b, N_VALUES))] for j in range(FEATURES) for b in range(1, N_VALUES) if signs[j]
    ]
    steep = asking(cuts, np.ones(len(cuts)))
    rise = 4.0 * np.abs(values).max(axis=(1, 2)).sum()  # two cuts of one bin may fall together
    up = np.array([signs[levels[0][0]] for levels in cuts])[:, None, None] * [0.0, rise]
    rule, every = following(*signs), ObliviousTrees.stack([steep, trees])
    room = np.zeros((len(cuts), 2, values.shape[2]), np.float32)
    room[:, :, :2] = up
    together = np.concatenate([room, values])
    held = Holding(rule, 2).hold(every, together)
    np.testing.assert_allclose(held, together, rtol=1e-5, atol=1e-6 * rise)
    alone = [Holding(rule, 2).hold(trees[t : t + 1], values[t : t + 1]) for t in range(len(values))]
    settled = rule.settle(trees, values)
    np.testing.assert_array_equal(rule.settle(trees, settled), settled)
    breaks = least_rise(answers(trees, values, GRID).reshape(-1, len(GRID)), signs) < 0
    assert breaks != np.array_equal(np.concatenate(alone), values)


def test_a_tree_takes_back_what_those_before_it_did_too_much():
    trees = asking([[(0, range(2, 5))]] * 3, [1, 1, 1])
    values = np.array([[[0, 4]], [[3, 1]], [[3, 0]]], np.float32)
    held = Holding(following(1), 1).hold(trees, values)
    assert held.tolist() == [[[0, 4]], [[3, 1]], [[2.5, 0.5]]]
    falling = Holding(following(-1), 1).hold(trees, -values)
    np.testing.assert_array_equal(falling, -held)


def test_only_what_is_sure_whatever_the_other_answers_may_be_taken_back():
    trees = asking([[(0, range(2, 5)), (1, range(3, 5))]] * 2, [2, 2])
    values = np.array([[[0, 2, 0, 6]], [[1.5, 0, 5, 0]]], np.float32)
    held = Holding(following(1, 0), 1).hold(trees, values)
    np.testing.assert_array_equal(held[0], values[0])
    low, high = held[1, 0, ::2], held[1, 0, 1::2]
    assert (high - low).tolist() == [-2, -2]


def test_where_a_step_falls_in_few_records_its_mean_stays():
    """To raise only what falls would raise what the feature does on average, noise or not."""
    tree = asking([[(0, range(2, 5)), (1, range(3, 5))]], [2])
    values = np.array([[[0, 3, 2, 1]]], np.float32)
    weights = np.array([[2.0, 2.0, 1.0, 1.0]])
    held = Holding(following(1, 0), 1).hold(tree, values, weights)[0, 0]
    steps, mean = held[1::2] - held[::2], (2 * 3 - 1) / 3
    assert steps.min() == pytest.approx(0, abs=1e-6)
    assert (2 * steps[0] + steps[1]) / 3 == pytest.approx(mean)
    # What each side says on average stays as well.
    assert (weights[0] * held).sum() == pytest.approx((weights[0] * values[0, 0]).sum())


def test_heavy_leaves_hardly_move_for_light_ones():
    tree = asking([[(0, range(2, 5))]], [1])
    held = Holding(following(1), 1).hold(
        tree, np.array([[[1, 0]]], np.float32), np.array([[999.0, 1.0]])
    )
    np.testing.assert_allclose(held, 0.999, atol=1e-6)


def test_leaves_that_no_record_can_be_in_count_for_nothing():
    """Above the second cut and not above the first, there is nobody: unless values are missing."""
    questions = [(0, range(1, 5)), (0, range(3, 5)), (1, range(3, 5))]
    values = np.array([[[0, 1, 99, 5, 7, 8, -99, 9]]], np.float32)
    tree = asking([questions], [3])
    np.testing.assert_array_equal(Holding(following(1, 1), 1).hold(tree, values), values)
    tree = asking([[(0, range(1, 5)), (0, range(3, 6)), (1, range(3, 5))]], [3])
    held = Holding(following(1, 1), 1).hold(tree, values)[0, 0]
    assert held[0b010] <= held[0b110]


def test_features_that_are_not_asked_leave_trees_alone():
    trees, values = drawn(np.random.default_rng(1))
    once = Holding(following(1, -1, 0), 2).hold(trees, values)
    levels = np.arange(trees.feature.shape[1]) < trees.depth[:, None]
    unasked = ~(np.isin(trees.feature, [0, 1]) & levels).any(axis=1)
    assert unasked.any()
    np.testing.assert_array_equal(once[unasked], values[unasked])
    assert not np.array_equal(once, values)
