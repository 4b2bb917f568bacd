"""scikit-learn's own checks of every estimator; what does not apply is listed with its reason."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, LabelEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmarks.pages import ROOT
from dpforest import (
    GreedyForestClassifier,
    InnerFitsWarning,
    MatrixForestClassifier,
    MatrixForestPredictor,
    MedianForestClassifier,
    MedianForestRegressor,
    PrivateForestClassifier,
    PrivateForestRegressor,
    PrivateIntervalRegressor,
    RandomDecisionForestClassifier,
    Schema,
    SchemaError,
    Target,
    datasets,
)

ANY_ORDER = "columns are matched by name, in any order, on purpose"
EXPECTED_FAILURES = {
    "check_dataframe_column_names_consistency": ANY_ORDER,
}

OF_WEIGHTS = {
    "check_all_zero_sample_weights_error": "whether all weights are 0 is private",
    "check_sample_weight_equivalence_on_dense_data": "a weight is no repetition to the noise",
}
OWN_FAILURES = {
    "PrivateForestClassifier": OF_WEIGHTS,
    "PrivateForestRegressor": OF_WEIGHTS,
    "PrivateIntervalRegressor": OF_WEIGHTS,
    "GreedyForestClassifier": {
        "check_class_weight_classifiers": "its leaves release labels, unless they are asked counts",
    },
    "MatrixForestPredictor": {
        "check_dict_unchanged": "predict spends the budget and remembers its answer",
        "check_estimators_pickle": "it holds the records, so it is not pickled",
    },
}

ESTIMATORS = [
    GreedyForestClassifier(epsilon=100.0, random_state=0),
    MatrixForestClassifier(epsilon=100.0, random_state=0),
    MatrixForestPredictor(epsilon=1e6, epsilon_per_batch=100.0, max_depth=2, random_state=0),
    RandomDecisionForestClassifier(epsilon=100.0, random_state=0),
    PrivateForestClassifier(epsilon=100.0, max_sample_weight=5.0, random_state=0),
    PrivateForestRegressor(epsilon=100.0, max_sample_weight=5.0, random_state=0),
    PrivateIntervalRegressor(epsilon=100.0, max_sample_weight=5.0, random_state=0),
    MedianForestClassifier(epsilon=100.0, random_state=0),
    MedianForestRegressor(epsilon=1000.0, sampling="shared", random_state=0),
]


@pytest.mark.filterwarnings("ignore::dpforest.PrivacyLeakWarning")
@parametrize_with_checks(
    ESTIMATORS,
    expected_failed_checks=lambda e: EXPECTED_FAILURES | OWN_FAILURES.get(type(e).__name__, {}),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_page_lists_what_is_expected_to_fail():
    page = (ROOT / "docs/api/estimators.md").read_text(encoding="utf-8")
    listed = [line for line in page.splitlines() if line.startswith("| `check_")]
    for kind, checks in OWN_FAILURES.items():
        for check in checks:
            assert any(check in line and kind in line for line in listed), (check, kind)
    for check in EXPECTED_FAILURES:
        assert any(check in line and "| all |" in line for line in listed), check
    names = {*EXPECTED_FAILURES, *(check for each in OWN_FAILURES.values() for check in each)}
    assert len(listed) == len(names)


@pytest.fixture(scope="module")
def census():
    return datasets.make_census(1_500, random_state=0)


def test_model_selection_and_pipelines_work(census):
    forest = RandomDecisionForestClassifier(schema=census.schema, epsilon=5.0, random_state=0)
    with pytest.warns(InnerFitsWarning, match="epsilon = 5 of its own"):
        assert cross_val_score(clone(forest), census.X, census.y, cv=3).min() > 0.6
    with pytest.warns(InnerFitsWarning, match="model_selection"):
        search = GridSearchCV(forest, {"max_depth": [2, 4]}, cv=2).fit(census.X, census.y)
    assert search.best_params_["max_depth"] in (2, 4)
    pipeline = make_pipeline(FunctionTransformer(), forest).fit(census.X, census.y)
    assert pipeline.predict(census.X).shape == (1_500,)


@pytest.mark.filterwarnings("ignore::dpforest.InnerFitsWarning")
def test_labels_that_scikit_learn_has_encoded_are_said_to_be(census):
    """Adding 0 and 1 to the classes would be the wrong thing to do."""
    forest = RandomDecisionForestClassifier(schema=census.schema, epsilon=5.0, random_state=0)

    def probabilities(X, y, model=forest):
        return cross_val_predict(model, X, y, cv=2, method="predict_proba")

    for model in (forest, clone(forest).set_params(schema=census.schema.to_dict())):
        with pytest.raises(SchemaError, match="has encoded the labels") as caught:
            probabilities(census.X, census.y, model)
        assert "declare the classes 0 to K - 1" in str(caught.value)
    # The advice holds; and what scikit-learn has not encoded is refused as ever.
    numbers = Schema(census.schema.features, Target("income", classes=(0, 1)))
    codes = LabelEncoder().fit_transform(census.y)
    told = probabilities(census.X, codes, clone(forest).set_params(schema=numbers))
    assert told.shape == (1_500, 2)
    with pytest.raises(SchemaError, match="not among the declared classes"):
        forest.fit(census.X, codes)
    with pytest.raises(SchemaError, match="not among the declared classes"):
        cross_val_score(forest, census.X, np.where(codes == 1, "rich", "poor"), error_score="raise")


@pytest.mark.filterwarnings("ignore::dpforest.InnerFitsWarning")
def test_persons_and_weights_reach_the_fits_of_a_cross_validation(census):
    persons = np.arange(len(census.y)) // 2
    forest = PrivateForestClassifier(
        schema=census.schema,
        epsilon=5.0,
        n_estimators=4,
        max_records_per_group=2,
        max_sample_weight=3.0,
        random_state=0,
    )
    with config_context(enable_metadata_routing=True):
        forest.set_fit_request(groups=True, sample_weight=True)
        forest.set_score_request(sample_weight=False)
        found = cross_validate(
            forest,
            census.X,
            census.y,
            cv=GroupKFold(2),
            params={"groups": persons, "sample_weight": np.ones(len(census.y))},
            return_estimator=True,
        )
    for model in found["estimator"]:
        assert model.ledger_.protection.unit == "group"
        assert model.total_weight_ < 0.6 * model.n_records_  # in units of the bound of 3
    with (
        config_context(enable_metadata_routing=True),
        pytest.raises(ValueError, match="groups and max_records_per_group go together"),
    ):
        cross_validate(
            clone(forest).set_fit_request(groups=False, sample_weight=False),
            census.X,
            census.y,
            cv=GroupKFold(2),
            params={"groups": persons},
            error_score="raise",
        )


@pytest.mark.parametrize("kind", [PrivateForestClassifier, RandomDecisionForestClassifier])
def test_log_probabilities_are_those_of_the_probabilities(census, kind):
    forest = kind(schema=census.schema, n_estimators=3, random_state=0).fit(census.X, census.y)
    logs = forest.predict_log_proba(census.X)
    np.testing.assert_allclose(np.exp(logs), forest.predict_proba(census.X))


def test_the_last_stage_is_the_decision(census):
    forest = PrivateForestClassifier(schema=census.schema, random_state=0).fit(census.X, census.y)
    *_, last = forest.staged_decision_function(census.X)
    np.testing.assert_allclose(last, forest.decision_function(census.X), rtol=1e-5)
