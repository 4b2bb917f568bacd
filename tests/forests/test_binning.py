"""Privately chosen bins: within bounds, where the records are, and free where they are declared."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.forests.binning import (
    BinSizes,
    choose_bins,
    cut_weights,
    nearest_shares,
    needs_bins,
    public_bins,
    public_grid,
)
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Gaussian, Pure
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.opening import open_desk
from dpforest.schema import CategoricalFeature, NumericFeature, Schema, Target
from dpforest.tables.encode import MAX_VALUE_BINS
from dpforest.tables.frames import Frame

SIZES = BinSizes(cells=64, bins=32)
EXACT = Pure(math.inf)
N = 5_000


def bins_of(values, low, high, *, price=EXACT, sizes=SIZES, n_records=None, seed=0):
    """The cuts and weights of one feature with these values."""
    schema = Schema((NumericFeature("x", low, high),), Target(classes=(0, 1)))
    desk = open_desk(
        Frame(np.asarray(values, float)[:, None]),
        np.zeros(len(values), int),
        schema,
        budget=(math.inf if price == EXACT else 100.0, 1e-6),
        protection=Protection(),
        draws=Draws(seed),
    )
    chosen = choose_bins(desk, schema, n_records or len(values), price, sizes)
    return chosen.encoding.cuts[0], chosen.weights[0]


def shares_of(values, cuts):
    """The true share of the records in each bin."""
    return np.bincount(np.searchsorted(cuts, values), minlength=len(cuts) + 1) / len(values)


BOUNDS = st.tuples(
    st.floats(-1e12, 1e12, allow_subnormal=False), st.floats(1e-3, 1e12, allow_subnormal=False)
) | st.sampled_from(
    [(0.0, 1.7e308), (-1e300, 2e300), (1e16, 4.0), (1e16, 2.0), (5.0, 1e-14), (-1e-300, 2e-300)]
)  # as far apart and as near each other as doubles can be


@settings(max_examples=200, deadline=None)
@given(BOUNDS)
def test_the_public_grid_is_sorted_and_within_the_bounds(bounds):
    low, high = bounds[0], bounds[0] + bounds[1]
    grid = public_grid(NumericFeature("x", low, high))
    assert (np.diff(grid) > 0).all()
    assert len(grid) < MAX_VALUE_BINS
    assert low < high
    assert grid.min() >= low
    assert grid.max() < high


@pytest.mark.parametrize("high", [1, 2, 7, 31, 32, 33, 50, 99, 100])
def test_integers_near_each_other_have_cells_of_their_own(high):
    grid = public_grid(NumericFeature("x", 0, high))
    assert len(np.unique(np.searchsorted(grid, np.arange(high + 1)))) == high + 1
    assert not set(grid) & set(range(high + 1))


@settings(max_examples=80, deadline=None)
@given(
    BOUNDS,
    st.sampled_from([EXACT, Gaussian(0.5), Gaussian(0.01), Pure(0.5), Pure(0.01)]),
    st.sampled_from([BinSizes(32, 16), SIZES, BinSizes(250, 128)]),
    st.floats(1, 1e5),
    st.integers(0, 2**32),
)
def test_cuts_are_sorted_and_within_the_bounds_whatever_the_noise(
    bounds, price, sizes, n_records, seed
):
    low, high = bounds[0], bounds[0] + bounds[1]
    values = np.random.default_rng(seed).uniform(low, high, 50)
    cuts, weights = bins_of(
        values, low, high, price=price, sizes=sizes, n_records=n_records, seed=seed
    )
    assert (np.diff(cuts) > 0).all()
    assert (cuts >= low).all()
    assert (cuts < high).all()
    assert len(cuts) < sizes.cells
    assert len(weights) == len(cuts) + 1
    assert weights.sum() == pytest.approx(1)
    assert (weights > 0).all()


@pytest.mark.parametrize("price", [EXACT, Gaussian(0.5)])
def test_even_values_give_even_bins(price):
    values = np.random.default_rng(0).random(N)
    cuts, weights = bins_of(values, 0, 1.5, price=price)
    shares = shares_of(values, cuts)
    assert len(cuts) > 20
    assert shares.max() < 0.08
    np.testing.assert_allclose(weights, shares, atol=0.03)


@pytest.mark.parametrize("price", [EXACT, Gaussian(0.2)])
@pytest.mark.parametrize("factor", [1, 1_000, -1_000])
def test_bounds_a_thousand_times_too_wide_leave_fine_bins(price, factor):
    """On one side, and on both: no bin holds more than a seventh of the records."""
    values = np.random.default_rng(1).normal(3, 1, N).clip(0.1, 9.9)
    low, high = (0.0, 10.5) if factor == 1 else (0.0, 10_500.0)
    if factor < 0:
        low = -high
    cuts, _ = bins_of(values, low, high, price=price)
    shares = shares_of(values, cuts)
    assert shares.max() < 1 / 7
    assert (shares > 0.01).sum() >= 10


def test_control_even_cuts_over_wide_bounds_are_caught():
    values = np.random.default_rng(1).normal(3, 1, N).clip(0.1, 9.9)
    even = np.linspace(0, 10_500, 33)[1:-1]
    assert shares_of(values, even).max() == 1


@pytest.mark.parametrize("price", [EXACT, Gaussian(0.2)])
def test_a_lognormal_feature_is_cut_like_its_logarithm(price):
    """Sigma 3, bounds from next to nothing to the far tail."""
    values = np.exp(np.random.default_rng(2).normal(0, 3, N))
    cuts, _ = bins_of(values, 0, 1e6, price=price)
    shares = shares_of(values, cuts)
    assert shares.max() < 0.15
    assert (shares > 0.01).sum() >= 12


@pytest.mark.parametrize("price", [EXACT, Gaussian(0.3)])
def test_an_atom_takes_one_bin_and_leaves_cuts_in_the_tail(price):
    """Nine records in ten are 0, as of capital gains; the others still have bins to part them."""
    rng = np.random.default_rng(3)
    values = np.where(rng.random(N) < 0.9, 0.0, np.exp(rng.normal(8, 1, N))).clip(0, 99_999)
    cuts, _ = bins_of(values, 0, 99_999, price=price)
    tail = shares_of(values[values > 0], cuts)
    assert tail.max() < 0.25
    assert (tail > 0.02).sum() >= 6


@pytest.mark.parametrize("high", [1, 4, 16])
def test_integers_keep_a_bin_each(high):
    values = np.random.default_rng(4).integers(0, high + 1, N)
    cuts, _ = bins_of(values, 0, high, price=Gaussian(0.5))
    assert len(np.unique(np.searchsorted(cuts, np.arange(high + 1)))) == high + 1


# Who pays


def fit_schema(features, n=400, epsilon=5.0):
    rng = np.random.default_rng(5)
    columns = [
        rng.integers(0, 3, n) if isinstance(f, CategoricalFeature) else rng.random(n)
        for f in features
    ]
    schema = Schema(tuple(features), Target(classes=(0, 1)))
    X, y = Frame(np.column_stack(columns)), np.zeros(n, int)
    budget = {"budget": (epsilon, 1e-6), "protection": Protection()}
    desk = open_desk(X, y, schema, **budget, draws=Draws(0))
    return choose_bins(desk, schema, n, Gaussian(0.1), SIZES), desk.ledger


def test_declared_cuts_stay_as_they_are_and_cost_nothing():
    features = [NumericFeature("a", 0, 1, cuts=(0.25, 0.3)), CategoricalFeature("c", (0, 1, 2))]
    bins, ledger = fit_schema(features)
    assert needs_bins(bins.encoding.schema) == ()
    assert bins.encoding.cuts[0].tolist() == [0.25, 0.3]
    assert bins.encoding.cuts[1] is None
    assert bins.weights[0].tolist() == [1 / 3] * 3
    assert bins.weights[1] is None
    assert ledger.entries == ()


def test_without_numeric_features_nothing_is_asked():
    bins, ledger = fit_schema([CategoricalFeature("c", (0, 1, 2))])
    assert bins.encoding.cuts == (None,)
    assert ledger.entries == ()


def test_two_looks_are_paid_and_only_for_what_has_no_cuts():
    features = [
        NumericFeature("a", 0, 1),
        NumericFeature("b", 0, 1, cuts=(0.5,)),
        CategoricalFeature("c", (0, 1, 2)),
        NumericFeature("d", 0, 1),
    ]
    bins, ledger = fit_schema(features)
    assert needs_bins(bins.encoding.schema) == (0, 3)
    assert bins.encoding.cuts[1].tolist() == [0.5]
    assert len(ledger.entries) == 2
    for spend in ledger.entries:
        assert spend.loss.mu == pytest.approx(0.1, rel=1e-6)
        # Two features, one record: the L2 sensitivity is the root of 2.
        assert spend.mechanism == f"discrete Gaussian, sigma = {math.sqrt(2) / 0.1:.4g}"


def test_missing_values_are_counted_apart():
    values = np.where(np.arange(N) % 2, np.nan, np.random.default_rng(6).random(N))
    cuts, weights = bins_of(values, 0, 1)
    assert len(cuts) > 20
    assert weights.sum() == pytest.approx(1)


# Post-processing


@settings(max_examples=150, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=6), st.floats(0.1, 2e3))
def test_shares_are_the_nearest_that_counts_can_be(counts, n_records):
    counts = np.array(counts)
    shares = nearest_shares(counts, n_records)
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(1)
    # No other point of the simplex is nearer: try steps towards every corner.
    nearest = ((shares * n_records - counts) ** 2).sum()
    for corner in np.eye(len(counts)):
        for step in (1e-3, 0.1, 1.0):
            other = (1 - step) * shares + step * corner
            assert ((other * n_records - counts) ** 2).sum() >= nearest - 1e-6 * (1 + nearest)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=40))
def test_every_cut_may_be_drawn_and_more_often_between_records(weights):
    weight = np.array(weights) / sum(weights)
    (drawn, none) = cut_weights((weight, None))
    assert none is None
    assert len(drawn) == len(weight) - 1
    if len(drawn):
        assert drawn.sum() == pytest.approx(1)
        assert (drawn > 0).all()
        busiest = np.minimum(weight[:-1], 0.1) + np.minimum(weight[1:], 0.1)
        assert drawn[busiest.argmax()] == pytest.approx(drawn.max())


def test_public_bins_follow_from_declarations_and_are_weighed_by_their_width():
    features = (
        NumericFeature("x", 0, 1000),
        NumericFeature("y", -1, 1, cuts=(0.0, 0.5)),
        CategoricalFeature("c", ("a", "b")),
    )
    bins = public_bins(Schema(features))
    assert bins.n_looks == 0
    assert bins.weights[1].tolist() == [0.5, 0.25, 0.25]
    assert bins.weights[2] is None
    assert bins.weights[0].sum() == pytest.approx(1)
    assert (bins.encoding.n_values == [len(bins.weights[0]), 3, 2]).all()
    grid = public_grid(features[0])
    assert (bins.encoding.cuts[0] == grid).all()
