"""Where the bins between cuts lie."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.tables.cuts import bin_middles

NUMBERS = st.floats(-1.7e308, 1.7e308, allow_nan=False)


@given(st.lists(NUMBERS, unique=True, max_size=254).map(sorted))
def test_middles_are_finite_and_lie_between_the_cuts(cuts):
    middles = bin_middles(np.array(cuts))
    assert len(middles) == len(cuts) + 1
    assert np.isfinite(middles).all()
    assert (np.diff(middles) >= 0).all()
    if len(cuts) > 1:
        unit = np.array(cuts) / np.abs(cuts).max()
        assert (middles[:-1] <= unit).all()
        assert (unit <= middles[1:]).all()


@pytest.mark.parametrize("factor", [1e-300, 1.0, 1e300])
def test_the_unit_of_a_feature_does_not_matter(factor):
    cuts = np.array([-3.0, 0.0, 1.0, 7.0])
    np.testing.assert_allclose(bin_middles(factor * cuts), bin_middles(cuts))
