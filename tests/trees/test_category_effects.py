"""Categories that behave alike go together, as soon as released contrasts say which do."""

import numpy as np
import pytest

from dpforest.trees.category_effects import LEARNT, MOST, CategoryEffects
from dpforest.trees.structure import FeatureBins

SUMS = np.array([3.0, -2.0, 0.5, -4.0, 2.5])
ORDER = np.argsort(SUMS)


def bins(*n_values):
    n = np.array(n_values)
    return FeatureBins(n, n + 2, np.ones(len(n), np.bool_))


def halves(rng, n, n_bins=256):
    return rng.random((n, n_bins)) < 0.5


def learnt(n_questions, deviation, sums=SUMS[:, None], seed=0):
    """Effects of one feature, from random questions whose contrasts have that noise."""
    rng = np.random.default_rng(seed)
    effects = CategoryEffects(bins(len(sums)), rng)
    right = halves(rng, n_questions)
    contrast = np.where(right[:, : len(sums)], 1.0, -1.0) @ sums / 2.0  # of four leaves
    contrast += deviation * rng.standard_normal(contrast.shape)
    effects.learn(np.zeros(n_questions, int), right, contrast, 4, deviation)
    return effects


def is_cut_of_order(right):
    """Whether the categories that go right are the last ones, or the first, in the true order."""
    return (np.diff(right[:, ORDER].astype(int), axis=1) != 0).sum(axis=1) == 1


def parted(effects, rounds=400):
    """Questions of so many rounds: sums are drawn once a round."""
    nobody = np.zeros((10, 256), np.bool_)
    return np.vstack([effects.part(np.zeros(10, int), nobody)[:, :5] for _ in range(rounds)])


def test_what_is_known_exactly_is_cut_in_its_order():
    """All but the questions that are left to chance, which nobody answers with yes here."""
    right = parted(learnt(60, 0.0))
    follows = right.any(axis=1)
    assert follows.mean() == pytest.approx(LEARNT, abs=5 * 0.5 / np.sqrt(len(right)))
    assert is_cut_of_order(right[follows]).all()
    assert set(right[follows].sum(axis=1)) == {1, 2, 3, 4}  # never all or none


def test_the_more_noise_the_less_the_order_counts():
    shares = []
    for deviation in (0.3, 3.0, 1e3):
        right = parted(learnt(60, deviation))
        shares.append(is_cut_of_order(right[right.any(axis=1)]).mean())
    assert shares == sorted(shares, reverse=True)
    # By chance: one in five, ten, ten and five sets of one to four categories, or its opposite.
    assert shares[2] == pytest.approx(0.3, abs=0.1)


def test_outputs_are_looked_at_from_all_sides():
    """Two outputs that order the categories differently: both orders are cut."""
    sums = np.stack([SUMS, np.array([1.0, 2.0, 3.0, 4.0, 5.0]) - 3.0], axis=1)
    right = parted(learnt(60, 0.0, sums))
    right = right[right.any(axis=1)]
    by_second = (np.diff(right.astype(int), axis=1) != 0).sum(axis=1) == 1
    for by_one in (is_cut_of_order(right), by_second):
        assert by_one.any()
        assert not by_one.all()


@pytest.mark.parametrize("n_values", [2, MOST + 1])
def test_two_categories_and_very_many_are_left_to_chance(n_values):
    rng = np.random.default_rng(0)
    effects = CategoryEffects(bins(n_values, 4), rng)
    right = halves(rng, 50)
    feature = np.repeat([0, 1], 25)
    effects.learn(feature, right, rng.standard_normal((50, 1)), 2, 1.0)
    after = effects.part(feature, right)
    np.testing.assert_array_equal(after[:25], right[:25])
    assert (after[25:] != right[25:]).any()


def test_a_feature_that_was_never_asked_for_is_cut_at_random():
    rng = np.random.default_rng(0)
    effects = CategoryEffects(bins(5, 5), rng)
    effects.learn(np.zeros(3, int), halves(rng, 3), np.ones((3, 1)), 2, 1.0)
    right = effects.part(np.ones(500, int), np.zeros((500, 256), np.bool_))[:, :5]
    sizes = right.sum(axis=1)
    assert set(sizes[sizes > 0]) == {1, 2, 3, 4}


def test_bins_of_no_value_are_left_to_the_caller():
    right = learnt(60, 0.0).part(np.zeros(100, int), np.ones((100, 256), np.bool_))
    assert right[:, 5:].all()


def test_rounding_does_not_order_what_no_question_parted():
    """Machines round differently, and a model without noise has to be the same on all of them."""
    rng, drawn = np.random.default_rng(0), []
    right = halves(rng, 5)[:, :24]
    right[:, 12:] = right[:, :12]  # every category has a twin, and there are few questions
    contrast = rng.uniform(-1, 1, (5, 1))
    for rounding in (0.0, 2e-16, -2e-16):
        effects = CategoryEffects(bins(24), np.random.default_rng(1))
        effects.learn(np.zeros(5, int), right, contrast, 4, 0.0)
        effects._pull *= 1.0 + rounding * np.random.default_rng(2).uniform(-1, 1, (24, 1))
        effects._precision[0] *= 1.0 + rounding * np.random.default_rng(3).uniform(-1, 1, (24, 24))
        drawn.append(effects.part(np.zeros(200, int), halves(np.random.default_rng(4), 200)))
    np.testing.assert_array_equal(drawn[0], drawn[1])
    np.testing.assert_array_equal(drawn[0], drawn[2])
