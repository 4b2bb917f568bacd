import math
import pickle
import sys
from fractions import Fraction

import numpy as np
import pytest

from dpforest import BudgetExceededError, CategoricalFeature, MatrixForestPredictor, Schema, Target
from dpforest.privacy.accounts.mechanisms_used import DiscreteLaplace
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.records.local import LocalStore

SCHEMA = Schema(
    tuple(CategoricalFeature(f"x{j}", (0, 1, 2)) for j in range(4)), Target(classes=(0, 1))
)
MODES = [
    ("batch", "log_odds"),
    ("batch", "weighted"),
    ("subsample", "log_odds"),
    ("subsample", "hard"),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (1_200, 4))
    return X, (X[:, 0] + X[:, 1] > 2).astype(int)


def make(**settings):
    settings = {"epsilon": 2.0, "n_estimators": 6, "max_depth": 2, "random_state": 0} | settings
    return MatrixForestPredictor(schema=SCHEMA, **settings)


@pytest.mark.parametrize("strategy", ["auto", "identity", "laplace"])
@pytest.mark.parametrize(("mode", "voting"), MODES)
def test_fit_is_free_and_each_batch_costs_its_share(data, mode, voting, strategy):
    model = make(epsilon_per_batch=1.0, mode=mode, voting=voting, strategy=strategy).fit(*data)
    assert model.ledger_.epsilon == 0
    assert not model.ledger_.entries
    first = model.predict(data[0][:30])
    assert model.ledger_.epsilon == pytest.approx(1.0, rel=1e-9)
    np.testing.assert_array_equal(model.predict(data[0][:30]), first)
    model.predict_proba(data[0][:30])
    assert len(model.ledger_.entries) == 1
    model.predict(data[0][30:60])
    assert model.ledger_.epsilon == pytest.approx(2.0, rel=1e-9)
    with pytest.raises(BudgetExceededError, match="Nothing was read"):
        model.predict(data[0][60:90])
    np.testing.assert_array_equal(model.predict(data[0][:30]), first)


@pytest.mark.parametrize(("mode", "voting"), MODES)
def test_it_learns(data, mode, voting):
    model = make(mode=mode, voting=voting, epsilon=20.0, max_depth=3, n_estimators=15).fit(*data)
    assert model.score(data[0][:200], data[1][:200]) > 0.8


def test_votes_without_noise_are_those_of_the_definition(data):
    """V = Q T^T T D, by plain loops."""
    X, y = data
    settings = {"n_ensembles": 2, "features_per_ensemble": 3, "voting": "weighted"}
    model = make(epsilon=math.inf, **settings).fit(X, y)
    votes = model.votes(X[:20])
    expected = np.zeros((20, 2))
    for ensemble in model.ensembles_:
        own = X[:, list(ensemble.features)]
        for cell in ensemble.leaf_cells:
            inside = ((cell < 0) | (own == cell)).all(axis=1)
            counts = np.array([(inside & (y == k)).sum() for k in (0, 1)])
            expected[inside[:20]] += counts
    np.testing.assert_allclose(votes, expected, atol=1e-6)


@pytest.mark.parametrize("mode", ["batch", "subsample"])
def test_one_ensemble_predicts_the_same_by_counts_and_by_their_logarithms(data, mode):
    found = [make(mode=mode, voting=v).fit(*data) for v in ("weighted", "log_odds")]
    weighted, logs = (model.predict_proba(data[0][:40]) for model in found)
    np.testing.assert_allclose(logs.sum(axis=1), 1)
    np.testing.assert_array_equal(weighted.argmax(axis=1), logs.argmax(axis=1))


def test_workloads_are_the_votes_as_matrices(data):
    X, _ = data
    batch, subsample = make().fit(*data), make(mode="subsample").fit(*data)
    (w,), (rows,) = batch.workloads(X[:9]), subsample.workloads(X[:9])
    t = np.zeros((batch.forest_.n_leaves, 81))
    cells = np.stack(np.unravel_index(np.arange(81), (3,) * 4), axis=1)
    for leaf, cell in enumerate(batch.ensembles_[0].leaf_cells):
        t[leaf] = ((cell < 0) | (cells == cell)).all(axis=1)
    q = np.zeros((9, 81))
    q[np.arange(9), np.ravel_multi_index(X[:9].T, (3,) * 4)] = 1
    np.testing.assert_array_equal(w.matrix().toarray(), q @ t.T @ t)
    np.testing.assert_array_equal(rows.matrix().toarray(), q @ t.T)


def test_labels_lean_to_class_totals_that_are_paid_for(data):
    X, y = data[0], (np.arange(len(data[1])) % 10 == 0).astype(int)
    shape = {"mode": "subsample", "voting": "hard", "n_estimators": 30, "epsilon": 0.5}
    leaning, plain = make(**shape).fit(X, y), make(strategy="laplace", **shape).fit(X, y)
    assert leaning.score(X[:100], y[:100]) == 0.9 > plain.score(X[:100], y[:100])
    (entry,) = leaning.ledger_.entries
    _, totals = entry.parts
    assert totals.label == "class totals"
    assert float(totals.cost().epsilon) == pytest.approx(0.05, rel=1e-9)
    assert leaning.ledger_.epsilon == pytest.approx(0.5, rel=1e-9)


def test_labels_need_many_trees_of_a_kind_and_counts_one(data):
    shape = {"n_estimators": "auto", "max_depth": "auto", "n_hint": 1_200, "mode": "subsample"}
    labels = make(voting="hard", **shape).fit(*data).plan_
    assert labels.n_trees == 64 * labels.n_ensembles
    counts = make(**shape).fit(*data).plan_
    assert counts.n_trees == counts.n_ensembles


def test_a_refused_batch_reads_nothing(data, monkeypatch):
    model = make().fit(*data)
    model.predict(data[0][:5])
    monkeypatch.setattr(LocalStore, "total", lambda *_: pytest.fail("read"))
    with pytest.raises(BudgetExceededError):
        model.predict(data[0][5:10])


FILES = ("desk.py", "workloads.py", "populations.py", "ledger.py", "draws.py", "additive.py",
         "noise.py", "matrix_predictor.py", "store.py", "randomness.py")  # fmt: skip


class InterruptAt:
    """Raise KeyboardInterrupt at the n-th line that runs in the files that matter."""

    def __init__(self, n):
        self.left = n

    def __call__(self, frame, event, argument):
        if not frame.f_code.co_filename.endswith(FILES):
            return None
        if event == "line":
            self.left -= 1
            if self.left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


@pytest.mark.parametrize(
    ("mode", "voting"), [("batch", "log_odds"), ("subsample", "log_odds"), ("subsample", "hard")]
)
def test_an_interrupt_at_any_step_never_leaves_noise_unpaid(data, monkeypatch, mode, voting):
    drawn = []
    right = AdditiveNoise.added_to

    def watched(noise, totals, bits):
        drawn.append(True)
        return right(noise, totals, bits)

    monkeypatch.setattr(AdditiveNoise, "added_to", watched)
    X, y = data[0][:50], data[1][:50]
    settings = {"mode": mode, "voting": voting, "strategy": "identity"}
    model = make(n_estimators=2, n_ensembles=2, **settings).fit(X, y)
    paid_after = 0
    for n in range(2_000):
        model.fit(X, y)
        drawn.clear()
        sys.settrace(InterruptAt(n))
        try:
            model.predict(X[:3])
        except KeyboardInterrupt:
            sys.settrace(None)
        else:
            sys.settrace(None)
            break
        finally:
            sys.settrace(None)
        if drawn:
            paid_after += 1
            assert model.ledger_.epsilon == pytest.approx(2.0, rel=1e-9)
    else:
        pytest.fail("the prediction never came to an end")
    assert paid_after > 5
    assert n > 50


def test_the_predictor_is_not_saved(data, tmp_path):
    with pytest.raises(TypeError, match="holds the private records"):
        make().fit(*data).save(tmp_path / "model")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"voting": "hard"}, "needs mode='subsample'"),
        ({"max_depth": "auto"}, "needs n_hint"),
        ({"epsilon_per_batch": 3.0}, "at most epsilon"),
        ({"epsilon_per_batch": 1.0, "delta": 1e-6}, "delta goes to one batch"),
        ({"mode": "loud"}, "mode must be one of"),
        ({"voting": "loud"}, "voting must be one of"),
    ],
)
def test_wrong_parameters_are_refused(data, settings, message):
    with pytest.raises(ValueError, match=message):
        make(**settings).fit(*data)


@pytest.mark.parametrize(("mode", "voting"), MODES)
def test_gaussian_batches(data, mode, voting):
    model = make(delta=1e-6, mode=mode, voting=voting).fit(*data)
    model.predict(data[0][:40])
    assert model.ledger_.epsilon <= 2.0
    assert model.ledger_.delta == 1e-6
    with pytest.raises(BudgetExceededError):
        model.predict(data[0][:41])


def test_a_forked_process_answers_nothing_new(data, monkeypatch):
    """It would spend the same budget again, and nobody would know."""
    model = make(epsilon_per_batch=0.5).fit(*data)
    known = model.predict(data[0][:40])
    monkeypatch.setattr("dpforest.forests.matrix_predictor.os.getpid", lambda: -1)
    np.testing.assert_array_equal(model.predict(data[0][:40]), known)
    with pytest.raises(TypeError, match="in the process that trained it"):
        model.predict(data[0][:41])
    assert model.ledger_.epsilon == 0.5


def test_a_fit_that_failed_keeps_no_records(data, monkeypatch):
    fresh, refitted = make(), make().fit(*data)
    with pytest.raises(TypeError, match="private records"):
        pickle.dumps(refitted)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpforest.forests.matrix_base.grow_ensembles", interrupted)
    for model in (fresh, refitted):
        with pytest.raises(KeyboardInterrupt):
            model.fit(*data)
        assert not hasattr(pickle.loads(pickle.dumps(model)), "_desk")


def test_ensembles_are_no_more_than_the_trees_that_are_given(data):
    model = make(n_estimators=1, features_per_ensemble=1, max_depth=1).fit(*data)
    assert len(model.ensembles_) == 1


def test_noise_beyond_the_sampler_is_refused_before_anything_is_spent():
    """Eight records between neighbours: the kronecker strategy's noise leaves the exact range."""
    X, y = np.tile(np.arange(3), (12, 4)).T.reshape(-1, 4)[:36], np.arange(36) % 3
    schema = Schema(
        tuple(CategoricalFeature(f"x{j}", (0, 1, 2)) for j in range(4)), Target(classes=(0, 1, 2))
    )
    model = MatrixForestPredictor(
        epsilon=0.001, delta=1e-12, schema=schema, strategy="kronecker", n_estimators=4,
        max_depth=2, features_per_ensemble=3, neighbors="replace_one", max_records_per_group=4,
        random_state=0,
    ).fit(X, y, groups=np.arange(36))  # fmt: skip
    with pytest.raises(ValueError, match="no strategy"):
        model.predict(X)
    assert model.ledger_.entries == ()


def test_the_baseline_has_noise_for_every_query_and_every_tree(data):
    """A record adds to each of b queries once a tree that counts it, at worst."""
    b, n_trees = 7, 6
    for mode, counted in (("batch", n_trees), ("subsample", 1)):
        model = make(mode=mode, strategy="laplace", n_ensembles=1, n_estimators=n_trees).fit(*data)
        model.predict(data[0][:b])
        (spend,) = model.ledger_.entries
        assert spend.made == DiscreteLaplace(Fraction(b * counted, 2), b * counted)


def test_hard_leaves_vote_once_however_many_records_they_have(data):
    """Without noise, twice the records make the counts of leaves twice as large and no vote."""
    X, y = np.repeat(data[0], 2, axis=0), np.repeat(data[1], 2)
    settings = {"mode": "subsample", "strategy": "identity", "epsilon": math.inf, "n_ensembles": 1}
    hard, counts = (
        make(voting=voting, **settings).fit(X, y).votes(X[:40]) for voting in ("hard", "weighted")
    )
    assert hard.sum(axis=1).max() <= 6  # one vote a tree
    assert (hard.sum(axis=1) > 4).all()
    assert (counts.sum(axis=1) > 6).all()  # the control: counts are more than votes
