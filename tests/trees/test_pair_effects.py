"""Which numeric features act together, and at which cuts: learnt from signs as well."""

import numpy as np
import pytest

from dpforest.trees.deepening import contrasts
from dpforest.trees.pair_effects import PairEffects

CUTS = 15


def shown(together, n_rounds, size=0.5, n_features=5, seed=0, n_outputs=1):
    """What is learnt where two features act together, in leaves with noise of variance 1."""
    rng, pairs = np.random.default_rng(seed), PairEffects(np.full(n_features, CUTS))
    even, leaf = np.full((n_features, CUTS), 1 / CUTS), np.arange(8)
    for _ in range(n_rounds):
        feature = rng.random((3, n_features)).argsort(axis=1)[:, :3]
        cut = rng.integers(0, CUTS, (3, 3))
        sums = np.sqrt(3.0) * rng.uniform(-1, 1, (3, 8, n_outputs))
        for tree, asked in enumerate(feature.tolist()):
            if set(together) <= set(asked):
                one, other = (asked.index(f) for f in together)
                answers = (leaf >> one & 1) == (leaf >> other & 1)
                places = (cut[tree, [one, other]] + 1) / (CUTS + 1)
                peak = np.prod(4.0 * places * (1.0 - places))
                sums[tree] += (size * peak * np.where(answers, 1.0, -1.0))[:, None]
        pairs.learn(feature, cut, np.full((3, 3), -1), contrasts(sums), 1.0, lambda: even)
    return pairs


@pytest.mark.parametrize("together", [(0, 1), (1, 4), (3, 2)])
def test_the_pair_that_acts_together_is_found(together):
    pairs = shown(together, 200, size=0.7)
    one, other = sorted(together)
    signal = np.triu(pairs.signal)
    assert np.unravel_index(signal.argmax(), signal.shape) == (one, other)
    others = np.delete(signal[np.triu_indices(5, 1)], signal[np.triu_indices(5, 1)].argmax())
    assert signal.max() > 4.0 * others.max()


def test_it_is_found_in_the_middle_where_it_is():
    pairs = shown((0, 1), 200)
    assert pairs.cut_signal[0, 7] > 2.0 * pairs.cut_signal[0, [0, 14]].max()
    assert pairs.cut_signal[:2].mean() > 4.0 * pairs.cut_signal[2:].mean()


def test_a_pair_is_the_same_whichever_level_asks_first():
    rng = np.random.default_rng(0)
    feature, cut = np.array([[0, 2]]), np.array([[3, 11]])
    sums = rng.uniform(-3, 3, (1, 4, 1))
    even = np.full((3, CUTS), 1 / CUTS)
    one, other = PairEffects(np.full(3, CUTS)), PairEffects(np.full(3, CUTS))
    asked = feature, cut, np.array([[-1, 5]])
    one.learn(*asked, contrasts(sums), 1.0, lambda: even)
    turned = [of_levels[:, ::-1] for of_levels in asked]
    other.learn(*turned, contrasts(sums[:, [0, 2, 1, 3]]), 1.0, lambda: even)
    np.testing.assert_allclose(one.signal, other.signal)
    np.testing.assert_allclose(one.cut_signal, other.cut_signal)
    np.testing.assert_array_equal(one.signal, one.signal.T)


def test_the_signal_is_the_mean_square_at_the_cuts_that_are_drawn():
    """Exact: with no more than is known, the energy is the known contrast, squared and averaged."""
    pairs = shown((0, 1), 60, size=2.0, n_features=3)
    shares = np.zeros((3, CUTS))
    shares[[0, 1, 2], [4, 9, 7]] = 1.0
    pairs._look(shares)
    mean, _ = pairs._known.posterior()
    rows = np.outer(pairs._curves[0, 4], pairs._curves[1, 9]).ravel()
    expected = float(rows @ mean[pairs._number[0, 1]][:, 0]) ** 2 / 8
    assert pairs.signal[0, 1] == pytest.approx(expected)
    third = np.outer(pairs._curves[0, 4], pairs._curves[2, 7]).ravel()
    with_third = float(third @ mean[pairs._number[0, 2]][:, 0]) ** 2 / 8
    assert pairs.cut_signal[0, 4] == pytest.approx(expected + with_third)


def test_levels_that_are_no_cuts_teach_nothing():
    pairs = PairEffects(np.array([CUTS, 0, CUTS]))
    even = np.full((3, CUTS), 1 / CUTS)
    sums = np.array([[9.0, -9.0, -9.0, 9.0]])[:, :, None]
    none = np.array([[-1, -1]])
    pairs.learn(np.array([[0, 1]]), np.array([[3, -1]]), none, contrasts(sums), 1.0, lambda: even)
    pairs.learn(np.array([[2, 2]]), np.array([[3, 5]]), none, contrasts(sums), 1.0, lambda: even)
    assert not pairs.signal.any()
    assert pairs.typical == 0.0


def test_several_outputs_count_by_their_mean_square():
    """Both outputs show the same effect: as much as one alone shows."""
    one, two = (shown((0, 1), 200, size=1.0, n_outputs=k).signal[0, 1] for k in (1, 2))
    assert two == pytest.approx(one, rel=0.4)


def test_a_range_does_what_its_ends_do_less_each_other():
    """Exact: asked up to another cut, a pair teaches the difference of the curves at both."""
    even, sums = np.full((2, CUTS), 1 / CUTS), np.array([[9.0, -9.0, -9.0, 9.0]])[:, :, None]
    pairs = PairEffects(np.full(2, CUTS))
    pairs.learn(
        np.array([[0, 1]]),
        np.array([[3, 8]]),
        np.array([[10, -1]]),
        contrasts(sums),
        1.0,
        lambda: even,
    )
    curves = pairs._curves
    row = np.outer(curves[0, 3] - curves[0, 10], curves[1, 8]).ravel() / 2.0
    np.testing.assert_allclose(pairs._known._precision[0], np.outer(row, row))
    between = pairs.between(np.array([0]), np.array([3]))[0]
    assert between[3] == 0.0
    assert between.argmax() in (9, 10, 11)
