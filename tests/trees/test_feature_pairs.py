"""Features that act together are drawn together; all others as if there were no pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.trees.deepening import contrasts
from dpforest.trees.feature_pairs import FeaturePairs


def leaf_sums(answers, depth, size=9.0):
    """The leaves of a tree whose sums follow the exclusive or of some of its answers."""
    leaf = np.arange(1 << depth)
    odd = sum(leaf >> level & 1 for level in answers) % 2
    return size * np.where(odd, 1.0, -1.0)[None, :, None]


def categories(n_features):
    """Pairs of features without an order: all that is known of them are squares."""
    return FeaturePairs(np.zeros(n_features, np.int64))


def learn(pairs, asked, gradients, noise):
    no_shares, none = np.zeros((len(pairs.signal), 1)), np.full(asked.shape, -1)
    pairs.learn(asked, none, none, contrasts(gradients), noise, lambda: no_shares)


def draw(pairs, promise, n_trees=2000, depth=2, seed=0, learnt=1.0, focus=1.0, usable=None):
    usable = np.ones(len(promise), np.bool_) if usable is None else usable
    known = np.asarray(promise, float), usable, learnt, focus
    return pairs.draw(*known, (n_trees, depth), np.random.default_rng(seed))


def share_of(drawn, one, other):
    """Of the trees, how many ask both."""
    return ((drawn == one).any(axis=1) & (drawn == other).any(axis=1)).mean()


@pytest.mark.parametrize("answers", [(0, 1), (0, 2), (1, 2)])
def test_only_the_pair_that_acts_together_is_learnt(answers):
    pairs, asked = categories(6), np.array([[4, 2, 5]])
    learn(pairs, asked, leaf_sums(answers, 3), 0.0)
    drawn = draw(pairs, np.full(6, 1e-6))
    together = {
        (one, other): share_of(drawn, one, other) for one in range(6) for other in range(one)
    }
    one, other = sorted(asked[0, list(answers)])
    # Whoever drew one of the two first, two times of six, draws the other next.
    assert together.pop((other, one)) == pytest.approx(1 / 3, abs=0.05)
    assert max(together.values()) < 0.1


@pytest.mark.parametrize("answers", [(0,), (0, 1, 2)])
def test_what_answers_say_alone_or_all_three_together_is_no_pair(answers):
    taught, fresh = categories(5), categories(5)
    learn(taught, np.array([[0, 1, 2]]), leaf_sums(answers, 3), 0.0)
    promise = np.arange(1.0, 6.0)
    np.testing.assert_array_equal(draw(taught, promise), draw(fresh, promise))


def test_noise_alone_draws_no_pair():
    """Its square is taken off; what is left of it, over many trees, is little."""
    rng, pairs = np.random.default_rng(0), categories(4)
    asked = np.repeat([[0, 1]], 20_000, axis=0)
    learn(pairs, asked, rng.uniform(-(3**0.5), 3**0.5, (20_000, 4, 1)), 1.0)
    assert share_of(draw(pairs, np.full(4, 0.5)), 0, 1) == pytest.approx(1 / 6, abs=0.04)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 8), st.data())
def test_a_tree_asks_different_usable_features(n_features, data):
    usable = np.array(data.draw(st.lists(st.booleans(), min_size=n_features, max_size=n_features)))
    usable[data.draw(st.integers(0, n_features - 1))] = True
    depth = data.draw(st.integers(1, int(usable.sum())))
    pairs, rng = categories(n_features), np.random.default_rng(data.draw(st.integers(0, 99)))
    learn(pairs, rng.integers(0, n_features, (3, 2)), rng.uniform(-9, 9, (3, 4, 2)), 1.0)
    learnt, focus = data.draw(st.sampled_from([0.0, 0.8, 1.0])), data.draw(st.floats(0.5, 4.0))
    drawn = draw(pairs, rng.random(n_features) + 1e-9, 20, depth, 0, learnt, focus, usable)
    assert usable[drawn].all()
    assert all(len(set(tree)) == depth for tree in drawn.tolist())


def test_without_pairs_features_are_drawn_by_promise():
    drawn = draw(categories(3), [1.0, 2.0, 5.0], n_trees=20_000, depth=1)
    np.testing.assert_allclose(
        np.bincount(drawn.ravel()) / 20_000, [1 / 8, 2 / 8, 5 / 8], atol=0.02
    )
    even = draw(categories(3), [1.0, 2.0, 5.0], n_trees=20_000, depth=1, learnt=0.0)
    np.testing.assert_allclose(np.bincount(even.ravel()) / 20_000, 1 / 3, atol=0.02)


def test_what_was_learnt_long_ago_fades():
    pairs, asked = categories(4), np.array([[0, 1]])
    learn(pairs, asked, leaf_sums((0, 1), 2), 0.0)
    for _ in range(200):
        learn(pairs, asked, np.zeros((1, 4, 1)), 0.0)
    assert share_of(draw(pairs, np.full(4, 1.0)), 0, 1) == pytest.approx(1 / 6, abs=0.04)


def test_features_that_showed_next_to_nothing_are_still_drawn_once_the_others_are():
    """Powers of what they showed vanish beside that of the first; nothing is divided by 0."""
    drawn = draw(categories(3), [1.0, 1e-200, 1e-201], n_trees=50, depth=3, focus=4.0)
    np.testing.assert_array_equal(np.sort(drawn, axis=1), np.tile([0, 1, 2], (50, 1)))
    assert (drawn[:, 0] == 0).all()


def test_ranges_do_together_what_cuts_do_by_as_many_features_as_a_tree_meets():
    """A tree of depth 3 meets two of four other features, one of depth 2 a single one."""
    rng, pairs, even = np.random.default_rng(0), FeaturePairs(np.full(5, 9)), np.full((5, 9), 1 / 9)
    asked, cut = np.array([[0, 3]]), np.array([[4, 4]])
    for _ in range(50):
        sums = leaf_sums((0, 1), 2, 3.0) + rng.uniform(-1, 1, (1, 4, 1))
        pairs.learn(asked, cut, np.full((1, 2), -1), contrasts(sums), 1.0, lambda: even)
    feature, places = np.array([0, 1]), np.array([4, 4])
    shallow, deep = (pairs.between(depth, feature, places) for depth in (2, 3))
    np.testing.assert_allclose(deep, 2.0 * shallow)
    np.testing.assert_allclose(pairs.at_cuts(3), 2.0 * pairs.at_cuts(2))
    # From the middle to an end a range does next to what the cut in the middle does alone.
    assert shallow[0, 8] > 0.3 * pairs.at_cuts(2)[0, 4] > shallow[0, 4] == 0.0
    assert not shallow[1].any()
