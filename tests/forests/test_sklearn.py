"""scikit-learn's own checks of every estimator; what does not apply is listed with its reason."""

import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpforest import (
    GreedyForestClassifier,
    InnerFitsWarning,
    MatrixForestClassifier,
    MatrixForestPredictor,
    MedianForestClassifier,
    MedianForestRegressor,
    PrivateForestClassifier,
    PrivateForestRegressor,
    RandomDecisionForestClassifier,
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
