"""Where a target lies, from noisy counts: within its range, and near the truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.forests.target_look import (
    CELLS,
    CLEAR,
    FEWEST_CELLS,
    TargetLook,
    bulk,
    cells_for,
    joined,
    standing_out,
)
from dpforest.privacy.accounts.spends import Gaussian, Pure


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
    look = TargetLook(low, low + width, shares, shares)
    mean, spread = look.moments()
    assert low <= mean <= low + width
    assert 0 < spread <= width
    quantiles = [look.quantile(q) for q in (0.0, 0.05, 0.5, 0.9, 1.0)]
    assert quantiles == sorted(quantiles)
    assert low <= quantiles[0] <= quantiles[-1] <= low + width


def test_moments_of_the_widest_range():
    even = np.full(64, 1 / 64)
    look = TargetLook(0.0, 1.7e308, even, even)
    mean, deviation = look.moments()
    assert look.quantile(0.25) == pytest.approx(0.425e308)
    assert mean == pytest.approx(0.85e308)
    assert deviation == pytest.approx(1.7e308 / np.sqrt(12), rel=1e-3)


def test_moments_of_exact_counts():
    values = np.random.default_rng(0).beta(2, 5, 100_000)
    counts = np.histogram(values, 64, (0, 1))[0].astype(float)
    shares = standing_out(counts, 0.0, 100_000.0)
    look = TargetLook(0.0, 1.0, shares, shares)
    mean, deviation = look.moments()
    assert mean == pytest.approx(values.mean(), abs=1e-3)
    assert deviation == pytest.approx(values.std(), abs=1e-3)
    for q in (0.02, 0.1, 0.5, 0.9):
        assert look.quantile(q) == pytest.approx(np.quantile(values, q), abs=2e-3)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=64).filter(any), st.floats(0, 3))
def test_shares_around_the_mean_grow_to_all(counts, reach):
    shares = np.array(counts) / sum(counts)
    look = TargetLook(-1.0, 1.0, shares, shares)
    assert 0 <= look.within(reach) <= look.within(reach + 0.1) <= look.within(2.0)
    assert look.within(2.0) == pytest.approx(1)


def test_noise_over_wide_bounds_does_not_widen_the_target():
    """60 of 64 cells hold nothing but noise, of deviation 20 beside 5,000 records in 4 cells."""
    rng = np.random.default_rng(0)
    counts = rng.normal(0, 20, 64)
    counts[10:14] += 1_250
    shares = standing_out(counts, 20.0, 5_000.0)
    assert bulk(shares) == (9, 15)


def test_quantiles_are_read_from_cells_that_stand_out_of_the_noise():
    """2,000 records in 64 cells, noise of 28: cell by cell, the tails would be noise."""
    rng = np.random.default_rng(1)
    values = rng.normal(0, 1, 2_000)
    errors = {"clear": [], "fine": []}
    for _ in range(40):
        counts = np.histogram(values, 64, (-3, 3))[0] + rng.normal(0, 28, 64)
        clear = standing_out(*joined(counts, 28.0, 2_000.0), 2_000.0)
        fine = standing_out(counts, 28.0, 2_000.0)
        for name, shares in {"clear": clear, "fine": fine}.items():
            look = TargetLook(-3.0, 3.0, shares, shares)
            errors[name] += [abs(look.quantile(q) - np.quantile(values, q)) for q in (0.05, 0.95)]
    assert np.mean(errors["clear"]) < 0.3
    assert np.mean(errors["clear"]) < 0.6 * np.mean(errors["fine"])


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 1e4), st.floats(1, 1e6))
def test_joined_cells_hold_the_same_records_and_are_clear_or_few(deviation, n_records):
    counts, found = joined(np.arange(64.0), deviation, n_records)
    assert counts.sum() == np.arange(64.0).sum()
    assert found == pytest.approx(deviation * np.sqrt(64 / len(counts)))
    assert len(counts) == 8 or n_records / len(counts) >= CLEAR * found


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("price", [Gaussian(0.01), Pure(0.01)])
def test_cells_are_fewer_where_noise_would_drown_them(price, steps):
    cells = [cells_for(10.0**k, price, steps) for k in range(1, 9)]
    assert (cells[0], cells[-1]) == (FEWEST_CELLS, CELLS)
    assert cells == sorted(cells)
    assert cells_for(30_000.0, price, 4 * steps) <= cells_for(30_000.0, price, steps)
    assert cells_for(100.0, Pure(float("inf")), steps) == CELLS
