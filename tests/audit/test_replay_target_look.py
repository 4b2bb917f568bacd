"""Looks at a target over bounds far too wide are replayed: as many as released counts ask for."""

import numpy as np
import pytest

from dpforest import NumericFeature, PrivateForestRegressor, Schema, Target
from dpforest.audit import Table, replay

SCHEMA = Schema((NumericFeature("a", 0, 1),), Target(low=-1e4, high=1e4))
KEPT = 1_500
LOOK = "histogram of the target"


def tables(neighbors, persons):
    """The last person's targets lie far from all others; or that person is not there."""
    last = persons or 1
    X = np.full((KEPT + last, 1), 0.5)
    y = np.append(np.linspace(0.0, 1.0, KEPT), np.full(last, 9e3))
    ids = np.array([*range(KEPT), *[KEPT] * last]) if persons else None
    more = Table(X, y, ids)
    if neighbors == "add_remove":
        return Table(X[:KEPT], y[:KEPT], None if ids is None else ids[:KEPT]), more
    return Table(X, np.append(y[:KEPT], np.zeros(last)), ids), more


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
    one, other = tables(neighbors, persons)
    fitted = forest.fit(other.X, other.y, other.groups)
    assert sum(LOOK in entry.label for entry in fitted.ledger_.entries) > 2
    report = replay(forest, one, other, common=KEPT)
    assert report.holds, str(report)
    assert report.tightness > 0.1
