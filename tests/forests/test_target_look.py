"""Where a target lies, from noisy counts: within its range, and near the truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.forests.target_look import TargetLook, bulk, moments, standing_out


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1e4, 1e4), min_size=2, max_size=64),
    st.floats(1, 1e5),
    st.floats(0, 1e3),
    st.floats(-1e3, 1e3),
    st.floats(1e-2, 1e3),
)
def test_whatever_the_noise_all_lies_within_the_range(counts, n_records, deviation, low, width):
    shares = standing_out(np.array(counts), deviation, n_records)
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1)
    from_, to = bulk(shares)
    assert 0 <= from_ < to <= len(counts)
    mean, spread = moments(shares, low, low + width)
    assert low <= mean <= low + width
    assert 0 < spread <= width


def test_moments_of_the_widest_range():
    mean, deviation = moments(np.full(64, 1 / 64), 0.0, 1.7e308)
    assert mean == pytest.approx(0.85e308)
    assert deviation == pytest.approx(1.7e308 / np.sqrt(12), rel=1e-3)


def test_moments_of_exact_counts():
    values = np.random.default_rng(0).beta(2, 5, 100_000)
    counts = np.histogram(values, 64, (0, 1))[0].astype(float)
    mean, deviation = moments(standing_out(counts, 0.0, 100_000.0), 0.0, 1.0)
    assert mean == pytest.approx(values.mean(), abs=1e-3)
    assert deviation == pytest.approx(values.std(), abs=1e-3)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=64).filter(any), st.floats(0, 3))
def test_shares_around_the_mean_grow_to_all(counts, reach):
    shares = np.array(counts) / sum(counts)
    mean, deviation = moments(shares, -1.0, 1.0)
    look = TargetLook(mean, deviation, shares, -1.0, 1.0)
    assert 0 <= look.within(reach) <= look.within(reach + 0.1) <= look.within(2.0)
    assert look.within(2.0) == pytest.approx(1)


def test_noise_over_wide_bounds_does_not_widen_the_target():
    """60 of 64 cells hold nothing but noise, of deviation 20 beside 5,000 records in 4 cells."""
    rng = np.random.default_rng(0)
    counts = rng.normal(0, 20, 64)
    counts[10:14] += 1_250
    shares = standing_out(counts, 20.0, 5_000.0)
    assert bulk(shares) == (9, 15)
