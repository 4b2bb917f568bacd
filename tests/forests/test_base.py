"""What all estimators share: ledgers that never stand above trees of another fit."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dpforest import (
    GreedyForestClassifier,
    MatrixForestPredictor,
    MedianForestClassifier,
    PrivacyLeakWarning,
    PrivateForestClassifier,
    RandomDecisionForestClassifier,
    Schema,
    SchemaError,
    datasets,
)


@pytest.fixture(scope="module")
def census():
    return datasets.make_census(400, random_state=0)


ESTIMATORS = {
    "boosted": (PrivateForestClassifier, "dpforest.forests.boosted_base.boost"),
    "random": (RandomDecisionForestClassifier, "dpforest.forests.random.grow_binary"),
    "greedy": (GreedyForestClassifier, "dpforest.forests.greedy.join_forests"),
    "median": (MedianForestClassifier, "dpforest.forests.median_base.LevelGrower"),
}


@pytest.mark.filterwarnings("ignore:fit failed after it had spent")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_refit_that_fails_leaves_no_model(census, monkeypatch, tmp_path, name):
    kind, step = ESTIMATORS[name]
    model = kind(epsilon=2.0, schema=census.schema, random_state=0).fit(census.X, census.y)
    model.predict(census.X)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(step, interrupt)
    model.set_params(epsilon=0.5)
    with pytest.raises(KeyboardInterrupt):
        model.fit(census.X, census.y)
    assert model.ledger_.epsilon <= 0.5
    assert not hasattr(model, "forest_")
    with pytest.raises(NotFittedError):
        model.predict(census.X)
    with pytest.raises(NotFittedError):
        model.save(tmp_path / "model.dpforest")


def test_a_refused_table_leaves_the_old_model(census):
    model = RandomDecisionForestClassifier(epsilon=2.0, schema=census.schema, random_state=0)
    before = model.fit(census.X, census.y).predict(census.X)
    model.set_params(schema=None, max_records_per_group=1)
    with pytest.warns(PrivacyLeakWarning), pytest.raises(SchemaError):
        model.fit(census.X, census.y, groups=[1, 2])
    assert model.schema_ == census.schema
    np.testing.assert_array_equal(model.predict(census.X), before)


def test_a_schema_read_from_the_data_leaves_no_guarantee(census, tmp_path):
    with pytest.warns(PrivacyLeakWarning):
        schema = Schema.from_frame(census.X, census.y)
    schema.save(tmp_path / "schema.json")
    for read in (schema, Schema.load(tmp_path / "schema.json")):
        model = RandomDecisionForestClassifier(schema=read).fit(census.X, census.y)
        assert model.ledger_.guarantee is None
        assert "not paid for" in model.ledger_.reasons[0]


def test_a_seeded_schema_is_noted(census):
    schema = Schema.infer(census.X, target=census.y, epsilon=50.0, delta=1e-3, random_state=0)
    kept = census.X[list(schema.feature_names)]
    model = RandomDecisionForestClassifier(schema=schema).fit(kept, census.y)
    assert model.ledger_.guarantee is not None
    assert any("not for release" in note for note in model.ledger_.notes)


def test_a_predictor_that_holds_records_is_not_copied(census):
    predictor = MatrixForestPredictor(schema=census.schema, max_depth=1)
    pickle.loads(pickle.dumps(predictor))
    predictor.fit(census.X, census.y)
    for leave in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="neither saved nor pickled"):
            leave(predictor)


def test_a_continued_fit_draws_anew(census):
    model = PrivateForestClassifier(
        schema=census.schema, n_estimators=20, n_hint=400, warm_start=True, random_state=0
    )
    first = model.fit(census.X, census.y).forest_.trees.feature
    both = model.fit(census.X, census.y).forest_.trees.feature
    assert not np.array_equal(both[20:, : first.shape[1]], first)


def test_errors_about_y_tell_no_number_of_records(census):
    model = RandomDecisionForestClassifier(schema=census.schema)
    with pytest.raises(ValueError, match="one column") as caught:
        model.fit(census.X, np.zeros((400, 2)))
    assert "400" not in str(caught.value)
