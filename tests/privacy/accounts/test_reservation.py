"""Uses of a budget: reserved on the disk before a record is read, settled to what was released."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score

import dpforest
from dpforest import (
    Budget,
    BudgetExceededError,
    BudgetFileError,
    CategoricalFeature,
    GreedyForestClassifier,
    Ledger,
    MatrixForestClassifier,
    MatrixForestPredictor,
    MedianForestClassifier,
    NumericFeature,
    PrivateForestClassifier,
    PrivateForestRegressor,
    Protection,
    RandomDecisionForestClassifier,
    Schema,
    SchemaError,
    Target,
    literature,
    load_model,
)
from dpforest.privacy import inference, opening
from dpforest.privacy.accounts import budget_debits
from dpforest.privacy.accounts.reservation import Reservation, Use
from dpforest.privacy.accounts.spends import Approximate, Cost, Gaussian, Pure, Spend
from dpforest.records import stores

FEATURES = (NumericFeature("x0", 0, 1), CategoricalFeature("x1", (0.0, 1.0)))
SCHEMA = Schema(FEATURES, Target(classes=(0, 1)))
RNG = np.random.default_rng(0)
X = np.column_stack([RNG.random(300), RNG.integers(0, 2, 300)]).astype(float)
Y = (X[:, 0] > 0.5).astype(int)


@pytest.fixture
def budget(tmp_path) -> Budget:
    made = {"epsilon": 10.0, "delta": 1e-5, "table": "t", "set_aside": (5.0, 5e-6)}
    return Budget.create(tmp_path / "b.db", **made)


def forest(budget, **settings) -> PrivateForestClassifier:
    settings = {"epsilon": 0.5, "n_estimators": 4, "schema": SCHEMA} | settings
    return PrivateForestClassifier(budget=budget, **settings)


def states(budget: Budget) -> list[str]:
    return [entry.state for entry in budget.history()]


def on_the_disk(budget: Budget) -> list[tuple[str, str]]:
    """What a stranger sees in the file: another connection, no code of ours."""
    connection = sqlite3.connect(f"{budget.path.as_uri()}?mode=ro", uri=True)
    rows = connection.execute("SELECT what, state FROM uses").fetchall()
    connection.close()
    return rows


class Watched:
    """A column that asks the file, whenever somebody reads it, whether that is reserved."""

    def __init__(self, values, budget):
        self.values, self.budget, self.seen = values, budget, []

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        self.seen.append(on_the_disk(self.budget))
        return np.asarray(self.values, dtype)


def test_nothing_is_read_before_the_reservation_is_on_the_disk(budget, monkeypatch):
    y, rows = Watched(Y, budget), []
    check_columns = stores.check_columns

    def watched(*arguments):
        rows.append(on_the_disk(budget))
        return check_columns(*arguments)

    monkeypatch.setattr(stores, "check_columns", watched)
    forest(budget).fit(X, y)
    assert y.seen
    assert rows == [[("PrivateForestClassifier", "reserved")]]
    assert all(seen == rows[0] for seen in y.seen)
    assert on_the_disk(budget) == [("PrivateForestClassifier", "released")]


def test_a_schema_is_reserved_before_the_table_is_read(budget, monkeypatch):
    rows, read_columns = [], inference.read_columns

    def watched(*arguments):
        rows.append(on_the_disk(budget))
        return read_columns(*arguments)

    monkeypatch.setattr(inference, "read_columns", watched)
    schema = Schema.infer(X, target=Y, epsilon=1.0, delta=1e-6, budget=budget)
    assert rows == [[("schema", "reserved")]]
    (entry,) = budget.history()
    assert (entry.state, entry.plain_epsilon) == ("released", schema.ledger.epsilon)
    assert entry.plain_delta == pytest.approx(schema.ledger.delta)


@pytest.mark.parametrize(
    "trouble",
    ["used up", "no file", "damaged", "locked out"],
)
def test_a_refused_fit_reads_nothing(tmp_path, budget, monkeypatch, trouble):
    def read(*_, **__):
        pytest.fail("records were read")

    path, expected = budget.path, BudgetFileError
    if trouble == "used up":
        path, expected = Budget.create(tmp_path / "s", epsilon=0.1, table="t"), BudgetExceededError
    elif trouble == "no file":
        path = tmp_path / "nowhere.db"
    elif trouble == "damaged":
        path.write_bytes(b"\xff" * 10_000)
    else:
        monkeypatch.setattr(budget_debits.file, "PATIENCE", 0.01)
        writer = sqlite3.connect(path, isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(opening, "_open_store", read)
    monkeypatch.setattr(inference, "read_columns", read)
    with pytest.raises(expected):
        forest(path, delta=0.0).fit(X, Y)
    with pytest.raises(expected):
        Schema.infer(X, epsilon=1.0, delta=1e-6, budget=path)
    if trouble == "locked out":
        writer.close()
        assert budget.history() == []


EVERY_ESTIMATOR = [
    PrivateForestClassifier(n_estimators=4),
    PrivateForestClassifier(n_estimators=4, delta=0.0),
    RandomDecisionForestClassifier(n_estimators=4),
    RandomDecisionForestClassifier(n_estimators=3, sampling="shared", n_hint=300),
    MedianForestClassifier(n_estimators=3),
    GreedyForestClassifier(n_estimators=3),
    MatrixForestClassifier(max_depth=1),
    MatrixForestClassifier(max_depth=1, delta=1e-6, cuts="quantiles"),
]


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1 / 3])
@pytest.mark.parametrize("estimator", EVERY_ESTIMATOR, ids=lambda e: type(e).__name__)
def test_every_estimator_keeps_within_what_it_reserved(budget, estimator, epsilon):
    model = clone(estimator).set_params(schema=SCHEMA, budget=budget, epsilon=epsilon).fit(X, Y)
    (entry,) = budget.history()
    total = model.ledger_.stages[-1].total
    assert entry.state == "released"
    assert entry.plain_epsilon == float(total.epsilon)
    assert entry.mu == total.mu
    assert budget.check() == []


def test_regressors_pay_too(budget):
    schema = Schema(FEATURES, Target(low=0, high=1))
    PrivateForestRegressor(n_estimators=4, schema=schema, budget=budget).fit(X, X[:, 0])
    assert states(budget) == ["released"]


def test_what_a_fit_released_before_it_failed_stays_counted(budget, monkeypatch):
    model = forest(budget)
    with monkeypatch.context() as broken:
        broken.setattr(type(model), "_boost", lambda *_: 1 / 0)
        with (
            pytest.raises(ZeroDivisionError),
            pytest.warns(RuntimeWarning, match="had spent"),
        ):
            model.fit(X, Y)
    (failed,) = budget.history()
    assert failed.state == "failed"
    assert failed.mu == model.ledger_.stages[-1].total.mu > 0
    model.fit(X, Y)
    assert states(budget) == ["failed", "released"], "the failed fit counts once"
    assert len(model.ledger_.stages) == 2


def test_input_that_is_refused_costs_nothing(budget):
    before = budget.remaining()
    with pytest.raises(SchemaError):
        forest(budget).fit(X, np.full(300, 7))
    assert [(e.state, e.mu) for e in budget.history()] == [("failed", 0.0)]
    assert budget.remaining() == before


FIT_AND_DIE = """
import os, signal, sys
from tests_of_reservation import X, Y, forest
from dpforest.forests.boosted_base import BoostedForest
BoostedForest._boost = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
forest(sys.argv[1]).fit(X, Y)
"""


def test_a_process_that_is_killed_leaves_its_reservation(budget, tmp_path):
    (tmp_path / "tests_of_reservation.py").symlink_to(__file__)
    died = subprocess.run(
        [sys.executable, "-c", FIT_AND_DIE, str(budget.path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        check=False,
    )
    assert died.returncode == -signal.SIGKILL
    (entry,) = budget.history()
    assert (entry.state, entry.ended) == ("reserved", None)
    assert entry.mu > 0
    assert budget.check() == []


def test_a_schema_counts_once_for_all_its_models(budget):
    paid = Schema.infer(X, target=Y, epsilon=1.0, delta=1e-6, budget=budget)
    for _ in range(2):
        forest(budget, schema=paid).fit(X, Y)
    assert [entry.what for entry in budget.history()] == ["schema"] + 2 * [
        "PrivateForestClassifier"
    ]


def test_a_schema_that_was_paid_elsewhere_counts_with_its_first_model(budget):
    paid = Schema.infer(X, target=Y, epsilon=1.0, delta=1e-6)
    for _ in range(2):
        forest(budget, schema=paid).fit(X, Y)
    entries = budget.history()
    assert [entry.what for entry in entries] == ["schema"] + 2 * ["PrivateForestClassifier"]
    assert entries[0].plain_epsilon == paid.ledger.epsilon
    assert budget.check() == []


def test_a_schema_that_costs_too_much_is_named(tmp_path):
    paid = Schema.infer(X, target=Y, epsilon=2.0, delta=1e-6)
    small = Budget.create(tmp_path / "small.db", epsilon=1.0, delta=1e-5, table="t")
    with pytest.raises(BudgetExceededError, match=r"the schema was not paid .* epsilon = 2"):
        forest(small, epsilon=0.1, schema=paid).fit(X, Y)
    assert not small.history()


def test_a_continued_model_counts_what_it_was_continued_from(budget, tmp_path):
    first = forest(None, warm_start=True).fit(X, Y)
    first.save(tmp_path / "m.dpforest")
    again = load_model(tmp_path / "m.dpforest").set_params(budget=budget)
    again.fit(X, Y)
    again.fit(X, Y)
    stages = [stage.total.mu for stage in again.ledger_.stages]
    assert [entry.mu for entry in budget.history()] == stages


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"schema": None}, "schema=None"),
        ({"epsilon": float("inf")}, "finite"),
        ({"neighbors": "replace_one"}, "protects replacing"),
    ],
)
def test_uses_without_the_budgets_promise_are_refused(budget, settings, said):
    with pytest.raises(ValueError, match=said):
        forest(budget, **settings).fit(X, Y)
    assert budget.history() == []


def test_a_schema_that_leaks_is_refused(budget):
    with pytest.warns(dpforest.PrivacyLeakWarning):
        leaking = Schema.from_frame(X, Y)
    with pytest.raises(ValueError, match="guarantee"):
        forest(budget, schema=leaking).fit(X, Y)
    assert budget.history() == []


def test_a_printed_forest_is_refused_before_it_reads(budget):
    model = literature.make("edprf", epsilon=1.0, schema=SCHEMA, variant="as_published")
    model.set_params(budget=budget)
    with pytest.raises(ValueError, match="guarantee"):
        model.fit(X, Y)
    assert [(e.state, e.plain_epsilon, e.mu) for e in budget.history()] == [("failed", 0.0, 0.0)]


def test_persons_need_a_budget_for_persons(tmp_path, budget):
    groups = np.arange(300) // 3
    model = forest(budget, max_records_per_group=2)
    with pytest.raises(ValueError, match="person"):
        model.fit(X, Y, groups=groups)
    protects = Protection(unit="group", max_records_per_group=2)
    persons = Budget.create(tmp_path / "p", epsilon=1, delta=1e-6, table="t", protects=protects)
    model.set_params(budget=persons).fit(X, Y, groups=groups)
    assert states(persons) == ["released"]


def test_a_ledger_debits_no_more_than_was_reserved(budget):
    model = forest(budget).fit(X, Y)
    before = model.ledger_.stages
    with pytest.raises(BudgetExceededError, match="reserved"):
        model.ledger_.debit(model.ledger_.entries[0])
    assert model.ledger_.stages == before


def begun(budget) -> Ledger:
    """A ledger with room for more than was reserved: epsilon 1/2, mu 1/10 and no delta."""
    most = Cost({Fraction(1, 2): 1}, Fraction(1, 100))
    return Use(budget, "test", (4.0, 1e-6), most).begin(Ledger(4.0, 1e-6, Protection()))


@pytest.mark.parametrize("loss", [Pure(0.3), Gaussian(0.08), Approximate(0, 1e-9)], ids=str)
def test_no_kind_of_release_exceeds_what_was_reserved_for_it(budget, loss):
    ledger, release = begun(budget), Spend("a release", "none", loss)
    within = 0 if isinstance(loss, Approximate) else 1
    for _ in range(within):
        ledger.debit(release)
    before = ledger.stages
    with pytest.raises(BudgetExceededError, match="reserved"):
        ledger.debit(release)
    assert ledger.stages == before


def test_two_threads_cannot_spend_the_same_rest(budget, monkeypatch):
    """While one debit has seen what is left and not yet taken it, another has to wait."""
    ledger, refused = begun(budget), []

    def spend_too():
        try:
            ledger.debit(Spend("rival", "none", Pure(0.3)))
        except BudgetExceededError as error:
            refused.append(error)

    rival, with_entry = threading.Thread(target=spend_too), Reservation.with_entry

    def slow(reservation, entry):
        after = with_entry(reservation, entry)
        if entry.label != "rival":
            rival.start()
            rival.join(1.0)  # as long as this thread has not finished, it does not end
            assert rival.is_alive()
        return after

    monkeypatch.setattr(Reservation, "with_entry", slow)
    ledger.debit(Spend("first", "none", Pure(0.3)))
    rival.join()
    assert len(refused) == 1
    assert [entry.label for entry in ledger.entries] == ["first"]


def test_nothing_is_debited_after_a_use_is_settled(budget):
    ledger = begun(budget)
    ledger.debit(Spend("a release", "none", Pure(0.1)))
    ledger.settle("released")
    with pytest.raises(BudgetExceededError, match="reserved"):
        ledger.debit(Spend("one more", "none", Pure(0.1)))
    assert budget.history()[0].plain_epsilon == 0.1


def test_a_reserved_ledger_cannot_lose_its_guarantee(budget):
    ledger = begun(budget)
    with pytest.raises(ValueError, match="a budget pays for what has a guarantee"):
        ledger.void("the schema was read from the data")
    assert ledger.guarantee is not None


def test_a_budget_that_cannot_be_settled_keeps_the_reservation(budget, monkeypatch):
    def full(*_):
        raise BudgetFileError("the disk is full")

    monkeypatch.setattr(budget_debits, "settle", full)
    with pytest.warns(RuntimeWarning, match="stays counted"):
        model = forest(budget).fit(X, Y)
    assert model.predict(X).shape == (300,)
    assert states(budget) == ["reserved"]


def test_every_inner_fit_of_scikit_learn_is_debited(budget):
    model = forest(budget, epsilon=0.1)
    GridSearchCV(model, {"max_depth": [1, 2]}, cv=2).fit(X, Y)
    assert len(budget.history()) == 5
    with parallel_config("threading"):
        cross_val_score(model, X, Y, cv=3, n_jobs=2)
    assert len(budget.history()) == 8
    # Bagging tells which records a model sees by weights of 0 and 1.
    weighed = clone(model).set_params(max_sample_weight=1.0)
    BaggingClassifier(weighed, n_estimators=3, bootstrap=False, max_samples=0.5).fit(X, Y)
    assert len(budget.history()) == 11
    CalibratedClassifierCV(model, cv=2, ensemble=True).fit(X, Y)
    assert len(budget.history()) == 13
    assert set(states(budget)) == {"released"}
    assert budget.check() == []


def test_a_search_that_exceeds_the_budget_is_refused(tmp_path):
    small = Budget.create(tmp_path / "s", epsilon=0.3, table="t")
    model = forest(small, epsilon=0.1, delta=0.0)
    with pytest.raises(BudgetExceededError):
        cross_val_score(model, X, Y, cv=4, error_score="raise")
    assert small.remaining(0.0) == 0.0


def test_batches_of_a_predictor_are_uses(budget):
    settings = {"epsilon": 1.0, "epsilon_per_batch": 0.4, "max_depth": 1, "schema": SCHEMA}
    predictor = MatrixForestPredictor(budget=budget, **settings).fit(X, Y)
    for batch in (X[:5], X[5:9], X[:5]):
        predictor.predict(batch)
    taken = [(entry.what, entry.plain_epsilon) for entry in budget.history()]
    batch = "MatrixForestPredictor, a batch"
    assert taken == [("MatrixForestPredictor", 0.0), (batch, 0.4), (batch, 0.4)]
    assert predictor.ledger_.epsilon == 0.8
    assert budget.check() == []


def test_batches_that_another_budget_paid_or_none_count_as_well(tmp_path):
    def create(name, epsilon=3.0):
        return Budget.create(tmp_path / name, epsilon=epsilon, table="t")

    settings = {"epsilon": 2.0, "epsilon_per_batch": 0.25, "max_depth": 1, "schema": SCHEMA}
    predictor = MatrixForestPredictor(**settings).fit(X, Y)
    one, other, small = create("one"), create("other"), create("small", 1.0)
    batches = iter(range(3, 20))
    answered = 0
    for payer in (None, None, one, one, other, one):
        predictor.set_params(budget=payer).predict(X[: next(batches)])
        answered += 1
        if payer is not None:
            assert payer.check() == []
            assert payer.remaining() == pytest.approx(3.0 - 0.25 * answered)
    assert other.remaining() == pytest.approx(3.0 - 0.25 * 5), "what came later is not its own"
    with pytest.raises(BudgetExceededError, match="counted as well"):
        predictor.set_params(budget=small).predict(X[: next(batches)])
    assert small.remaining() == 1.0
    assert predictor.ledger_.epsilon == 0.25 * answered


def test_a_batch_beyond_the_budget_is_refused(tmp_path):
    small = Budget.create(tmp_path / "s", epsilon=0.5, table="t")
    settings = {"epsilon": 1.0, "epsilon_per_batch": 0.4, "max_depth": 1, "schema": SCHEMA}
    predictor = MatrixForestPredictor(budget=small, **settings).fit(X, Y)
    first = predictor.predict(X[:5])
    with pytest.raises(BudgetExceededError):
        predictor.predict(X[5:9])
    assert (predictor.predict(X[:5]) == first).all(), "what was answered is answered still"
    assert predictor.ledger_.epsilon == 0.4


def test_a_saved_model_is_named_and_knows_no_budget(budget, tmp_path):
    model = forest(budget).fit(X, Y)
    before = budget.history()[0].model
    model.save(tmp_path / "m.dpforest")
    assert budget.history()[0].model != before
    again = load_model(tmp_path / "m.dpforest")
    assert again.budget is None
    assert isinstance(again.ledger_, Ledger)
    assert str(budget.path).encode() not in (tmp_path / "m.dpforest").read_bytes()
