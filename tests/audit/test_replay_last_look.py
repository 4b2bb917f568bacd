"""What is asked after the last tree is replayed: calibration of classes, residuals of numbers."""

import itertools

import numpy as np
import pytest

from dpforest import PrivateForestClassifier, PrivateForestRegressor
from dpforest.audit import SMALL_SCHEMA, Table, replay
from dpforest.audit.worlds import SMALL_REGRESSION

X = np.array([[0.1, 0.0], [0.9, 1.0], [0.4, 1.0], [0.1, 0.0], [0.9, 0.0], [0.9, 0.0]])
Y = np.array([0, 0, 0, 0, 1, 1])
PERSONS = np.array([0, 1, 2, 3, 4, 4])
LOOKS = {
    PrivateForestClassifier: (SMALL_SCHEMA, "how much surer than right the model is"),
    PrivateForestRegressor: (SMALL_REGRESSION, "residuals by score"),
}


def tables(neighbors, persons):
    """The last person's targets lie at the other end; or that person is not there."""
    last = slice(0, 6 if persons else 5)
    groups = PERSONS[last] if persons else None
    if neighbors == "add_remove":
        one = Table(X[:4], Y[:4], None if groups is None else groups[:4])
    else:
        one = Table(X[last], np.zeros_like(Y)[last], groups)
    return one, Table(X[last], Y[last], groups)


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
