import numpy as np
import pytest

from dpforest import PrivateForestClassifier, PrivateSearchCV, RandomDecisionForestClassifier
from dpforest.audit import SMALL_SCHEMA, OneSearch, Table, replay, search_controls
from dpforest.audit.suite import searches

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.random(40), RNG.integers(0, 2, 40)])
Y = (X[:, 0] > 0.5).astype(int)
ODD = [0.9, 1.0]
ESTIMATORS = {
    "pure": RandomDecisionForestClassifier(schema=SMALL_SCHEMA, n_estimators=1, max_depth=1),
    "counted": RandomDecisionForestClassifier(schema=SMALL_SCHEMA),
    "gaussian": PrivateForestClassifier(
        schema=SMALL_SCHEMA, n_hint=30, n_estimators=1, max_depth=1
    ),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("method", ["random_stopping", "permute_and_flip"])
def test_either_part_tells_what_it_pays_for_and_no_more(name, method):
    made = PrivateSearchCV(ESTIMATORS[name], {"max_depth": [1, 2]}, method=method, hold_out=0.5)
    tables = Table(X, Y), Table(np.vstack([X, ODD]), np.r_[Y, 1])
    reports = [replay(OneSearch(made), *tables, seed=seed) for seed in range(4)]
    assert all(report.holds for report in reports)
    assert max(report.tightness for report in reports) == pytest.approx(1, abs=1e-3)


def test_a_replaced_person_is_covered():
    forest = ESTIMATORS["pure"]
    forest = RandomDecisionForestClassifier(
        **{**forest.get_params(), "max_records_per_group": 2, "neighbors": "replace_one"}
    )
    made = OneSearch(PrivateSearchCV(forest, {"max_depth": [1, 2]}, hold_out=0.5))
    persons = np.arange(40)
    tables = [
        Table(np.vstack([X, *[odd] * 2]), np.r_[Y, label, label], np.r_[persons, who, who])
        for odd, label, who in (([0.1, 0.0], 0, 100), (ODD, 1, 101))
    ]
    reports = [
        replay(made, *tables, common=40, max_records_per_group=2, seed=seed) for seed in range(4)
    ]
    assert all(report.holds for report in reports)


@pytest.mark.parametrize("name", search_controls())
def test_broken_searches_are_caught(name):
    control = search_controls()[name]
    assert control.replay(broken=False).holds
    assert not control.replay().holds


def test_the_suite_has_a_section_about_searches():
    page = searches()
    assert page.count("caught") == len(search_controls())
    assert page.count("holds") == 18
    assert "BROKEN" not in page
