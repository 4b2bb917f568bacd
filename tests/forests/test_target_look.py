"""Where a target lies, from noisy counts: within its range, and near the truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest import NumericFeature, PrivateForestRegressor, Schema, Target
from dpforest.forests.target_look import (
    CELLS,
    CLEAR,
    FEWEST_CELLS,
    MOST_LOOKS,
    TargetLook,
    bulk,
    cells_for,
    core,
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


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 1_000), min_size=8, max_size=64).filter(any))
def test_the_core_holds_nearly_all_records_and_is_a_small_part_of_the_range(counts):
    counts = np.array(counts, float)
    found = core(counts, 0.0, counts.sum())
    if found is None:
        return
    from_, to = found
    assert 0 <= from_ < to <= len(counts)
    assert counts[int(np.ceil(from_)) : int(to)].sum() >= 0.99 * counts.sum()
    assert to - from_ <= max(len(counts) / 8, 2) + 1


def test_noise_anywhere_does_not_hide_the_core():
    """In 200 draws; each of 64 cells stands out by two deviations one time in 44."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(200):
        counts = rng.normal(0, 30, 64)
        counts[20:22] += 1_000
        found.append(core(counts, 30.0, 2_000.0 + rng.normal(0, 30)))
    assert sum(one is not None and one[0] <= 20 and one[1] >= 22 for one in found) > 190


def test_a_tail_that_shows_is_not_cut_off():
    """A twentieth of the records is spread over the range: the mean may hang on them."""
    counts = np.full(64, 20_000 * 0.05 / 63)
    counts[0] = 20_000 * 0.95
    assert core(counts, 30.0, 20_000.0) is None
    assert core(np.array([19_950.0, *[50 / 63] * 63]), 30.0, 20_000.0) == (0.0, 1.5)


def test_a_hint_far_too_low_does_not_make_every_cell_the_core():
    assert core(np.full(64, 1_000.0), 10.0, 500.0) is None


def fitted(width, **options):
    rng = np.random.default_rng(0)
    X = rng.random((2_000, 2))
    y = 3.0 * X[:, 0] + rng.normal(0, 0.2, 2_000)
    features = tuple(NumericFeature(name, 0, 1) for name in "ab")
    schema = Schema(features, Target(low=1.5 - width, high=1.5 + width))
    model = PrivateForestRegressor(schema=schema, random_state=0, **options).fit(X, y)
    return model, model.score(X, y)


def looks_of(model):
    return sum("histogram of the target" in entry.label for entry in model.ledger_.entries)


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_bounds_may_be_absurd(delta):
    """Looks go on until the target fills the range; all of them are paid for, and no more."""
    near, score = fitted(3.0, delta=delta)
    assert looks_of(near) == 2
    for width in (1e3, 1e6, 1e9):
        model, wide = fitted(width, delta=delta)
        assert 2 < looks_of(model) <= MOST_LOOKS
        assert wide > score - 0.2
        assert 1.0 - 2e-3 < model.ledger_.epsilon <= 1.0


def test_numbers_that_are_all_alike_end_the_looks():
    X, y = np.random.default_rng(0).random((2_000, 1)), np.full(2_000, 1e15)
    schema = Schema((NumericFeature("a", 0, 1),), Target(low=0.0, high=2e15))
    model = PrivateForestRegressor(schema=schema, random_state=0).fit(X, y)
    assert model.predict(X) == pytest.approx(y, rel=1e-6)
