"""How deep a tree is, and when it is asked first whether sums of features tell more."""

import numpy as np
import pytest

from dpforest.forests.tree_plan import sums_trial_share
from dpforest.trees.structure import FeatureBins


def test_a_trial_costs_what_tells_and_nothing_where_it_would_tell_nothing():
    def bins(n_features, n_values=100, categorical=False):
        n = np.full(n_features, n_values)
        return FeatureBins(n, n + 1, np.full(n_features, categorical))

    for signal in (90.0, 1e3, 1e5, 1e9):  # never free, and never more than a fifth
        share = sums_trial_share(signal, 500.0, bins(5), 3)
        assert share == pytest.approx(min(1 / (0.03 * signal), 0.2), rel=0.01, abs=1e-6)
        assert share > 0
    assert sums_trial_share(1e3, 500.0, bins(1), 3) == 0  # no sums
    assert sums_trial_share(1e3, 500.0, bins(5), 100) == 0
    assert sums_trial_share(1e3, 1e7, bins(5), 3) == 0  # long looks
    assert sums_trial_share(1e3, 500.0, bins(400, 250, categorical=True), 3) == 0
    assert sums_trial_share(1e3, 500.0, bins(2_000, 250), 60) == 0
