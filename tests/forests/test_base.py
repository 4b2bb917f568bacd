"""What all estimators share: ledgers that never stand above trees of another fit."""

import copy
import pickle
from contextlib import contextmanager, nullcontext, suppress
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from dpforest import (
    Budget,
    BudgetExceededError,
    GreedyForestClassifier,
    MatrixForestClassifier,
    MatrixForestPredictor,
    MedianForestClassifier,
    MedianForestRegressor,
    NumericFeature,
    PrivacyLeakWarning,
    PrivateForestClassifier,
    PrivateForestRegressor,
    PrivateIntervalRegressor,
    RandomDecisionForestClassifier,
    Schema,
    SchemaError,
    Target,
    datasets,
    load_model,
)
from dpforest.privacy.accounts.ledger import Ledger, Protection, Spend
from dpforest.privacy.accounts.mechanisms_used import DiscreteLaplace
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.records.local import LocalStore


@pytest.fixture(scope="module")
def census():
    return datasets.make_census(400, random_state=0)


ESTIMATORS = {
    "boosted": (PrivateForestClassifier, "dpforest.forests.boosted_base.linear_start"),
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


OF_TABLES = {"schema_", "ledger_", "classes_", "_complete", "n_features_in_", "feature_names_in_"}
"""What a fit knows before anything is released."""

RESULTS = [
    PrivateForestClassifier(),
    PrivateForestClassifier(delta=0.0),
    PrivateForestRegressor(),
    PrivateIntervalRegressor(),
    RandomDecisionForestClassifier(),
    MedianForestClassifier(),
    MedianForestRegressor(),
    GreedyForestClassifier(),
    MatrixForestClassifier(max_depth=2),
    MatrixForestPredictor(max_depth=2),
]


@pytest.mark.parametrize("model", RESULTS, ids=lambda model: str(model)[:40])
def test_nothing_of_an_earlier_fit_outlives_the_beginning_of_the_next(census, monkeypatch, model):
    numbers = Schema(census.schema.features, Target(low=0, high=120))
    y = census.y if is_classifier(model) else census.X["age"]
    schema = census.schema if is_classifier(model) else numbers
    model = clone(model).set_params(epsilon=3.0, schema=schema).fit(census.X, y)
    known = model.get_params().keys() | OF_TABLES
    assert vars(model).keys() - known, "a fit leaves results"

    def fail(self, desk, rng):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(model), "_train", fail)
    with pytest.raises(KeyboardInterrupt):
        model.fit(census.X, y)
    assert vars(model).keys() <= known


def test_what_an_auditor_lends_is_there_for_the_next_fit(census):
    model = RandomDecisionForestClassifier(schema=census.schema, n_estimators=2)
    model._draws = Draws(1)
    lent = model._draws
    assert model.fit(census.X, census.y)._draws is lent
    assert model.fit(census.X, census.y)._draws is lent


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


def test_a_starter_schema_leaves_no_guarantee(census):
    starter = {"read_from_data": "PRIVATE"} | census.schema.to_dict()
    model = RandomDecisionForestClassifier(schema=starter, n_estimators=2)
    with pytest.warns(PrivacyLeakWarning):
        model.fit(census.X, census.y)
    assert model.ledger_.guarantee is None
    assert not model.ledger_.releasable


def test_a_budget_does_not_pay_for_a_starter_schema(census, tmp_path):
    budget = Budget.create(tmp_path / "b.db", epsilon=3.0, delta=0.0, table="t")
    starter = {"read_from_data": "PRIVATE"} | census.schema.to_dict()
    model = RandomDecisionForestClassifier(schema=starter, n_estimators=2, budget=budget)
    with pytest.warns(PrivacyLeakWarning), pytest.raises(ValueError, match="this has none"):
        model.fit(census.X, census.y)


def test_a_seeded_schema_is_noted(census):
    schema = Schema.infer(census.X, target=census.y, epsilon=50.0, delta=1e-3, random_state=0)
    kept = census.X[list(schema.feature_names)]
    model = RandomDecisionForestClassifier(schema=schema).fit(kept, census.y)
    assert model.ledger_.guarantee is not None
    assert any("not for release" in note for note in model.ledger_.notes)
    assert not model.ledger_.releasable
    assert not model.ledger_.guarantee.releasable


# A model contains its schema


def test_a_model_pays_for_its_schema(census, tmp_path):
    schema = Schema.infer(census.X, target=census.y, epsilon=3.0, delta=1e-3)
    kept = census.X[list(schema.feature_names)]
    models = [
        RandomDecisionForestClassifier(epsilon=0.1, schema=each, n_estimators=2, max_depth=2)
        for each in (schema, schema.to_dict(), schema.select(schema.feature_names[:1]))
    ]
    for model in models:
        part = kept if model is not models[2] else kept[[schema.feature_names[0]]]
        model.fit(part, census.y)
        assert model.ledger_.epsilon == pytest.approx(3.1, rel=1e-6)
        assert model.ledger_.guarantee.delta == schema.ledger.delta
        assert [stage.kind for stage in model.ledger_.stages] == ["schema", "fit"]
    # Fits on the same schema share what it cost, also from files.
    models[0].save(tmp_path / "model.dpforest")
    ledgers = [model.ledger_ for model in (*models, load_model(tmp_path / "model.dpforest"))]
    assert Ledger.together(schema.ledger, *ledgers).epsilon == pytest.approx(3.3, rel=1e-6)


def paid_schema(epsilon=1.0, protection=None):
    """A schema that cost so much, whatever it says."""
    ledger = Ledger(epsilon, 0.0, protection or Protection(), kind="schema")
    noise = DiscreteLaplace(1 / Fraction(epsilon), 1)
    ledger.debit(Spend.of("bounds of 'x0'", "discrete Laplace", noise))
    features = (NumericFeature("x0", 0, 1), NumericFeature("x1", 0, 1))
    return Schema(features, Target(classes=(0, 1)), ledger)


@pytest.fixture(scope="module")
def table():
    X = np.random.default_rng(0).random((60, 2))
    return X, (X[:, 0] > 0.5).astype(int)


SMALL = {"n_estimators": 2, "max_depth": 2}
PERSONS = {"max_records_per_group": 2}
PROTECTIONS = {
    "records": (Protection(), {}),
    "records replaced": (Protection("replace_one"), {"neighbors": "replace_one"}),
    "persons": (Protection("add_remove", "group", 2), PERSONS),
    "persons of three": (Protection("add_remove", "group", 3), PERSONS),
}


@pytest.mark.parametrize("paid", PROTECTIONS)
@pytest.mark.parametrize("fitted", ["records", "records replaced", "persons"])
def test_schema_and_model_must_protect_the_same(table, paid, fitted):
    schema = paid_schema(protection=PROTECTIONS[paid][0])
    settings = PROTECTIONS[fitted][1]
    model = RandomDecisionForestClassifier(schema=schema, **SMALL, **settings)
    persons = {"groups": np.arange(60)} if "max_records_per_group" in settings else {}
    ledger = model.fit(*table, **persons).ledger_
    if paid == fitted:
        assert ledger.guarantee.epsilon == pytest.approx(2.0)
        return
    assert ledger.guarantee is None
    assert not ledger.releasable
    assert PROTECTIONS[paid][0].describe() in ledger.reasons[0]
    assert ledger.explain().startswith("no guarantee: the schema was paid for")


# What failed fits spent


@contextmanager
def interrupted(after):
    """Let the records be totalled so often, and no more."""
    total, left = LocalStore.total, iter(range(after))

    def counted(store, statistic):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return total(store, statistic)

    told = pytest.warns(RuntimeWarning, match="had spent")
    with pytest.MonkeyPatch.context() as patch, told, suppress(KeyboardInterrupt):
        patch.setattr(LocalStore, "total", counted)
        yield
        pytest.fail("nothing was interrupted")


def test_a_failed_fit_is_in_the_ledger_of_the_next(table):
    schema = paid_schema(0.5)
    model = RandomDecisionForestClassifier(schema=schema, epsilon=1.0, max_depth=2)
    with interrupted(after=0):
        model.fit(*table)
    assert model.ledger_.epsilon == pytest.approx(0.52)  # the number of records costs 0.02
    with interrupted(after=1):
        model.fit(*table)
    assert model.ledger_.epsilon == pytest.approx(1.52)  # and now the leaves were paid for
    model.fit(*table)
    assert model.ledger_.epsilon == pytest.approx(2.52)
    kinds = [stage.kind for stage in model.ledger_.stages]
    assert kinds == ["schema", "failed fit", "failed fit", "fit"]
    assert any("remain spent" in note for note in model.ledger_.notes)
    # A model that came to its end stands for itself: the next one starts anew.
    before = model.ledger_
    model.fit(*table)
    assert model.ledger_.epsilon == pytest.approx(1.5)
    assert Ledger.together(before, model.ledger_).epsilon == pytest.approx(3.52)


def test_a_clone_starts_clean(table):
    model = RandomDecisionForestClassifier(schema=paid_schema(), max_depth=2)
    with interrupted(after=0):
        model.fit(*table)
    assert clone(model).fit(*table).ledger_.epsilon == pytest.approx(2.0)
    again = pickle.loads(pickle.dumps(model))
    assert again.fit(*table).ledger_.epsilon == pytest.approx(2.02)


def test_a_refused_table_loses_no_failure(table):
    model = RandomDecisionForestClassifier(schema=paid_schema(), max_depth=2)
    with interrupted(after=0):
        model.fit(*table)
    with pytest.raises(ValueError, match="different lengths"):
        model.fit(table[0], [0, 1])
    assert model.fit(*table).ledger_.epsilon == pytest.approx(2.02)


def test_a_failed_continuation_is_kept_in_every_way_to_go_on(table):
    model = PrivateForestClassifier(
        schema=paid_schema(), n_estimators=4, n_hint=60, delta=0.0, warm_start=True
    )
    model.fit(*table)
    with interrupted(after=0):
        model.fit(*table)
    broken = model.ledger_
    failed = float(broken.stages[-1].epsilon)
    assert 0 < failed <= 1
    assert [stage.kind for stage in broken.stages] == ["schema", "fit", "failed fit"]
    anew = copy.deepcopy(model).set_params(warm_start=False).fit(*table).ledger_
    assert [stage.kind for stage in anew.stages] == ["schema", "failed fit", "fit"]
    assert anew.epsilon == pytest.approx(2 + failed)
    model.fit(*table)
    kinds = [stage.kind for stage in model.ledger_.stages]
    assert kinds == ["schema", "fit", "failed fit", "continued fit"]
    assert model.ledger_.epsilon == pytest.approx(3 + failed)


def test_what_failed_for_others_leaves_no_guarantee(table):
    model = RandomDecisionForestClassifier(schema=None, max_depth=2)
    model.set_params(schema=Schema(paid_schema().features, Target(classes=(0, 1))))
    with interrupted(after=0):
        model.fit(*table)
    ledger = model.set_params(neighbors="replace_one").fit(*table).ledger_
    assert ledger.guarantee is None
    assert "the failed fit was paid for adding or removing one record" in ledger.reasons[0]


STEPS = st.tuples(
    st.sampled_from(["schema", "part", "fit", "fail", "late", "warm", "warm fail", "ask", "file"]),
    st.integers(0, 2),
    st.sampled_from([0.25, 0.5, 1.0]),
)


@settings(deadline=None, max_examples=25)
@given(st.lists(STEPS, min_size=3, max_size=10))
def test_no_chain_of_fits_and_failures_forgets_what_it_released(tmp_path_factory, table, steps):
    """Keep the ledgers of schemas and models: together they hold every debit, each once."""
    spent, debit = [], Ledger.debit

    def debited(ledger, entry):
        debit(ledger, entry)
        spent.append(entry.cost().epsilon)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "debit", debited)
        schemas, models, kept = [paid_schema(0.5)], {}, []
        for step, place, epsilon in steps:
            schema = schemas[place % len(schemas)]
            boosted = PrivateForestClassifier(n_estimators=2, n_hint=60, delta=0.0)
            fresh = [
                RandomDecisionForestClassifier(max_depth=1),
                boosted,
                MatrixForestPredictor(max_depth=1, epsilon_per_batch=0.125),
            ][place]
            model = models.setdefault(place, fresh)
            X = table[0][:, : schema.n_features]
            if step == "schema":
                schemas.append(paid_schema(epsilon))
            elif step == "part":
                schemas.append(schema.select(["x0"]))
            elif step == "ask":
                if place == 2 and model._complete:
                    with suppress(BudgetExceededError):
                        model.predict(table[0][:, : model.n_features_in_] + len(spent))
            elif step == "file":
                if place < 2 and model._complete:
                    path = tmp_path_factory.mktemp("chain") / "model.dpforest"
                    model.save(path)
                    models[place] = load_model(path)
            else:
                warm = step.startswith("warm") and place == 1
                if place == 1:
                    model.set_params(warm_start=warm)
                if warm and model._complete:
                    schema, X = model.schema_, table[0][:, : model.n_features_in_]
                model.set_params(epsilon=epsilon, schema=schema)
                fails = place < 2 and step in ("fail", "late", "warm fail")
                with interrupted(int(step == "late" and place == 0)) if fails else nullcontext():
                    model.fit(X, table[1])
            # The user keeps the ledgers of schemas and finished models, not those of failures.
            kept += [each.ledger_ for each in models.values() if each._complete]
        live = [each.ledger_ for each in models.values() if hasattr(each, "ledger_")]
    whole = Ledger.together(*(schema.ledger for schema in schemas), *kept, *live)
    assert whole.epsilon == pytest.approx(float(sum(spent)), rel=1e-12)


def test_a_predictor_that_holds_records_is_not_copied(census):
    predictor = MatrixForestPredictor(schema=census.schema, max_depth=1)
    pickle.loads(pickle.dumps(predictor))
    predictor.fit(census.X, census.y)
    for leave in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="neither saved nor pickled"):
            leave(predictor)


def test_a_continued_fit_draws_anew(census, monkeypatch):
    seeds, made = [], Draws.__init__

    def seen(self, seed=None):
        seeds.append(seed)
        made(self, seed)

    monkeypatch.setattr(Draws, "__init__", seen)
    model = PrivateForestClassifier(
        schema=census.schema, n_estimators=20, n_hint=100_000, warm_start=True, random_state=0
    )
    model.fit(census.X, census.y).fit(census.X, census.y)
    first, second = seeds
    assert None not in seeds
    assert first != second


def test_errors_about_y_tell_no_number_of_records(census):
    model = RandomDecisionForestClassifier(schema=census.schema)
    with pytest.raises(ValueError, match="one column") as caught:
        model.fit(census.X, np.zeros((400, 2)))
    assert "400" not in str(caught.value)


@pytest.mark.parametrize(
    "estimator",
    [
        RandomDecisionForestClassifier(),
        GreedyForestClassifier(),
        MedianForestClassifier(),
        MatrixForestClassifier(),
    ],
)
def test_trees_are_no_finer_for_persons_than_for_as_much_less_epsilon(census, estimator):
    """Noise for eight records of a person is eight times as large: so trees are planned."""
    several = clone(estimator).set_params(
        schema=census.schema, n_hint=10_000, epsilon=4.0, max_records_per_group=8, random_state=0
    )
    several.fit(census.X, census.y, groups=np.arange(len(census.y)))
    single = clone(estimator).set_params(
        schema=census.schema, n_hint=10_000, epsilon=0.5, random_state=0
    )
    single.fit(census.X, census.y)
    assert several.forest_.n_trees == single.forest_.n_trees
    assert several.forest_.max_depth == single.forest_.max_depth
    unaware = clone(single).set_params(epsilon=4.0).fit(census.X, census.y)
    shapes = [(m.forest_.n_trees, m.forest_.max_depth) for m in (unaware, single)]
    assert shapes[0] != shapes[1]
