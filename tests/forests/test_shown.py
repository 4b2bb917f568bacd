"""How estimators are shown and told: short, with the guarantee, and nothing private."""

import html
import logging

import pytest
from sklearn import config_context

from dpforest import (
    MatrixForestPredictor,
    PrivateForestClassifier,
    PrivateSearchCV,
    RandomDecisionForestClassifier,
    Schema,
    datasets,
)

FOLDED = "schema=Schema(10 features, target 'income')"


@pytest.fixture(scope="module")
def census():
    return datasets.make_census(600, random_state=0)


def small_forest(schema, **params):
    return RandomDecisionForestClassifier(schema=schema, n_estimators=2, max_depth=2, **params)


def promise(model):
    return str(model.ledger_.guarantee)


def test_the_schema_is_folded_in_an_estimator_and_whole_by_itself(census):
    assert FOLDED in repr(small_forest(census.schema))
    assert FOLDED in repr(PrivateSearchCV(small_forest(census.schema), {"max_depth": [1, 2]}))
    assert "features" not in repr(PrivateForestClassifier())
    names = dict(vars(__import__("dpforest.schema").schema))
    assert eval(repr(census.schema), names) == census.schema


def test_one_feature_and_no_target(census):
    alone = Schema(census.schema.features[:1])
    assert "schema=Schema(1 feature)" in repr(small_forest(alone))


def test_showing_changes_nothing(census):
    forest = small_forest(census.schema).fit(census.X, census.y)
    before = dict(vars(forest))
    repr(forest), forest._repr_html_()
    assert vars(forest) == before
    assert forest.schema is census.schema


def test_a_page_tells_the_guarantee(census):
    forest = small_forest(census.schema, epsilon=0.5)
    assert "nothing is spent; epsilon = 0.5 is asked for" in forest._repr_html_()
    forest.fit(census.X, census.y)
    assert html.escape(promise(forest)) in forest._repr_mimebundle_()["text/html"]
    assert "RandomDecisionForestClassifier" in forest._repr_html_()


@pytest.mark.filterwarnings("ignore::dpforest.PrivacyLeakWarning")
def test_a_page_tells_that_there_is_no_guarantee(census):
    forest = small_forest(None).fit(census.X, census.y)
    assert "no guarantee: " in forest._repr_html_()


def test_where_scikit_learn_shows_text_there_is_no_page(census):
    with config_context(display="text"):
        assert not hasattr(small_forest(census.schema), "_repr_html_")
        assert set(small_forest(census.schema)._repr_mimebundle_()) == {"text/plain"}


def test_the_logger_gets_the_promise_and_in_detail_the_ledger(census, caplog, capsys):
    with caplog.at_level(logging.DEBUG, logger="dpforest"):
        forest = small_forest(census.schema).fit(census.X, census.y)
    assert [r.levelname for r in caplog.records] == ["INFO", "DEBUG"]
    assert caplog.messages == [
        f"RandomDecisionForestClassifier: {promise(forest)}",
        forest.ledger_.explain(),
    ]
    assert capsys.readouterr().out == ""
    small_forest(census.schema, verbose=True).fit(census.X, census.y)
    assert promise(forest) in capsys.readouterr().out


def test_every_paid_batch_is_told_once(census, caplog):
    predictor = MatrixForestPredictor(
        epsilon=2.0, epsilon_per_batch=1.0, schema=census.schema, max_depth=1
    ).fit(census.X, census.y)
    with caplog.at_level(logging.INFO, logger="dpforest"):
        predictor.predict(census.X[:5])
        predictor.predict(census.X[:5])
    assert caplog.messages == [f"MatrixForestPredictor: {promise(predictor)}"]


def test_how_many_trials_a_search_made_is_not_told(census, caplog):
    forest = small_forest(census.schema)
    search = PrivateSearchCV(forest, {"max_depth": [1, 2]}, coverage=0.9, random_state=0)
    with caplog.at_level(logging.DEBUG, logger="dpforest"):
        search.fit(census.X, census.y)
    assert [r.levelname for r in caplog.records] == ["INFO", "DEBUG"]
    assert caplog.messages[0] == f"PrivateSearchCV: {promise(search)}"
