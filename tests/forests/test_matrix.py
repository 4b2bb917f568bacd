import copy
import math

import numpy as np
import pytest

from dpforest import (
    CategoricalFeature,
    MatrixForestClassifier,
    ModelFileError,
    NumericFeature,
    Schema,
    Target,
    datasets,
    load_model,
)
from dpforest.privacy.accounts.spends import Pure
from dpforest.privacy.mechanisms.strategies import expected_error
from dpforest.privacy.mechanisms.strategies.choose import STRATEGIES
from dpforest.privacy.mechanisms.strategies.optimise import best_kronecker

SCHEMA = Schema(
    (
        CategoricalFeature("a", (0, 1, 2)),
        CategoricalFeature("b", (0, 1)),
        NumericFeature("c", 0, 1, cuts=(0.25, 0.75)),
        CategoricalFeature("d", (0, 1)),
    ),
    Target(classes=("x", "y", "z")),
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.integers(0, 3, 900), rng.integers(0, 2, 900), rng.random(900), rng.integers(0, 2, 900)]
    )
    return X, np.array(["x", "y", "z"])[X[:, 0].astype(int)]


def make(**settings):
    settings = {"epsilon": 1.0, "n_estimators": 8, "max_depth": 2, "random_state": 0} | settings
    return MatrixForestClassifier(schema=SCHEMA, **settings)


@pytest.mark.parametrize("strategy", ["auto", *STRATEGIES])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_every_strategy_learns_and_spends_exactly_its_epsilon(data, strategy, delta):
    model = make(strategy=strategy, delta=delta, epsilon=2.0).fit(*data)
    assert model.ledger_.epsilon == pytest.approx(2.0, rel=1e-5)
    assert model.ledger_.epsilon <= 2.0
    assert model.ledger_.delta == delta
    assert model.score(*data) > 0.9


@pytest.mark.parametrize(
    "settings",
    [{"sampling": "disjoint"}, {"voting": "hard"}, {"voting": "weighted"}, {"n_ensembles": 3}],
)
def test_baselines_votes_and_ensembles(data, settings):
    model = make(epsilon=5.0, **settings).fit(*data)
    assert model.ledger_.epsilon == pytest.approx(5.0, rel=1e-9)
    assert model.score(*data) > 0.6
    np.testing.assert_allclose(model.predict_proba(data[0]).sum(axis=1), 1)


@pytest.mark.parametrize("strategy", ["auto", "marginals", "kronecker", "mixture", "laplace"])
def test_without_noise_all_strategies_give_the_exact_leaf_counts(data, strategy):
    exact = make(epsilon=math.inf, strategy="laplace").fit(*data).leaf_values_
    model = make(epsilon=math.inf, strategy=strategy).fit(*data)
    np.testing.assert_allclose(model.leaf_values_, exact, atol=1e-6)
    assert exact.sum() == pytest.approx(8 * 900)
    assert model.ledger_.guarantee is None


def test_the_deviations_are_those_of_the_noise(data):
    """Of each leaf's noise: Laplace noise on the leaves, and cells added up over a leaf."""
    disjoint = make(epsilon=0.1, sampling="disjoint").fit(*data)
    np.testing.assert_allclose(disjoint.leaf_deviations_, math.sqrt(2) / 0.1, rtol=0.01)
    laplace = make(epsilon=0.1, strategy="laplace").fit(*data)
    np.testing.assert_allclose(laplace.leaf_deviations_, 8 * math.sqrt(2) / 0.1, rtol=0.01)
    cells = make(epsilon=0.1, strategy="identity").fit(*data)
    summed = np.prod(np.where(cells.ensembles_[0].leaf_cells < 0, [3, 2, 3, 2], 1), axis=1)
    np.testing.assert_allclose(cells.leaf_deviations_, np.sqrt(2 * summed) / 0.1, rtol=0.01)
    assert not make(epsilon=math.inf).fit(*data).leaf_deviations_.any()


def test_counts_match_a_plain_loop(data):
    model = make(epsilon=math.inf).fit(*data)
    X, y = data
    bins = model.encoding_.bins(X)
    (ensemble,) = model.ensembles_
    for leaf, cell in enumerate(ensemble.leaf_cells):
        inside = ((cell < 0) | (bins == cell)).all(axis=1)
        for k, name in enumerate(model.classes_):
            assert model.leaf_values_[leaf, k] == pytest.approx((inside & (y == name)).sum())


def test_optimised_noise_is_smaller_than_laplace_on_the_leaves(data):
    model = make(n_estimators=50).fit(*data)
    (choice,), (workload,) = model.choices_, model.workloads()
    assert choice.expected_error < choice.considered["laplace"] / 10
    assert choice.considered["laplace"] == pytest.approx(2 * 50**2 * workload.n_queries, rel=1e-3)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_choice_is_never_worse_than_the_authors(data, seed, depth):
    """Kronecker p-Identity with p = 1 is their choice."""
    model = make(random_state=seed, max_depth=depth).fit(*data)
    theirs = best_kronecker(model.workloads()[0], 1)
    assert model.choices_[0].expected_error <= expected_error(
        model.workloads()[0], theirs, Pure(1)
    ) * (1 + 1e-12)


def test_missing_and_unseen_values_have_no_cells_of_their_own(data):
    X, y = data[0].copy(), data[1]
    X[::7, 2] = np.nan
    X[::5, 0] = 17
    model = make().fit(X, y)
    assert model.forest_.n_leaves == make().fit(*data).forest_.n_leaves
    assert len(model.predict(X)) == 900


def test_auto_pays_for_a_count_and_a_hint_saves_it(data):
    auto = make(max_depth="auto", n_estimators="auto").fit(*data)
    assert len(auto.ledger_.entries) == 2
    assert auto.ledger_.epsilon == pytest.approx(1.0, rel=1e-9)
    assert auto.plan_.n_trees == auto.plan_.n_ensembles
    assert len(make(max_depth="auto", n_hint=900).fit(*data).ledger_.entries) == 1


def test_paid_cuts_follow_the_records():
    rng = np.random.default_rng(0)
    X = rng.exponential(1.0, (3_000, 2))
    schema = Schema(
        (NumericFeature("a", 0, 1000), NumericFeature("b", 0, 1000)), Target(classes=(0, 1))
    )
    settings = {"epsilon": 4.0, "schema": schema, "max_depth": 2, "random_state": 0}
    y = (X[:, 0] > 1).astype(int)
    model = MatrixForestClassifier(cuts="quantiles", **settings).fit(X, y)
    assert model.ledger_.epsilon == pytest.approx(4.0, rel=1e-9)
    assert len(model.ledger_.entries) == 4
    assert np.median(model.encoding_.cuts[0]) < 5
    assert model.score(X, y) > 0.8
    assert MatrixForestClassifier(**settings).fit(X, y).score(X, y) < 0.7


def test_a_saved_model_predicts_the_same(data, tmp_path):
    model = make(n_ensembles=2, features_per_ensemble=3).fit(*data)
    path = tmp_path / "model.dpforest"
    model.save(path)
    again = load_model(path)
    np.testing.assert_array_equal(model.predict_proba(data[0]), again.predict_proba(data[0]))
    assert again.ledger_.epsilon == model.ledger_.epsilon
    assert again.plan_ == model.plan_
    for name in ("leaf_values_", "leaf_deviations_"):
        broken = copy.deepcopy(model)
        setattr(broken, name, getattr(model, name)[1:])
        broken.save(path, overwrite=True)
        with pytest.raises(ModelFileError):
            load_model(path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strategy": "magic"}, "strategy must be one of"),
        ({"voting": "loud"}, "voting must be one of"),
        ({"sampling": "disjoint", "delta": 1e-6}, "sampling='disjoint'"),
        ({"sampling": "disjoint", "strategy": "marginals"}, "sampling='disjoint'"),
        ({"n_ensembles": 9}, "n_ensembles must be at most"),
        ({"max_bins": 1}, "max_bins"),
    ],
)
def test_wrong_parameters_are_refused_before_anything_is_spent(data, settings, message):
    with pytest.raises(ValueError, match=message):
        make(**settings).fit(*data)


def test_groups_and_replacement_raise_the_noise(data):
    X, y = data
    groups = np.arange(900) // 3
    grouped = make(max_records_per_group=3).fit(X, y, groups=groups)
    assert grouped.ledger_.epsilon <= 1.0
    assert grouped.ledger_.protection.steps == 3
    assert make(neighbors="replace_one").fit(X, y).ledger_.protection.steps == 2


def test_more_ensembles_than_trees_are_refused_before_anything_is_spent():
    census = datasets.make_census(300, random_state=0)
    forest = MatrixForestClassifier(schema=census.schema, n_estimators=2, n_ensembles=3)
    with pytest.raises(ValueError, match="n_ensembles must be at most"):
        forest.fit(census.X, census.y)
    assert not hasattr(forest, "ledger_")
