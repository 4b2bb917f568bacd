import math

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import cross_val_score

from dpforest import (
    Budget,
    BudgetExceededError,
    InnerFitsWarning,
    MatrixForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
    PrivateSearchCV,
    Protection,
    RandomDecisionForestClassifier,
    SchemaError,
    load_model,
)
from dpforest.audit import SMALL_SCHEMA, public_estimators
from dpforest.audit.worlds import SMALL_REGRESSION
from dpforest.schema import Schema
from dpforest.search import searching

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.random(400), RNG.integers(0, 2, 400)])
Y = (X[:, 0] > 0.5).astype(int)
FOREST = RandomDecisionForestClassifier(schema=SMALL_SCHEMA, n_estimators=1)
GRID = {"max_depth": [1, 2, 3]}


def search(estimator=FOREST, candidates=GRID, **options):
    return PrivateSearchCV(estimator, candidates, **{"random_state": 0, **options})


def test_it_is_an_estimator_of_scikit_learn():
    made = search(epsilon=0.7)
    assert clone(made).get_params()["epsilon"] == 0.7
    assert made.get_params()["estimator__n_estimators"] == 1
    assert is_classifier(made)
    assert is_regressor(search(PrivateForestRegressor(schema=SMALL_REGRESSION)))
    assert not hasattr(search(PrivateForestRegressor(schema=SMALL_REGRESSION)), "predict_proba")
    made.fit(X, Y)
    assert made.predict(X).shape == Y.shape
    assert made.predict_proba(X).shape == (400, 2)
    assert made.score(X, Y) == made.best_estimator_.score(X, Y)
    assert made.classes_.tolist() == [0, 1]
    assert made.n_features_in_ == 2


@pytest.mark.parametrize("method", ["random_stopping", "permute_and_flip"])
@pytest.mark.parametrize("name", sorted(set(public_estimators()) - {"MatrixForestPredictor"}))
def test_every_estimator_can_be_searched_within_the_budget(name, method, tmp_path):
    kind = public_estimators()[name]
    schema = SMALL_REGRESSION if is_regressor(kind()) else SMALL_SCHEMA
    y = X[:, 0] if is_regressor(kind()) else Y
    made = search(kind(schema=schema), {"max_depth": [1, 2]}, method=method, epsilon=0.9)
    made.fit(X, y)
    has_delta = "delta" in kind().get_params()
    assert (made.ledger_.epsilon, made.ledger_.delta) == (0.9, 1e-6 if has_delta else 0)
    assert [stage.kind for stage in made.ledger_.stages] == ["search"]
    assert made.best_estimator_.ledger_ is made.ledger_
    assert made.best_params_ == [{"max_depth": 1}, {"max_depth": 2}][made.best_index_]
    assert (made.best_score_ is None) == (method == "permute_and_flip")
    assert made.cv_results_ == {"params": [made.best_params_], "score": [made.best_score_]}
    made.best_estimator_.save(tmp_path / "model.dpforest")
    again = load_model(tmp_path / "model.dpforest")
    assert again.ledger_.explain() == made.ledger_.explain()
    assert (again.predict(X) == made.predict(X)).all()


@pytest.mark.parametrize("method", ["random_stopping", "permute_and_flip"])
def test_good_settings_are_found(method):
    # One that learns nothing against one that does, which noise hides with a chance below 1e-6. It
    # is not tried at all in at most one search of 20: three of five fail with a chance of 0.0012.
    rows = np.column_stack([np.random.default_rng(1).random(4000), np.zeros(4000)])
    target = np.abs(2.0 * rows[:, 0] - 1.0)  # of which a linear start, without trees, tells nothing
    forest = PrivateForestRegressor(schema=SMALL_REGRESSION, n_estimators=40)
    rates, found = [{"learning_rate": 1e-9}, {"learning_rate": "auto"}], 0
    for seed in range(5):
        made = search(
            forest, rates, epsilon=4.0, coverage=0.95, method=method, random_state=seed
        ).fit(rows, target)
        found += made.best_index_
        if made.best_score_ is not None:
            error = np.abs(made.predict(rows) - target)
            assert abs(made.best_score_ - np.maximum(1 - 4 * error, 0).mean()) < 0.1
    assert found >= (3 if method == "random_stopping" else 5)


def test_persons_and_their_tables():
    forest = clone(FOREST).set_params(max_records_per_group=2)
    persons = np.repeat(np.arange(100), 4)
    frame = pd.DataFrame(X, columns=["amount", "colour"])
    made = search(forest).fit(frame, pd.Series(Y), groups=persons)
    assert made.ledger_.protection == Protection("add_remove", "group", 2)
    assert made.ledger_.epsilon == 1
    with pytest.raises(ValueError, match="go together"):
        search(forest).fit(X, Y)


def test_the_same_seed_gives_the_same_search_and_is_not_for_release():
    one, two = (search().fit(X, Y) for _ in range(2))
    assert (one.best_index_, one.best_score_) == (two.best_index_, two.best_score_)
    assert not one.ledger_.releasable
    assert one.best_estimator_.random_state is None
    assert search(random_state=None).fit(X, Y).ledger_.releasable


def test_a_paid_schema_is_part_of_the_account():
    schema = Schema.infer(X, target=Y, epsilon=2.0, types={"x0": "number", "x1": "integer"},
                          universe={"target": (0, 1)})  # fmt: skip
    made = search(RandomDecisionForestClassifier(schema=schema, n_estimators=1)).fit(X, Y)
    assert [stage.kind for stage in made.ledger_.stages] == ["schema", "search"]
    assert made.ledger_.epsilon == pytest.approx(1 + schema.ledger.epsilon)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": math.inf}, "finite"),
        ({"delta": 1.5}, "delta"),
        ({"method": "grid"}, "method"),
        ({"coverage": 1.0}, "coverage"),
        ({"hold_out": 0.9}, "hold_out"),
        ({"candidates": [{}]}, "at least 2"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_read(options, match, tmp_path):
    budget = Budget.create(tmp_path / "b.db", epsilon=3.0, delta=1e-5, table="t")
    with pytest.raises(ValueError, match=match):
        search(budget=budget, **options).fit(None, None)
    assert budget.history() == []


def test_a_bad_table_costs_nothing(tmp_path):
    budget = Budget.create(tmp_path / "b.db", epsilon=3.0, delta=1e-5, table="t")
    made = search(budget=budget)
    for table, target in ((X[:, :1], Y), (X, Y + 7), (X, Y[:-1])):
        with pytest.raises(SchemaError):
            made.fit(table, target)
    assert [entry.state for entry in budget.history()] == ["failed"] * 3
    assert budget.remaining(0.0) == 3.0
    with pytest.raises(ValueError, match="y"):
        made.fit(X, None)


@pytest.mark.parametrize("estimator", [FOREST, PrivateForestClassifier(schema=SMALL_SCHEMA)])
def test_a_budget_pays_before_a_record_is_read_and_only_once(estimator, tmp_path, monkeypatch):
    budget = Budget.create(tmp_path / "b.db", epsilon=3.0, delta=1e-5, table="t")
    seen = []
    honest = searching.open_parts

    def looking(*args, **how):
        seen.append([(e.state, e.plain_epsilon) for e in budget.history()])
        return honest(*args, **how)

    monkeypatch.setattr(searching, "open_parts", looking)
    made = search(estimator, budget=budget).fit(X, Y)
    assert seen == [[("reserved", 1.0)]]
    (entry,) = budget.history()
    delta = 1e-6 if "delta" in estimator.get_params() else 0.0
    assert (entry.state, entry.plain_epsilon, entry.plain_delta) == ("released", 1.0, delta)
    assert entry.what == f"search with {type(estimator).__name__}"
    assert budget.check() == []
    text = (tmp_path / "b.db").read_bytes() + b"".join(
        path.read_bytes() for path in tmp_path.glob("b.db-*")
    )
    assert str(made.best_params_).encode() not in text
    made.best_estimator_.save(tmp_path / "m.dpforest")
    assert budget.history()[0].model is not None
    with pytest.raises(BudgetExceededError):
        search(estimator, budget=budget, epsilon=2.5).fit(X, Y)
    assert len(seen) == 1


def test_a_search_inside_of_others_warns():
    with pytest.warns(InnerFitsWarning, match="one of several"):
        cross_val_score(search(), X, Y, cv=2)


def test_a_search_of_another_protection_than_the_budget_is_refused(tmp_path):
    other = Protection("replace_one")
    budget = Budget.create(tmp_path / "b.db", epsilon=3.0, table="t", protects=other)
    with pytest.raises(ValueError, match="protects"):
        search(budget=budget).fit(X, Y)
    made = search(clone(FOREST).set_params(neighbors="replace_one"), budget=budget).fit(X, Y)
    assert made.ledger_.epsilon == 1


def test_matrix_forests_spend_pure_and_gaussian_within_one_price():
    made = search(MatrixForestClassifier(schema=SMALL_SCHEMA), {"max_depth": [1, 2]}).fit(X, Y)
    assert made.plan_.most.epsilon > 0
    assert made.plan_.most.mu_squared > 0
    assert (made.ledger_.epsilon, made.ledger_.delta) == (1, 1e-6)
