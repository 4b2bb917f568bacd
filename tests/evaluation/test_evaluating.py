"""Evaluations: exact figures without noise, covering intervals with it, refusals before all."""

import json
import math
import re
import warnings

import numpy as np
import pytest
from scipy.stats import binom
from sklearn import metrics
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from dpforest import (
    Budget,
    BudgetExceededError,
    Ledger,
    LittleSignalWarning,
    MatrixForestPredictor,
    PrivateForestClassifier,
    PrivateForestRegressor,
    SchemaError,
    datasets,
    evaluate,
)
from dpforest.evaluation.figures import Figure
from dpforest.evaluation.scores import MIDDLES
from dpforest.privacy.outcome_cells import SCORE_EDGES

RNG = np.random.default_rng(1)
X = RNG.standard_normal((4000, 3))
NUMBER = np.clip(X @ [2.0, 1.0, 0.0] + RNG.standard_normal(4000), -8, 8)
TWO = np.where(NUMBER > 1, "yes", "no")
MORE = np.digitize(NUMBER, [-1, 1, 2])
BINARY = LogisticRegression().fit(X[:500], TWO[:500])
SEVERAL = LogisticRegression().fit(X[:500], MORE[:500])
LINE = LinearRegression().fit(X[:500], NUMBER[:500])


def in_cells(scores):
    """Scores as an evaluation knows them: the middles of their cells."""
    return MIDDLES[np.searchsorted(SCORE_EDGES[1:-1], scores)]


# Without noise the figures are those of scikit-learn


def test_without_noise_figures_of_labels_are_exact():
    found = evaluate(SEVERAL, X, MORE, epsilon=math.inf)
    predicted = SEVERAL.predict(X)
    assert found.accuracy.value == pytest.approx(metrics.accuracy_score(MORE, predicted))
    assert np.array_equal(found.confusion.value, metrics.confusion_matrix(MORE, predicted))
    parts = metrics.precision_recall_fscore_support(MORE, predicted)
    for figure, expected in zip((found.precision, found.recall, found.f1), parts, strict=False):
        assert figure.value == pytest.approx(expected)
    assert found.n_records.value == len(X)
    assert found.ledger.guarantee is None


def test_without_noise_figures_of_two_scores_are_exact_but_for_cells():
    found = evaluate(BINARY, X, TWO, epsilon=math.inf)
    scores, truth = in_cells(BINARY.predict_proba(X)[:, 1]), TWO == "yes"
    assert found.auc.value == pytest.approx(metrics.roc_auc_score(truth, scores))
    assert found.brier.value == pytest.approx(np.mean((scores - truth) ** 2))
    own = np.where(truth, scores, 1 - scores)
    assert found.log_loss.value == pytest.approx(-np.log(np.maximum(own, 1e-3)).mean())
    exact = metrics.roc_auc_score(truth, BINARY.predict_proba(X)[:, 1])
    assert found.auc.value == pytest.approx(exact, abs=0.002)
    curve = found.roc["yes"]
    assert metrics.auc(curve.x, curve.y) == pytest.approx(found.auc.value, abs=1e-9)


def test_without_noise_figures_of_several_scores_are_near():
    found = evaluate(SEVERAL, X, MORE, epsilon=math.inf, random_state=0)
    scores = SEVERAL.predict_proba(X)
    area = metrics.roc_auc_score(MORE, scores, multi_class="ovr")
    squares = ((scores - np.eye(4)[MORE]) ** 2).sum(axis=1).mean()
    # The rest is a third of the pairs of records and other classes, drawn by coins.
    assert found.auc.value == pytest.approx(area, abs=0.01)
    assert found.brier.value == pytest.approx(squares, abs=0.02)
    assert found.log_loss.value == pytest.approx(metrics.log_loss(MORE, scores), abs=0.01)
    assert set(found.roc) == {0, 1, 2, 3}


def test_without_noise_figures_of_numbers_are_exact():
    found = evaluate(LINE, X, NUMBER, epsilon=math.inf, bounds=(-8, 8))
    predicted = np.clip(LINE.predict(X), -8, 8)
    assert found.mse.value == pytest.approx(metrics.mean_squared_error(NUMBER, predicted), rel=1e-3)
    assert found.mae.value == pytest.approx(
        metrics.mean_absolute_error(NUMBER, predicted), rel=1e-3
    )
    assert found.r2.value == pytest.approx(metrics.r2_score(NUMBER, predicted), abs=1e-3)
    quantiles = np.quantile(NUMBER - predicted, found.residual_quantiles.x)
    assert found.residual_quantiles.y == pytest.approx(quantiles, abs=0.1)
    assert (found.residual_quantiles.low <= quantiles).all()
    assert (found.residual_quantiles.high >= quantiles).all()


# Intervals


def covered(figure, truth):
    return bool(np.all(figure.low <= truth) and np.all(truth <= figure.high))


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_intervals_cover_the_population_at_their_level(epsilon):
    """200 samples of 1,000 from the 4,000, which are the population; error rate 1e-6 a figure."""
    scores = BINARY.predict_proba(X)[:, 1]
    truth = {
        "accuracy": BINARY.score(X, TWO),
        "auc": metrics.roc_auc_score(TWO == "yes", scores),
        "brier": np.mean((scores - (TWO == "yes")) ** 2),
        "log_loss": metrics.log_loss(TWO, BINARY.predict_proba(X)),
    }
    runs, hits = 200, dict.fromkeys(truth, 0)
    for run in range(runs):
        rows = np.random.default_rng(run).integers(0, len(X), 1000)
        found = evaluate(BINARY, X[rows], TWO[rows], epsilon=epsilon, random_state=run + 1)
        for name, value in truth.items():
            hits[name] += covered(getattr(found, name), value)
    assert min(hits.values()) >= binom.ppf(1e-6, runs, 0.95)


def test_intervals_of_numbers_cover():
    truth = {
        "mse": metrics.mean_squared_error(NUMBER, np.clip(LINE.predict(X), -8, 8)),
        "mae": metrics.mean_absolute_error(NUMBER, np.clip(LINE.predict(X), -8, 8)),
        "r2": metrics.r2_score(NUMBER, np.clip(LINE.predict(X), -8, 8)),
    }
    runs, hits = 200, dict.fromkeys(truth, 0)
    for run in range(runs):
        rows = np.random.default_rng(run).integers(0, len(X), 1000)
        found = evaluate(
            LINE, X[rows], NUMBER[rows], epsilon=1.0, bounds=(-8, 8), random_state=run + 1
        )
        for name, value in truth.items():
            hits[name] += covered(getattr(found, name), value)
    assert min(hits.values()) >= binom.ppf(1e-6, runs, 0.95)


def test_control_intervals_without_noise_in_them_would_not_cover(monkeypatch):
    from dpforest.evaluation.figures import Level

    honest = Level.around
    monkeypatch.setattr(
        Level, "around", lambda self, value, s, noise, *rest: honest(self, value, s, 0.0, *rest)
    )
    hits = 0
    for run in range(200):
        rows = np.random.default_rng(run).integers(0, len(X), 1000)
        found = evaluate(BINARY, X[rows], TWO[rows], epsilon=0.1, random_state=run + 1)
        hits += covered(found.accuracy, BINARY.score(X, TWO))
    assert hits < binom.ppf(1e-6, 200, 0.95)


def test_where_nothing_stands_out_the_interval_says_so():
    found = evaluate(BINARY, X[:5], TWO[:5], epsilon=0.01, random_state=0)
    for figure in (found.accuracy, found.auc):
        assert (figure.low, figure.high) == (0.0, 1.0)


def warned_evaluation(*given, **options):
    """An evaluation, and the texts of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = evaluate(*given, random_state=0, **options)
    assert all((w.category, w.filename) == (LittleSignalWarning, __file__) for w in caught)
    return found, [str(w.message) for w in caught]


HEADLINES = ("accuracy", "auc", "log_loss", "brier", "r2", "mse", "mae")


@pytest.mark.parametrize(
    ("model", "y", "options"),
    [(BINARY, TWO, {}), (SEVERAL, MORE, {}), (LINE, NUMBER, {"bounds": (-8, 8)})],
    ids=["two classes", "several", "numbers"],
)
def test_what_the_noise_covers_has_no_value(model, y, options):
    """Not a value that looks known: nan, None in JSON, "not known" in print, and one warning."""
    found, texts = warned_evaluation(model, X[:30], y[:30], epsilon=0.01, **options)
    written, told = found.to_dict(), str(found).splitlines()
    for name in HEADLINES:
        figure = getattr(found, name)
        if figure is not None:
            assert math.isnan(figure.value)
            assert written[name]["value"] is None
            assert figure.high > figure.low
    for parts in ("precision", "recall", "f1"):
        if parts in written:
            # Now and then, as the level allows, the noise of a class stands out by itself.
            assert written[parts]["value"].count(None) >= len(written[parts]["value"]) - 1
    if found.calibration is not None:
        assert written["calibration"]["error"] == {"value": None, "low": 0.0, "high": 1.0}
        assert found.roc == {}
    assert sum("not known (" in line for line in told) >= len(told) - 5
    (text,) = texts
    assert "With epsilon = 0.01" in text
    json.dumps(written, allow_nan=False)


@pytest.mark.parametrize("seed", range(5))
def test_as_many_records_as_the_warning_says_will_do(seed):
    """Then figures are within a tenth or so (records are a sample as well); not with a tenth."""
    _, (text,) = warned_evaluation(BINARY, X[:30], TWO[:30], epsilon=0.2)
    parts = re.findall(r"([\d,]+) (?:records|of each)", text)
    total, each = (int(number.replace(",", "")) for number in parts)
    rng = np.random.default_rng(seed)
    for part, near in ((1.0, True), (0.1, False)):
        for name, n in (("accuracy", total // 2), ("auc", each)):
            of_each = [rng.choice(np.flatnonzero(c == TWO), int(part * n)) for c in ("yes", "no")]
            rows = np.concatenate(of_each)
            found = evaluate(BINARY, X[rows], TWO[rows], epsilon=0.2, random_state=seed + 1)
            figure = getattr(found, name)
            assert ((figure.high - figure.low) / 2 < 0.15) == near


def test_enough_records_need_no_warning():
    assert warned_evaluation(BINARY, X, TWO, epsilon=1.0)[1] == []
    assert warned_evaluation(BINARY, X[:3], TWO[:3], epsilon=math.inf)[1] == []


def test_an_interval_of_nearly_all_that_can_be_says_nothing():
    told = Figure(np.array([0.5, 0.5]), np.array([0.01, 0.1]), np.array([0.99, 0.9]))
    assert np.isnan(told.if_known((0.0, 1.0)).value).tolist() == [True, False]
    assert math.isnan(Figure(-3.0, -math.inf, 1.0).if_known((0.0, 1.0)).value)
    assert Figure(-3.0, -9.0, 0.1).if_known((0.0, 1.0)).value == -3.0


def test_a_class_too_small_to_see_widens_the_area_and_does_not_spoil_it():
    rare = MORE.copy()
    rare[rare == 3] = 2
    rare[:2] = 3
    found = evaluate(SEVERAL, X, rare, epsilon=1.0, random_state=0)
    assert found.auc.value > 0.75
    assert found.auc.high - found.auc.low > 0.25


def test_a_constant_score_has_an_area_of_one_half():
    class Coin:
        classes_ = np.array([0, 1])

        def predict(self, X):
            return np.zeros(len(X), int)

        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    found = evaluate(Coin(), X, (TWO == "yes").astype(int), epsilon=math.inf)
    assert found.auc.value == pytest.approx(0.5)
    assert found.brier.value == pytest.approx(0.25)


# Ledgers, models and protections


def test_our_models_are_evaluated_with_their_schema_and_ledgers_add_up():
    census = datasets.make_census(3_000, random_state=0)
    forest = PrivateForestClassifier(schema=census.schema, random_state=0)
    forest.fit(census.X, census.y)
    found = evaluate(forest, census.X, census.y, epsilon=0.5, random_state=0)
    together = Ledger.together(forest.ledger_, found.ledger)
    assert together.epsilon == pytest.approx(1.5)
    assert Ledger.from_dict(found.ledger.to_dict()).epsilon == found.ledger.epsilon == 0.5


def test_our_regressors_know_their_bounds():
    schema = {
        "features": [{"name": f"x{j}", "kind": "numeric", "low": -4, "high": 4} for j in range(3)],
        "target": {"low": -8, "high": 8},
    }
    forest = PrivateForestRegressor(schema=schema, random_state=0).fit(X, NUMBER)
    found = evaluate(forest, X, NUMBER, epsilon=1.0, random_state=0)
    assert found.r2.low < forest.score(X, NUMBER) < found.r2.high


def test_a_shared_budget_is_debited_and_refuses_what_it_has_no_room_for(tmp_path):
    budget = Budget.create(tmp_path / "b.db", epsilon=1.0, delta=1e-6, table="held out")
    evaluate(BINARY, X, TWO, epsilon=0.3, budget=budget)
    with pytest.raises(SchemaError):
        evaluate(BINARY, X, MORE, epsilon=0.3, budget=budget)
    evaluate(LINE, X, NUMBER, epsilon=0.3, delta=1e-7, bounds=(-8, 8), budget=budget.path)
    ends = [(entry.what, entry.state) for entry in budget.history()]
    assert ends == [("evaluation", end) for end in ("released", "failed", "released")]
    with pytest.raises(BudgetExceededError):
        evaluate(Untouched(), X, MORE, epsilon=0.9, budget=budget)
    assert budget.check() == []


def test_models_without_probabilities_have_figures_of_labels_only():
    model = LinearSVC().fit(X[:500], TWO[:500])
    found = evaluate(model, X, TWO, epsilon=0.5, random_state=0)
    assert covered(found.accuracy, model.score(X, TWO))
    assert found.auc is None
    assert found.roc is None
    assert [entry.label for entry in found.ledger.entries] == ["confusion matrix"]
    assert "ROC" not in str(found)


@pytest.mark.parametrize("seed", [None, 0])
def test_an_evaluation_with_a_seed_is_none_to_give_away(seed):
    for model, y, bounds in ((BINARY, TWO, {}), (LINE, NUMBER, {"bounds": (-8, 8)})):
        ledger = evaluate(model, X[:50], y[:50], epsilon=1.0, random_state=seed, **bounds).ledger
        assert ledger.releasable == ledger.guarantee.releasable == (seed is None)


def test_persons_are_protected_and_their_records_bounded():
    persons = np.arange(len(X)) // 8
    found = evaluate(
        BINARY, X, TWO, epsilon=2.0, groups=persons, max_records_per_group=2, random_state=0
    )
    assert found.ledger.protection.max_records_per_group == 2
    assert found.n_records.low < 2 * len(X) / 8 < found.n_records.high
    alone = evaluate(BINARY, X[::4], TWO[::4], epsilon=2.0, random_state=0)
    width = found.accuracy.high - found.accuracy.low
    assert width > alone.accuracy.high - alone.accuracy.low


def test_one_by_one_says_the_same_of_a_model_of_single_records():
    import pandas as pd

    frame = pd.DataFrame(X[:50], columns=["a", "b", "c"])
    model = LogisticRegression().fit(frame, TWO[:50])
    one = evaluate(model, frame, TWO[:50], epsilon=1.0, random_state=0, one_by_one=True)
    two = evaluate(model, frame, TWO[:50], epsilon=1.0, random_state=0)
    assert one.confusion.value.tolist() == two.confusion.value.tolist()


def test_results_can_be_written_as_json_and_read_by_people():
    for found in (
        evaluate(SEVERAL, X, MORE, epsilon=0.5),
        evaluate(LINE, X, NUMBER, epsilon=0.5, bounds=(-8, 8)),
        evaluate(LINE, X[:3], NUMBER[:3], epsilon=0.001, bounds=(-8, 8)),
    ):
        written = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert written["ledger"]["guarantee"]["epsilon"] <= 0.5
        assert "adding or removing one record" in str(found)
        assert found.ledger.releasable


# Refusals: before anything is spent


class Untouched(LogisticRegression):
    """A model that must not be asked."""

    classes_ = np.array([0, 1])

    def predict(self, X):
        raise AssertionError("asked")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0}, "epsilon must be positive"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta is 1.0"),
        ({"epsilon": 1.0, "level": 1.0}, "level must be between"),
        ({"epsilon": 1.0, "groups": [1, 2]}, "go together"),
        ({"epsilon": 1.0, "bounds": (0, 1)}, "leave them out"),
        ({"epsilon": 1.0, "neighbors": "any"}, "neighbors is 'any'"),
    ],
)
def test_bad_options_are_refused_before_the_model_is_asked(options, message):
    with pytest.raises(ValueError, match=message):
        evaluate(Untouched(), [[0.0], [1.0]], [0, 1], **options)


def test_labels_that_are_no_classes_are_refused():
    with pytest.raises(SchemaError, match="not among the declared classes"):
        evaluate(BINARY, X[:2], ["yes", "perhaps"], epsilon=1.0)
    with pytest.raises(SchemaError, match="missing labels"):
        evaluate(BINARY, X[:2], ["yes", None], epsilon=1.0)
    with pytest.raises(SchemaError, match="different lengths"):
        evaluate(BINARY, X[:3], ["yes", "no"], epsilon=1.0)


def test_odd_models_are_refused():
    with pytest.raises(TypeError, match="answers batches"):
        evaluate(MatrixForestPredictor(), X, TWO, epsilon=1.0)
    with pytest.raises(TypeError, match="answers batches"):
        evaluate(make_pipeline(MatrixForestPredictor()), X, TWO, epsilon=1.0)
    with pytest.raises(ValueError, match="train it first"):
        evaluate(LogisticRegression(), X, TWO, epsilon=1.0)
    with pytest.raises(SchemaError, match="bounds of the target are not known"):
        evaluate(LINE, X, NUMBER, epsilon=1.0)
    with pytest.raises(ValueError, match="the lower one first"):
        evaluate(LINE, X, NUMBER, epsilon=1.0, bounds=(3, 3))


class Odd:
    classes_ = np.array([0, 1])

    def __init__(self, answer, probability=0.5):
        self.answer, self.probability = answer, probability

    def predict(self, X):
        return np.full(len(X), self.answer)

    def predict_proba(self, X):
        return np.full((len(X), 2), self.probability)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Odd(7), "not among its classes"),
        (Odd(0, 1.5), "from 0 to 1"),
        (Odd(0, math.nan), "from 0 to 1"),
    ],
)
def test_odd_answers_are_refused(model, message):
    with pytest.raises(ValueError, match=message):
        evaluate(model, X[:3], [0, 1, 0], epsilon=1.0)
