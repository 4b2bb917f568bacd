import pytest
from sklearn.ensemble import RandomForestClassifier

from dpforest import MatrixForestPredictor, RandomDecisionForestClassifier
from dpforest.audit import SMALL_SCHEMA
from dpforest.search.candidates import checked_candidates

FOREST = RandomDecisionForestClassifier(schema=SMALL_SCHEMA)


def test_a_grid_is_spelled_out_and_a_list_is_taken_as_it_is():
    listed = [{"max_depth": 2}, {"n_estimators": 3, "leaves": "label"}]
    assert checked_candidates(FOREST, listed, None) == listed
    found = checked_candidates(FOREST, {"max_depth": [1, 2], "n_estimators": [3, 4]}, None)
    assert len(found) == 4
    assert {"max_depth": 2, "n_estimators": 3} in found


@pytest.mark.parametrize(
    ("estimator", "candidates", "error", "match"),
    [
        (RandomForestClassifier(), [{}, {}], TypeError, "one of dpforest's"),
        (MatrixForestPredictor(schema=SMALL_SCHEMA), [{}, {}], TypeError, "pays for its answers"),
        (RandomDecisionForestClassifier(), [{}, {}], ValueError, "no schema"),
        (
            RandomDecisionForestClassifier(schema=SMALL_SCHEMA, random_state=1),
            [{}, {}], ValueError, "random_state of its own",
        ),
        (
            RandomDecisionForestClassifier(schema=SMALL_SCHEMA, budget="b.db"),
            [{}, {}], ValueError, "budget of its own",
        ),
        (FOREST, [{}], ValueError, "at least 2"),
        (FOREST, 3, TypeError, "list of dictionaries"),
        (FOREST, [{}, 3], TypeError, "expected a dictionary"),
        (FOREST, [{}, {"epsilon": 3}], ValueError, "'epsilon'"),
        (FOREST, [{}, {"schema": None}], ValueError, "'schema'"),
        (FOREST, [{}, {"depth": 3}], ValueError, "no parameter"),
        (FOREST, [{}, {"max_depth": -3}], ValueError, "max_depth"),
        (FOREST, [{}, {"leaves": "many"}], ValueError, "leaves"),
    ],
)  # fmt: skip
def test_what_will_not_do_is_refused(estimator, candidates, error, match):
    with pytest.raises(error, match=match):
        checked_candidates(estimator, candidates, None)


def test_persons_need_their_bound():
    with pytest.raises(ValueError, match="go together"):
        checked_candidates(FOREST, [{}, {"max_depth": 2}], [1, 2, 3])
