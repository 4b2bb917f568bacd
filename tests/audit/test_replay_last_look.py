"""What is asked after the last tree is replayed: calibration of classes, residuals of numbers."""

import itertools

import numpy as np
import pytest

from dpforest import PrivateForestClassifier, PrivateForestRegressor
from dpforest.audit import SMALL_SCHEMA, replay
from dpforest.audit.worlds import SMALL_REGRESSION
from tests.audit.neighbouring import ROWS, neighbouring

Y = np.array([0, 0, 0, 0, 1, 1])
LOOKS = {
    PrivateForestClassifier: (SMALL_SCHEMA, "how much surer than right the model is"),
    PrivateForestRegressor: (SMALL_REGRESSION, "residuals by score"),
}


def tables(neighbors, persons):
    """The last person's targets lie at the other end; or that person is not there."""
    return neighbouring(neighbors, persons, ROWS, Y, other_y=0)


@pytest.mark.parametrize("kind", LOOKS)
@pytest.mark.parametrize(
    ("neighbors", "persons"), list(itertools.product(["add_remove", "replace_one"], [None, 2]))
)
def test_the_last_look_loses_no_more_than_is_claimed(kind, neighbors, persons):
    schema, label = LOOKS[kind]
    model = kind(
        schema=schema,
        neighbors=neighbors,
        max_records_per_group=persons,
        n_hint=20_000,
        n_estimators=2,
        max_depth=1,
        trees_per_round=1,
        random_state=0,
    )
    one, other = tables(neighbors, persons)
    report = replay(model, one, other, common=4)
    assert report.holds, str(report)
    assert report.tightness > 0.5
    fitted = model.fit(other.X, other.y, other.groups)
    assert any(label in entry.label for entry in fitted.ledger_.entries)
