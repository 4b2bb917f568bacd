"""Looks at a target over bounds far too wide are replayed: as many as released counts ask for."""

import numpy as np
import pytest

from dpforest import NumericFeature, PrivateForestRegressor, Schema, Target
from dpforest.audit import replay
from tests.audit.neighbouring import apart

SCHEMA = Schema((NumericFeature("a", 0, 1),), Target(low=-1e4, high=1e4))
KEPT = 1_500
LOOK = "histogram of the target"


@pytest.mark.parametrize("persons", [None, 2])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_many_looks_lose_no_more_than_is_claimed(delta, neighbors, persons):
    forest = PrivateForestRegressor(
        schema=SCHEMA,
        epsilon=4.0,
        delta=delta,
        neighbors=neighbors,
        max_records_per_group=persons,
        n_estimators=1,
        max_depth=1,
        random_state=0,
    )
    one, other = apart(neighbors, persons, np.linspace(0.0, 1.0, KEPT), 9e3)
    fitted = forest.fit(other.X, other.y, other.groups)
    assert sum(LOOK in entry.label for entry in fitted.ledger_.entries) > 2
    report = replay(forest, one, other, common=KEPT)
    assert report.holds, str(report)
    assert report.tightness > 0.1
