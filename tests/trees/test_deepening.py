"""Trees deepen where many answers act together, and not by chance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.trees.deepening import Deepening, contrasts
from dpforest.trees.oblivious import MAX_DEPTH


def sums(depth, leaf_means, rng, n_trees=50, n_outputs=1):
    noise = rng.standard_normal((n_trees, 1 << depth, n_outputs))
    return leaf_means(np.arange(1 << depth))[None, :, None] + noise


def single_answers(leaf):
    return 5.0 * (2.0 * (leaf & 1) - 1.0)


def parity(leaf):
    return np.array([5.0 * (-1.0) ** int(number).bit_count() for number in leaf])


def trained(depth, leaf_means, rounds=20, seed=0, deviation=1.0):
    rng, deepening = np.random.default_rng(seed), Deepening(depth)
    for _ in range(rounds):
        shown = deviation * sums(deepening.depth, leaf_means, rng)
        deepening.learn(contrasts(shown), deviation)
    return deepening


@given(depth=st.integers(1, 6), seed=st.integers(0, 99))
def test_contrasts_keep_all_energy(depth, seed):
    leaves = np.random.default_rng(seed).standard_normal((3, 1 << depth, 2))
    np.testing.assert_allclose((contrasts(leaves) ** 2).sum(1), (leaves**2).sum(1))


@pytest.mark.parametrize("level", range(4))
def test_one_answer_is_one_contrast_of_the_first_order(level):
    leaves = np.where(np.arange(16) >> level & 1, 1.0, -1.0)[None, :, None]
    found = np.flatnonzero(np.abs(contrasts(leaves)[0, :, 0]) > 1e-9)
    assert found.tolist() == [1 << level]


def test_what_single_answers_say_needs_no_depth():
    deepening = trained(4, single_answers)
    assert deepening.depth == 4
    assert not deepening.structured


def test_what_all_answers_say_together_gets_all_depth_there_is():
    deepening = trained(3, parity)
    assert deepening.depth == MAX_DEPTH
    assert deepening.structured


def test_noise_is_no_reason():
    # 100 fits of 20 looks at 3 standard errors, of which neighbours share most trees:
    # one look alone would deepen 0.13 in 100; the bound is far above.
    deepened = sum(trained(4, np.zeros_like, seed=seed).depth > 4 for seed in range(100))
    assert deepened <= 10


def test_only_the_ratio_to_the_noise_matters():
    loud, quiet = trained(3, parity, deviation=100.0), trained(3, parity, deviation=0.01)
    assert loud.depth == quiet.depth
    assert loud.structured == quiet.structured


def test_without_noise_the_shares_alone_decide():
    single, all_together = Deepening(4), Deepening(4)
    for _ in range(3):
        for deepening, leaf_means in ((single, single_answers), (all_together, parity)):
            means = leaf_means(np.arange(1 << deepening.depth)).astype(float)
            deepening.learn(contrasts(np.repeat(means[None, :, None], 50, axis=0)), 0.0)
    assert (single.depth, all_together.depth) == (4, 7)


def test_there_is_an_end_to_it():
    rng, deepening = np.random.default_rng(0), Deepening(3, deepest=3)
    for _ in range(5):
        deepening.learn(contrasts(sums(3, parity, rng)), 1.0)
    assert (deepening.depth, deepening.structured) == (3, True)
