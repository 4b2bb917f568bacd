"""Random bits: exact uniforms, repeatable seeds, refills that do not bias."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpforest.privacy.mechanisms import randomness
from dpforest.privacy.mechanisms.noise import discrete_gaussian, discrete_laplace
from dpforest.privacy.mechanisms.randomness import RandomBits
from dpforest.privacy.mechanisms.selection import exponential_mechanism, permute_and_flip

# Probability that a correct sampler fails one chi-square test of this file (seeds are fixed).
ERROR_RATE = 1e-6


def test_seeded_words_repeat_and_secure_words_do_not():
    assert (RandomBits(3).words(50) == RandomBits(3).words(50)).all()
    assert (RandomBits(3).words(50) != RandomBits(4).words(50)).any()
    assert (RandomBits().words(50) != RandomBits().words(50)).any()
    assert RandomBits(3).reproducible
    assert not RandomBits().reproducible
    assert RandomBits(np.random.SeedSequence(3)).reproducible


def test_the_stream_does_not_depend_on_how_it_is_cut():
    bits = RandomBits(3)
    pieces = np.concatenate([bits.words(n) for n in (1, 0, 7, 42)])
    assert (pieces == RandomBits(3).words(50)).all()


@pytest.mark.parametrize("m", [1, 2, 3, 7, 256, 1000])
def test_uniform_below_is_uniform(m):
    draws = RandomBits(1).uniform_below(m, 100_000)
    assert draws.dtype == np.int64
    assert draws.min() >= 0
    assert draws.max() < m
    if m > 1:
        assert stats.chisquare(np.bincount(draws, minlength=m)).pvalue > ERROR_RATE


def test_remainders_of_bytes_would_be_caught():
    broken = RandomBits(1).words(12_500).view(np.uint8) % 100
    assert stats.chisquare(np.bincount(broken, minlength=100)).pvalue < ERROR_RATE


def test_uniform_below_large_and_empty():
    assert RandomBits(1).uniform_below(1 << 62, 10).max() > 1 << 58
    assert RandomBits(1).uniform_below(5, 0).shape == (0,)


@pytest.mark.parametrize("m", [0, -1, (1 << 62) + 1])
def test_uniform_below_refuses_bad_ranges(m):
    with pytest.raises(ValueError, match=r"between 1 and 2\*\*62"):
        RandomBits().uniform_below(m, 1)


SAMPLERS = {
    "words": lambda bits: bits.words(50),
    "uniform_below": lambda bits: bits.uniform_below(1000, 50),
    "laplace": lambda bits: discrete_laplace(3, 500, bits),
    "gaussian": lambda bits: discrete_gaussian(40, 500, bits),
    "permute_and_flip": lambda bits: permute_and_flip(
        np.tile([3, 1, 2, 0], (200, 1)), epsilon=1, sensitivity=1, monotone=True, bits=bits
    ),
    "exponential": lambda bits: exponential_mechanism(
        np.tile([3, 1, 2, 0], (200, 1)), epsilon=1, sensitivity=1, monotone=True, bits=bits
    ),
}


@pytest.mark.parametrize("name", list(SAMPLERS)[2:])
def test_an_interrupted_draw_goes_on_with_the_same_bytes(name, monkeypatch):
    whole = SAMPLERS[name](RandomBits(5))
    monkeypatch.setattr(randomness, "_LARGEST_REFILL_WORDS", 1)
    assert (SAMPLERS[name](RandomBits(5)) == whole).all()


@pytest.mark.parametrize("name", SAMPLERS)
def test_without_a_seed_the_operating_system_decides_and_nothing_else(name, monkeypatch):
    stream = np.random.Philox(5)
    monkeypatch.setattr(
        randomness.os, "urandom", lambda n: np.asarray(stream.random_raw(n // 8)).tobytes()
    )
    drawn = SAMPLERS[name](RandomBits())
    assert (drawn == SAMPLERS[name](RandomBits(5))).all()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**63), m=st.integers(1, 2**62))
def test_uniform_below_stays_in_range(seed, m):
    draws = RandomBits(seed).uniform_below(m, 20)
    assert ((draws >= 0) & (draws < m)).all()
