"""What is expected follows from the schema and the number of records alone, and is about right."""

import json

import numpy as np
import pytest

from dpforest import (
    CategoricalFeature,
    NumericFeature,
    PrivateForestRegressor,
    RandomDecisionForestClassifier,
    Schema,
    SchemaError,
    Target,
    plan,
)
from dpforest.datasets.truths import TRUTHS
from dpforest.evaluation.planning import BASELINE, NOT_PRIVATE, Spread

FEATURES = (
    NumericFeature("x0", -5, 5),
    NumericFeature("x1", 0, 9, integer=True),
    CategoricalFeature("x2", ("a", "b", "c")),
    NumericFeature("x3", 0, 1),
)
TWO, THREE = (
    Schema(FEATURES, Target(classes=(0, 1))),
    Schema(FEATURES, Target(classes=("a", "b", "c"))),
)
NUMBER = Schema(FEATURES, Target(low=-1, high=3))
QUICK = RandomDecisionForestClassifier(n_estimators=4, max_depth=5)


@pytest.mark.parametrize("schema", [TWO, THREE, NUMBER], ids=["two", "three", "number"])
@pytest.mark.parametrize("truth", TRUTHS, ids=lambda t: t.name)
def test_synthetic_tables_fit_their_schema(schema, truth):
    X, y = truth.draw(schema, 400, np.random.default_rng(0))
    assert X.shape == (400, 4)
    for j, feature in enumerate(FEATURES):
        if isinstance(feature, CategoricalFeature):
            assert set(X[:, j]) <= set(feature.categories)
        else:
            assert feature.low <= X[:, j].min() <= X[:, j].max() <= feature.high
            assert not feature.integer or (X[:, j] == np.rint(X[:, j].astype(float))).all()
    if schema is NUMBER:
        assert -1 <= y.min() < y.max() <= 3
    else:
        assert set(y.tolist()) == set(schema.classes)


@pytest.mark.parametrize("name", ["sum", "product"])
def test_a_product_hides_from_single_features_and_a_sum_does_not(name):
    truth = next(t for t in TRUTHS if t.name == f"strong {name}")
    seen = []
    for seed in range(8):
        X, y = truth.draw(NUMBER, 4_000, np.random.default_rng(seed))
        columns = [np.unique(X[:, j], return_inverse=True)[1] for j in range(4)]
        means = {c: y[X[:, 2] == c].mean() for c in set(X[:, 2])}
        columns[2] = np.array([means[c] for c in X[:, 2]])
        seen.append(max(abs(np.corrcoef(column, y)[0, 1]) for column in columns))
    assert (np.median(seen) > 0.6) == (name == "sum")


def test_more_epsilon_and_plainer_truths_promise_more():
    found = plan(TWO, 1_500, [0.02, 5.0], n_seeds=2, estimator=QUICK)
    assert list(found.rows) == [BASELINE, "epsilon = 0.02", "epsilon = 5", NOT_PRIVATE]
    assert found.columns == (*(truth.name for truth in TRUTHS), "all")
    little, much = found.rows["epsilon = 0.02"], found.rows["epsilon = 5"]
    assert much["all"].median > little["all"].median
    assert much["strong sum"].median > much["weak sum"].median
    assert found.rows[NOT_PRIVATE]["strong sum"].median > found.rows[BASELINE]["strong sum"].median
    for row in found.rows.values():
        assert all(spread.low <= spread.median <= spread.high for spread in row.values())
        assert row["all"].low == min(row[truth.name].low for truth in TRUTHS)
    assert json.loads(json.dumps(found.to_dict()))["rows"]["epsilon = 5"]["all"]["high"] <= 1
    assert str(found).splitlines()[1].startswith("model")


def test_a_forecast_is_the_same_again_and_ticks_at_every_fit():
    ticks = []
    options = {"n_seeds": 1, "estimator": QUICK}
    found = plan(TWO, 60, [1.0], tick=lambda: ticks.append(1), **options)
    assert len(ticks) == 2 * len(TRUTHS)
    assert found == plan(TWO, 60, [1.0], **options)
    assert found != plan(TWO, 60, [1.0], random_state=1, **options)


def test_numbers_are_measured_by_r2():
    forest = PrivateForestRegressor(n_estimators=200)
    found = plan(NUMBER, 800, [1.0], n_seeds=1, estimator=forest)
    assert found.metric == "R2"
    assert found.rows[BASELINE]["all"] == Spread(0.0, 0.0, 0.0)
    assert found.rows[NOT_PRIVATE]["strong sum"].median > 0.7


def test_what_cannot_be_planned_is_refused():
    with pytest.raises(SchemaError, match="no target"):
        plan(Schema(FEATURES), 100)
    with pytest.raises(ValueError, match="at least one record"):
        plan(TWO, 0)
    with pytest.raises(ValueError, match="at least one"):
        plan(TWO, 10, [])
