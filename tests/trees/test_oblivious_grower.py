"""The grower of oblivious trees: what it draws, and what it learns from released sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.trees.deepening import contrasts
from dpforest.trees.oblivious_grower import FEW_CATEGORIES, KEPT, QUESTIONS, ObliviousGrower
from dpforest.trees.ranges import ends_of
from dpforest.trees.structure import FeatureBins


def even_weights(bins):
    return tuple(
        None if categorical else np.ones(n - 1)
        for n, categorical in zip(bins.n_values, bins.categorical, strict=True)
    )


def make_bins(n_values, categorical=None):
    n_values = np.array(n_values)
    kinds = np.zeros(len(n_values), bool) if categorical is None else np.array(categorical)
    return FeatureBins(n_values, n_values + 1 + kinds, kinds)


def make_grower(bins, seed=0, weights=None, *, learnt=0.8, focus=1.0):
    rng = np.random.default_rng(seed)
    return ObliviousGrower(bins, weights or even_weights(bins), rng, learnt=learnt, focus=focus)


@st.composite
def feature_bins(draw):
    d = draw(st.integers(1, 7))
    n_values = draw(st.lists(st.integers(1, 12), min_size=d, max_size=d))
    return make_bins(n_values, draw(st.lists(st.booleans(), min_size=d, max_size=d)))


@settings(max_examples=80, deadline=None)
@given(feature_bins(), st.integers(1, 6), st.integers(0, 2**32))
def test_every_draw_keeps_the_rules(bins, depth, seed):
    trees = make_grower(bins, seed).draw(4, depth)
    usable = np.flatnonzero(bins.n_values > 1)
    assert (trees.depth == depth).all()
    for t in range(4):
        if len(usable):
            assert set(trees.feature[t]) <= set(usable)
        if depth <= len(usable):
            assert len(set(trees.feature[t])) == depth
        for feature, right in zip(trees.feature[t], trees.goes_right[t], strict=True):
            n = bins.n_values[feature]
            # Missing, unseen and all bins beyond share one coin.
            assert len(set(right[n:])) == 1
            if not bins.categorical[feature]:
                assert right[:n].tolist() == sorted(right[:n])
                assert n == 1 or 0 < right[:n].sum() < n
            elif n <= FEW_CATEGORIES:
                assert right[:n].sum() == 1


def test_large_category_sets_are_halved_at_random():
    """Each of 20 categories goes right half of the time; 5 standard deviations, fixed seed."""
    right = make_grower(make_bins([20], [True])).draw(2_000, 1).goes_right[:, 0, :20]
    share = right.mean(axis=0)
    assert (np.abs(share - 0.5) < 5 * 0.5 / np.sqrt(2_000)).all()


def test_missing_values_go_either_way():
    """A fair coin a level; 5 standard deviations, fixed seed."""
    right = make_grower(make_bins([4, 4])).draw(1_000, 2).goes_right[:, :, 4]
    assert abs(right.mean() - 0.5) < 5 * 0.5 / np.sqrt(right.size)


def test_cuts_are_drawn_by_their_weights():
    """5 standard deviations for each of four cuts, fixed seed; a cut of weight 0 never comes."""
    weights = np.array([4.0, 0.0, 2.0, 1.0])
    grower = make_grower(make_bins([5]), weights=(weights,))
    n_left = 5 - grower.draw(7_000, 1).goes_right[:, 0, :5].sum(axis=1)
    counts = np.bincount(n_left - 1, minlength=4)
    expected = 1_000 * weights
    assert (np.abs(counts - expected) <= 5 * np.sqrt(expected)).all()


def released(grower, trees, weights, noise=1.0, seed=0):
    """Leaf sums of a record-free world in which only some features move the gradients."""
    rng = np.random.default_rng(seed)
    n_leaves = 1 << trees.feature.shape[1]
    gradients = rng.normal(0, noise, (trees.n_trees, n_leaves, 1))
    leaf = np.arange(n_leaves)
    for k in range(trees.feature.shape[1]):
        sign = np.where(leaf >> k & 1, 1.0, -1.0)
        gradients[:, :, 0] += weights[trees.feature[:, k]][:, None] * sign
    return gradients


def test_a_feature_with_signal_is_drawn_more_often():
    d = 8
    grower = make_grower(make_bins([6] * d))
    weights = np.zeros(d)
    weights[3] = 5.0
    np.testing.assert_allclose(grower.feature_shares, 1 / d)
    for round_ in range(10):
        trees = grower.draw(20, 3)
        grower.learn(trees, contrasts(released(grower, trees, weights, seed=round_)), 1.0)
    assert grower.feature_shares.argmax() == grower.signal.argmax() == 3
    assert grower.feature_shares[3] > 3 / d
    assert (grower.draw(300, 3).feature == 3).any(axis=1).mean() > 0.9
    # No feature is given up: it may show something later.
    assert grower.feature_shares.min() > 0.1 / d


def test_control_noise_alone_favours_no_feature():
    """After 600 questions of pure noise no share is far from even; fixed seed."""
    d = 6
    grower = make_grower(make_bins([6] * d))
    for round_ in range(10):
        trees = grower.draw(20, 3)
        grower.learn(trees, contrasts(released(grower, trees, np.zeros(d), seed=round_)), 1.0)
    assert grower.feature_shares.max() < 2.5 / d


@settings(max_examples=60, deadline=None)
@given(
    feature_bins(),
    st.integers(1, 4),
    st.floats(0, 1e12),
    st.floats(1e-6, 1e6),
    st.floats(0, 1),
    st.floats(0.25, 4),
    st.integers(0, 2**32),
)
def test_shares_sum_to_one_and_leave_out_what_cannot_be_cut(
    bins, depth, size, deviation, learnt, focus, seed
):
    grower = make_grower(bins, seed, learnt=learnt, focus=focus)
    trees = grower.draw(5, depth)
    gradients = size * np.random.default_rng(seed).normal(size=(5, 1 << depth, 2))
    grower.learn(trees, contrasts(gradients), deviation)
    shares = grower.feature_shares
    assert shares.sum() == pytest.approx(1)
    assert (shares >= 0).all()
    assert (grower.signal >= 0).all()
    if (bins.n_values > 1).any():
        assert (shares[bins.n_values == 1] == 0).all()
    assert grower.draw(3, depth).n_trees == 3


def test_focus_sharpens_what_was_learnt():
    bins = make_bins([6] * 4)
    favourite = []
    for focus in (0.5, 1.0, 2.0):
        grower = make_grower(bins, focus=focus)
        trees = grower.draw(40, 2)
        sums = released(grower, trees, np.array([4.0, 2.0, 0.0, 0.0]))
        grower.learn(trees, contrasts(sums), 1.0)
        favourite.append(grower.feature_shares[0])
    assert favourite == sorted(favourite)
    assert favourite[0] < favourite[-1] - 0.1


@pytest.mark.parametrize("learnt", [0.0, 0.8, 1.0])
def test_without_signal_or_noise_the_shares_are_even(learnt):
    bins = make_bins([4, 4])
    grower = make_grower(bins, learnt=learnt)
    trees = grower.draw(3, 1)
    grower.learn(trees, contrasts(np.zeros((3, 2, 1))), 0.0)
    np.testing.assert_allclose(grower.feature_shares, 0.5)


def test_the_same_stream_draws_the_same_trees():
    bins = make_bins([5, 9, 3], [False, True, True])
    one, two = (make_grower(bins, seed=7).draw(6, 3) for _ in range(2))
    np.testing.assert_array_equal(one.goes_right, two.goes_right)
    np.testing.assert_array_equal(one.feature, two.feature)


# Chosen questions


def choosing_grower(bins, levels, seed=0, asking=0.6, candidate_trees=0):
    choices = {"chosen_levels": levels, "asking": asking, "candidate_trees": candidate_trees}
    rng = np.random.default_rng(seed)
    return ObliviousGrower(bins, even_weights(bins), rng, learnt=0.0, focus=1.0, **choices)


def test_candidates_are_questions_of_every_usable_feature():
    bins = make_bins([5, 1, 3, 4], [False, False, True, False])
    candidates = make_grower(bins).candidates()
    assert (candidates.depth == 1).all()
    assert np.bincount(candidates.feature[:, 0], minlength=4).tolist() == [
        QUESTIONS, 0, QUESTIONS, QUESTIONS,
    ]  # fmt: skip
    for feature, right in zip(candidates.feature[:, 0], candidates.goes_right[:, 0], strict=True):
        n = bins.n_values[feature]
        assert 0 < right[:n].sum() < n
        assert len(set(right[n:])) == 1


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 4), st.integers(1, 20), st.integers(1, 7), st.floats(0, 1), st.integers(0, 99)
)
def test_chosen_questions_are_asked_by_their_share_of_trees(
    levels, n_chosen, n_trees, asking, seed
):
    grower = choosing_grower(make_bins([6] * 9), levels, seed, asking)
    candidates = grower.candidates()
    for i in range(n_chosen):
        grower.keep(candidates[i : i + 1])
    kept = range(max(0, n_chosen - (KEPT if levels <= 3 else 2 * KEPT)), n_chosen)
    asked = {(candidates.feature[i, 0], candidates.goes_right[i, 0].tobytes()) for i in kept}
    trees = grower.draw(n_trees, 4)
    n_levels = min(levels, len(kept), 4)
    for t in range(round(asking * n_trees)):
        questions = [
            (trees.feature[t, k], trees.goes_right[t, k].tobytes()) for k in range(n_levels)
        ]
        assert set(questions) <= asked
        assert len(set(questions)) == n_levels or len(asked) < len(kept)


@pytest.mark.parametrize(("levels", "depth"), [(2, 4), (4, 4), (4, 2)])
def test_chosen_trees_are_asked_with_all_their_questions(levels, depth):
    grower = choosing_grower(make_bins([6] * 9, [True] * 9), levels, candidate_trees=20)
    candidates = grower.candidates()
    assert candidates.feature.shape == (20, levels)
    for i in range(KEPT + 2):
        grower.keep(candidates[i : i + 1])
    k = min(levels, depth)
    trees, known = grower.draw(100, depth), slice(2, KEPT + 2)
    same = (trees.feature[:, None, :k] == candidates.feature[None, known, :k]).all(axis=2)
    right = trees.goes_right[:, None, :k] == candidates.goes_right[None, known, :k]
    of_one = same & right.all(axis=(2, 3))
    assert of_one[:60].any(axis=1).all()
    assert of_one[:60].any(axis=0).all()
    assert not of_one[60:].any()


def test_candidate_trees_have_no_more_levels_than_features_to_ask():
    grower = choosing_grower(make_bins([6, 1, 3], [True] * 3), 4, candidate_trees=5)
    assert grower.candidates().feature.shape == (5, 2)


def test_without_choices_nothing_changes():
    one, other = choosing_grower(make_bins([6] * 5), 0), make_grower(make_bins([6] * 5), learnt=0.0)
    assert (one.draw(4, 3).goes_right == other.draw(4, 3).goes_right).all()


def test_features_that_act_together_come_together_where_that_is_asked_for():
    """Exclusive or of two of eight features: single answers tell nothing of it."""
    bins = make_bins([2] * 8)
    share = {}
    for together in (False, True):
        rng = np.random.default_rng(0)
        grower = ObliviousGrower(
            bins, even_weights(bins), rng, learnt=0.95, focus=1.0, together=together
        )
        asks_both = []
        for _ in range(200):
            trees = grower.draw(5, 3)
            both = (trees.feature == 2).any(axis=1) & (trees.feature == 5).any(axis=1)
            answers = np.arange(8) >> np.arange(3)[:, None] & 1
            levels = ((trees.feature == 2) | (trees.feature == 5)) & both[:, None]
            sums = np.where(levels @ answers % 2, 5.0, -5.0) * both[:, None]
            shown = sums[:, :, None] + rng.uniform(-1, 1, (5, 8, 1))
            grower.learn(trees, contrasts(shown), 3**-0.5)
            asks_both.append(both.mean())
        share[together] = np.mean(asks_both[100:])
    assert share[False] < 0.2
    assert share[True] > 0.3


def test_weak_effects_of_cuts_are_learnt_from_their_signs_where_that_is_asked_for():
    """A third of the noise of a tree: squares tell next to nothing of it, sums of many trees do."""
    bins, share = make_bins([16] * 6), {}
    for together in (False, True):
        rng, asked = np.random.default_rng(0), []
        options = {"learnt": 0.95, "focus": 4.0, "memory": 0.95, "learnt_cuts": 0.9}
        grower = ObliviousGrower(bins, even_weights(bins), rng, together=together, **options)
        for _ in range(200):
            trees = grower.draw(3, 2)
            cut, end = trees.goes_right.argmax(axis=2) - 1, ends_of(trees, bins)
            at_cut, at_end = (np.maximum(1.0 - np.abs(at - 11) / 4.0, 0.0) for at in (cut, end))
            effect = np.where(trees.feature == 4, at_cut - at_end, 0.0)
            right = np.where(np.arange(4) >> np.arange(2)[:, None] & 1, 0.5, -0.5)
            noise = np.sqrt(3.0) * rng.uniform(-1, 1, (3, 4))
            shown = (0.35 * effect @ right * 2.0 + noise)[:, :, None]
            grower.learn(trees, contrasts(shown), 1.0)
            near = np.minimum(np.abs(cut - 11), np.abs(end - 11)) <= 2
            asked.append(((trees.feature == 4) & near).mean())
        share[together] = np.mean(asked[100:])
    assert share[True] > 2.0 * share[False]


def taught(effect, monotone=None, n_rounds=150):
    """A grower that has seen a feature with that effect on its bins, among others without any."""
    bins = make_bins([16] * 4)
    rng = np.random.default_rng(0)
    grower = ObliviousGrower(
        bins,
        even_weights(bins),
        rng,
        learnt=0.95,
        focus=4.0,
        learnt_cuts=0.9,
        together=True,
        monotone=monotone,
    )
    for round_ in range(n_rounds):
        trees = grower.draw(5, 3)
        gradients = np.random.default_rng(round_).normal(0, 1.0, (5, 8, 1))
        for t, k in np.argwhere(trees.feature == 0):
            sign = np.where(np.arange(8) >> k & 1, 1.0, -1.0)
            signs = np.where(trees.goes_right[t, k, :16], 1.0, -1.0)
            gradients[t, :, 0] += (signs @ effect) * sign / 8
        grower.learn(trees, contrasts(gradients), 1.0)
    return grower


def share_of_ranges(grower):
    """Of the questions about the first feature, those that ask for a range."""
    trees = grower.draw(2_000, 3)
    right = trees.goes_right[trees.feature == 0][:, :16]
    return float((~right[:, -1]).mean())


def test_ranges_are_asked_for_where_an_effect_goes_up_and_down():
    hump = np.where(np.abs(np.arange(16) - 7.5) < 4, 3.0, -3.0)
    line = np.linspace(-4.0, 4.0, 16)
    assert share_of_ranges(taught(hump)) > 0.5 > 0.2 > share_of_ranges(taught(line))


def test_features_that_a_model_follows_are_never_asked_for_a_range():
    """A model that has to rise along a feature learns nothing from a range."""
    hump = np.where(np.abs(np.arange(16) - 7.5) < 4, 3.0, -3.0)
    grower = taught(hump, monotone=np.array([True, False, False, False]))
    assert share_of_ranges(grower) == 0.0


def test_without_noise_nothing_to_learn_is_no_trouble():
    bins = FeatureBins(np.array([16, 16]), np.array([17, 17]), np.zeros(2, np.bool_))
    weights = np.ones(15), np.ones(15)
    rng = np.random.default_rng(0)
    grower = ObliviousGrower(
        bins, weights, rng, learnt=0.95, focus=4.0, memory=0.95, learnt_cuts=0.9, together=True
    )
    for _ in range(5):
        trees = grower.draw(2, 2)
        grower.learn(trees, np.zeros((2, 4, 1)), 0.0)
    assert np.isfinite(grower.feature_shares).all()
