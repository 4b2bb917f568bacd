"""Where a classifier is one tree, or starts from one: what it costs, what it says, and when."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dpforest import (
    CategoricalFeature,
    NumericFeature,
    PrivateForestClassifier,
    Schema,
    Target,
)
from dpforest.forests.first_tree import (
    leaf_scores,
    leaf_shares,
    scores_by_chance,
)
from dpforest.forests.tree_plan import tree_depth
from dpforest.losses.logistic import clipped_logistic
from dpforest.privacy.leaves import LeafRelease

FEATURES = (
    NumericFeature("a", 0, 1),
    NumericFeature("b", 0, 1),
    CategoricalFeature("c", ("x", "y", "z")),
)
TWO = Schema(FEATURES, Target(classes=("no", "yes")))
THREE = Schema(FEATURES, Target(classes=("no", "maybe", "yes")))

pytestmark = pytest.mark.filterwarnings("ignore::dpforest.LittleSignalWarning")


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    X = np.empty((n, 3), object)
    X[:, 0], X[:, 1] = rng.random(n), rng.random(n)
    X[:, 2] = rng.choice(["x", "y", "z"], n)
    return X


def boxes(X):
    """A class for each of three boxes, which takes two questions, one after the other."""
    return np.select([X[:, 0] > 0.6, X[:, 1] > 0.3], ["yes", "maybe"], "no")


def fit(X, y, schema=THREE, **options):
    settings = {"epsilon": 1.0, "delta": 0.0, "random_state": 0, **options}
    groups = np.arange(len(X)) if "max_records_per_group" in options else None
    return PrivateForestClassifier(schema=schema, **settings).fit(X, y, groups=groups)


def is_tree(forest):
    return "class counts of the leaves" in forest.ledger_.explain()


PROTECTIONS = [{}, {"n_hint": 1_000}, {"neighbors": "replace_one"}, {"max_records_per_group": 2}]


@pytest.mark.parametrize("options", PROTECTIONS)
def test_a_tree_of_several_classes_spends_the_budget_and_no_more(options):
    X = draw(1_000)
    forest = fit(X, boxes(X), **options)
    assert is_tree(forest)
    assert 1 - 1e-9 < forest.ledger_.epsilon <= 1
    assert forest.ledger_.delta == 0
    assert forest.plan_.n_trees == 0
    assert "bins" not in forest.ledger_.explain()
    assert forest.score(X, boxes(X)) > 0.85


@pytest.mark.parametrize("options", PROTECTIONS)
def test_of_two_classes_trees_follow_and_both_spend_the_budget(options):
    X = draw(4_000)
    y = np.where(boxes(X) == "maybe", "yes", "no")
    forest = fit(X, y, TWO, **({"n_hint": 4_000} if "n_hint" in options else options))
    assert is_tree(forest)
    assert forest.plan_.n_trees > 0
    assert 1 - 1e-9 < forest.ledger_.epsilon <= 1
    assert forest.score(X, y) > 0.9
    stages = list(forest.staged_predict(X))
    assert len(stages) == 1 + forest.plan_.n_rounds
    assert np.mean(stages[0] == y) > 0.9
    assert_array_equal(stages[-1], forest.predict(X))


def test_with_a_large_budget_a_tree_tells_boxes_apart():
    X, fresh = draw(3_000), draw(3_000, 1)
    for seed in range(3):
        forest = fit(X, boxes(X), epsilon=20.0, random_state=seed)
        assert forest.score(fresh, boxes(fresh)) > 0.97


def test_where_a_sum_of_features_tells_there_is_no_tree():
    """Five features that tell a little each: it takes many questions to tell it."""
    rng = np.random.default_rng(0)
    X = rng.random((3_000, 5))
    y = np.array(["no", "maybe", "yes"])[np.digitize(X.sum(axis=1), [2.3, 2.7])]
    schema = Schema(tuple(NumericFeature(f"x{j}", 0, 1) for j in range(5)), THREE.target)
    for seed in range(3):
        forest = fit(X, y, schema, random_state=seed, epsilon=0.1)
        assert "errors that sums of features save" in forest.ledger_.explain()
        assert not is_tree(forest)
        assert "choice of a rule" in forest.ledger_.explain()
        assert 0.1 - 1e-9 < forest.ledger_.epsilon <= 0.1
        assert "trees of depth" in fit(X, y, schema, random_state=seed).ledger_.explain()


def test_who_asks_for_trees_weighs_constrains_or_has_a_delta_gets_none():
    X = draw(2_000)
    two = np.where(X[:, 0] > 0.5, "yes", "no")
    for options in ({"max_depth": 1}, {"delta": 1e-6}, {"class_weight": "balanced"}):
        assert not is_tree(fit(X, boxes(X), **options))
        assert not is_tree(fit(X, two, TWO, **options))
    assert not is_tree(fit(X, two, TWO, monotone_constraints={"a": 1}))
    weighted = PrivateForestClassifier(schema=THREE, delta=0.0, max_sample_weight=1.0)
    assert not is_tree(weighted.fit(X, boxes(X), sample_weight=np.ones(2_000)))


def test_many_classes_are_one_tree_too():
    rng = np.random.default_rng(0)
    X = rng.random((6_000, 3))
    y = (X[:, 0] * 8).astype(int) * 8 + (X[:, 1] * 8).astype(int)
    features = tuple(NumericFeature(f"x{j}", 0, 1) for j in range(3))
    schema = Schema(features, Target(classes=tuple(range(64))))
    forest = fit(X, y, schema, epsilon=8.0)
    assert is_tree(forest)
    assert forest.score(X, y) > 0.6
    assert forest.predict_proba(X).max() > 0.65


def test_a_file_that_was_written_before_there_were_trees_is_read(tmp_path, monkeypatch):
    X = draw(1_000)
    forest = fit(X, boxes(X), delta=1e-6)
    arrays = PrivateForestClassifier._arrays

    def before(self):
        return {name: array for name, array in arrays(self).items() if name != "tree_by_chance"}

    monkeypatch.setattr(PrivateForestClassifier, "_arrays", before)
    forest.save(tmp_path / "old.dpforest")
    again = PrivateForestClassifier.load(tmp_path / "old.dpforest")
    assert_array_equal(again.predict_proba(X), forest.predict_proba(X))


def test_a_report_says_what_kind_of_model_it_is():
    X = draw(1_000)
    assert "one tree of privately chosen splits" in fit(X, boxes(X)).report().html
    assert "boosted random trees" in fit(X, boxes(X), delta=1e-6).report().html


def test_large_budgets_pay_for_a_trial_too():
    X = draw(20_000)
    forest = fit(X, boxes(X), epsilon=30.0)
    assert "sums of features" in forest.ledger_.explain()
    assert forest.score(X, boxes(X)) > 0.98


def test_with_few_records_it_is_a_rule():
    X = draw(80)
    assert not is_tree(fit(X, boxes(X), n_hint=80))
    assert is_tree(fit(X, boxes(X), n_hint=100))


def test_features_of_one_value_leave_nothing_to_ask():
    schema = Schema((CategoricalFeature("c", ("x",)),), THREE.target)
    forest = fit(np.full((400, 1), "x", object), np.repeat(["no", "yes"], [100, 300]), schema)
    assert set(forest.predict(np.full((3, 1), "x", object))) == {"yes"}
    assert forest.ledger_.epsilon <= 1


def test_missing_and_unseen_values_have_a_side():
    X = draw(1_000)
    forest = fit(X, boxes(X))
    X[:300, 0], X[300:600, 2] = np.nan, "never seen"
    assert forest.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(1_000))


def test_it_explains_and_saves_itself_and_goes_on_with_trees(tmp_path):
    X = draw(2_000)
    two = np.where(boxes(X) == "maybe", "yes", "no")
    for y, schema in ((boxes(X), THREE), (two, TWO)):
        forest = fit(X, y, schema, warm_start=True)
        assert is_tree(forest)
        assert forest.feature_importances_.argmin() == 2
        assert forest.contributions(X[:3]) is not None
        forest.save(tmp_path / "tree.dpforest", overwrite=True)
        again = PrivateForestClassifier.load(tmp_path / "tree.dpforest")
        assert_array_equal(again.predict_proba(X), forest.predict_proba(X))
        assert_array_equal(again.feature_importances_, forest.feature_importances_)
        first = forest.forest_.trees.n_trees
        assert forest.fit(X, y).forest_.trees.n_trees > first
        assert forest.ledger_.epsilon == pytest.approx(2.0)


@pytest.mark.parametrize("schema", [TWO, THREE])
def test_on_random_labels_no_feature_stands_out(schema):
    """Whatever was chosen: fifteen features in all, of which by chance hardly one would."""
    X, rng = draw(3_000), np.random.default_rng(7)
    labels = rng.choice(schema.classes, (5, 3_000))
    named = [(fit(X, y, schema, random_state=3).feature_importances_ > 0).sum() for y in labels]
    assert sum(named) <= 1


def test_the_next_fit_forgets_what_chance_does_to_a_tree():
    X = draw(1_000)
    forest = fit(X, boxes(X))
    assert len(forest._start_by_chance) == forest.forest_.trees.n_trees
    assert len(forest.set_params(delta=1e-6).fit(X, boxes(X))._start_by_chance) == 0


def test_useless_features_beside_a_useful_one_seldom_stand_out():
    """Of 264 such features 19 do; of the 44 here a fifth would with a chance of a thousandth."""
    rng = np.random.default_rng(0)
    X = rng.random((4_000, 12))
    schema = Schema(tuple(NumericFeature(f"x{j}", 0, 1) for j in range(12)), THREE.target)
    y = np.array(THREE.classes)[np.digitize(X[:, 0], [1 / 3, 2 / 3])]
    y = np.where(rng.random(4_000) < 0.2, rng.choice(THREE.classes, 4_000), y)
    shown = [fit(X, y, schema, random_state=seed).feature_importances_ > 0 for seed in range(4)]
    assert all(which[0] for which in shown)
    assert sum(which[1:].sum() for which in shown) <= 9


def test_chance_moves_scores_as_far_as_records_and_noise_do():
    """As the scores of many draws of records and noise; of leaves with few records further."""
    counts, rng, noise = np.array([[300.0, 100.0], [60.0, 20.0]]), np.random.default_rng(0), 4.0
    by_chance = scores_by_chance(LeafRelease(counts, np.full(2, noise)))
    for place, spread in enumerate(by_chance.std(axis=1)):
        drawn = np.repeat(counts[None], 2_000, axis=0)
        drawn[:, place] = rng.poisson(counts[place], (2_000, 2))
        drawn[:, place] += rng.laplace(scale=noise / 2**0.5, size=(2_000, 2))
        scores = [leaf_scores(leaf_shares(LeafRelease(c, np.full(2, noise)))) for c in drawn]
        assert spread == pytest.approx(np.std([score[place, 0] for score in scores]), rel=0.3)


def test_trees_are_deeper_with_more_signal_but_no_deeper_than_routing_allows():
    depths = [tree_depth(10.0**power) for power in np.arange(0, 12, 0.25)]
    assert (depths[0], depths[-1]) == (2, 8)
    assert (np.diff(depths) >= 0).all()


def test_leaves_say_the_shares_of_classes_and_lean_on_those_of_all_by_their_noise():
    counts = np.array([[80.0, 20.0], [20.0, 80.0]])
    sure, unsure, deaf = (leaf_shares(LeafRelease(counts, np.full(2, d))) for d in (0, 30, 1e9))
    assert sure[:, 1] == pytest.approx([0.2, 0.8])
    assert (np.abs(unsure - 0.5) < np.abs(sure - 0.5)).all()
    assert deaf == pytest.approx(np.full((2, 2), 0.5), abs=1e-6)


def test_leaves_without_records_say_what_all_say():
    empty = LeafRelease(np.array([[-3.0, -2.0, -1.0], [10.0, 60.0, 30.0]]), np.full(2, 1.0))
    assert leaf_shares(empty)[0].argmax() == 1
    nothing = leaf_shares(LeafRelease(np.full((2, 3), -5.0), np.full(2, 1.0)))
    assert nothing.sum(axis=1) == pytest.approx(np.ones(2))


def test_scores_stand_for_shares():
    shares = np.array([[0.2, 0.8], [0.7, 0.3]])
    assert clipped_logistic(leaf_scores(shares)[:, 0]) == pytest.approx([0.8, 0.3])
    three = leaf_scores(np.array([[0.7, 0.2, 0.1]]))
    assert np.exp(three[0]) / np.exp(three).sum() == pytest.approx([0.7, 0.2, 0.1])
