"""The flagship as its users meet it: budget, accuracy, probabilities, going on, files."""

import hashlib
import io
import json
import math
import pickle
import zipfile
from unittest.mock import patch

import numpy as np
import pytest

from dpforest import (
    CategoricalFeature,
    ModelFileError,
    NumericFeature,
    PrivacyLeakWarning,
    PrivateForestClassifier,
    PrivateForestRegressor,
    Schema,
    Target,
    datasets,
    load_model,
)
from dpforest.forests import boosted_numbers
from dpforest.forests.provenance import digest_of
from dpforest.losses import Softmax
from dpforest.privacy.questions import QuestionChoices

SMALL = {"n_estimators": 12, "trees_per_round": 4, "max_depth": 3, "random_state": 0}


@pytest.fixture(scope="module")
def census():
    return datasets.make_census(3_000, random_state=1)


def make_table(n=3_000, seed=0, n_classes=2):
    """Three numeric features, of which two matter, and a category that shifts the classes."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.random((n, 3)), rng.integers(0, 5, n)])
    signal = X[:, 0] + X[:, 1] + 0.3 * (X[:, 3] >= 3) + rng.normal(0, 0.1, n)
    codes = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
    features = (
        *(NumericFeature(f"x{j}", 0, 1) for j in range(3)),
        CategoricalFeature("c", tuple(range(5))),
    )
    return X, codes, signal, features


def classifier(n_classes=2, **settings):
    features = make_table(10)[3]
    schema = Schema(features, Target(classes=tuple(range(n_classes))))
    return PrivateForestClassifier(**{"schema": schema, "random_state": 0} | settings)


def regressor(**settings):
    schema = Schema(make_table(10)[3], Target(low=-1, high=4))
    return PrivateForestRegressor(schema=schema, **{"random_state": 0} | settings)


# The budget

PROTECTIONS = {
    "add or remove": {},
    "pure": {"delta": 0.0},
    "replace one": {"neighbors": "replace_one"},
    "replace one, pure": {"neighbors": "replace_one", "delta": 0.0},
    "persons": {"max_records_per_group": 3},
    "persons, pure": {"max_records_per_group": 3, "delta": 0.0},
    "replace persons": {"max_records_per_group": 3, "neighbors": "replace_one"},
    "hint": {"n_hint": 3_000},
    "hint, pure": {"n_hint": 3_000, "delta": 0.0},
}


@pytest.mark.parametrize("task", ["two classes", "four classes", "numbers"])
@pytest.mark.parametrize("protection", PROTECTIONS)
def test_a_fit_spends_its_epsilon_and_never_more(protection, task):
    X, _, signal, _ = make_table(600)
    settings = PROTECTIONS[protection]
    model = regressor(**settings) if task == "numbers" else classifier(**settings)
    y = signal if task == "numbers" else make_table(600, n_classes=2)[1]
    if task == "four classes":
        model, y = classifier(4, **settings), make_table(600, n_classes=4)[1]
    groups = np.arange(600) // 4 if "max_records_per_group" in settings else None
    for epsilon in (0.1, 1.0):
        ledger = model.set_params(epsilon=epsilon).fit(X, y, groups=groups).ledger_
        assert ledger.epsilon <= epsilon
        total = ledger.stages[-1].total
        # Where a rule is chosen at a pure price, the curve of both together moves in small jumps.
        mixed = bool(total.epsilon and total.mu_squared)
        assert ledger.epsilon == pytest.approx(epsilon, abs=1e-3 * epsilon if mixed else 1e-6)
        assert ledger.delta == (settings.get("delta", 1e-6) if total.mu_squared else 0)
        assert ledger.guarantee.protection.steps == (
            settings.get("max_records_per_group", 1) * (1 + ("neighbors" in settings))
        )


@pytest.mark.parametrize("epsilon", [1e-3, 0.01, 3.7, 10.0])
def test_budgets_small_and_large(epsilon):
    X, y, _, _ = make_table(300)
    for delta in (1e-9, 0.0):
        ledger = classifier(epsilon=epsilon, delta=delta).fit(X, y).ledger_
        assert ledger.epsilon <= epsilon
        assert ledger.epsilon == pytest.approx(epsilon, rel=1e-4)


def labels_of(ledger):
    return [entry.label for entry in ledger.entries]


def test_a_hint_saves_the_count():
    X, y, _, _ = make_table(500)
    paid, hinted = classifier(**SMALL).fit(X, y), classifier(n_hint=500, **SMALL).fit(X, y)
    assert labels_of(paid.ledger_)[0] == "number of records"
    assert "number of records" not in labels_of(hinted.ledger_)
    assert hinted.n_records_ == 500
    # What is saved goes to the trees.
    assert hinted.ledger_.entries[-1].cost().mu > paid.ledger_.entries[-1].cost().mu


def test_a_public_count_is_free_and_right():
    X, y, _, _ = make_table(500)
    model = classifier(neighbors="replace_one", **SMALL).fit(X, y)
    assert model.n_records_ == 500
    assert model.ledger_.entries[0].cost().mu == 0


def test_declared_cuts_and_categories_save_the_bins():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(500), rng.integers(0, 3, 500)])
    schema = Schema(
        (NumericFeature("a", 0, 1, cuts=(0.2, 0.6)), CategoricalFeature("b", (0, 1, 2))),
        Target(classes=(0, 1)),
    )
    model = PrivateForestClassifier(schema=schema, **SMALL).fit(X, X[:, 0] > 0.6)
    assert not any("bins" in label for label in labels_of(model.ledger_))
    assert model.ledger_.epsilon == pytest.approx(1.0, abs=1e-6)
    assert model.encoding_.cuts[0].tolist() == [0.2, 0.6]


def test_the_regressor_pays_for_a_look_at_its_target():
    X, _, signal, _ = make_table(500)
    model = regressor(epsilon=5.0, **SMALL).fit(X, signal)
    assert "histogram of the target" in labels_of(model.ledger_)
    assert abs(model.target_center_ - signal.mean()) < 0.3


def test_a_failed_fit_keeps_what_it_spent(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpforest.forests.boosted_base.boost", interrupt)
    X, y, _, _ = make_table(200)
    model = classifier(**SMALL)
    with pytest.warns(RuntimeWarning, match="had spent"), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert 0 < model.ledger_.epsilon < 1
    assert any("remain spent" in note for note in model.ledger_.notes)


def test_without_a_schema_there_is_a_warning_and_no_guarantee():
    X, y, _, _ = make_table(200)
    model = PrivateForestClassifier(**SMALL)
    with pytest.warns(PrivacyLeakWarning):
        model.fit(X, y)
    assert model.ledger_.guarantee is None


# Learning


def test_it_beats_the_majority_clearly(census):
    """On other records than it was trained on, at epsilon 1 with defaults."""
    test = datasets.make_census(3_000, random_state=2)
    majority = max(np.unique(np.asarray(test.y), return_counts=True)[1]) / 3_000
    model = PrivateForestClassifier(schema=census.schema, random_state=0).fit(census.X, census.y)
    assert model.score(test.X, test.y) > majority + 0.03


@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_it_learns_two_and_more_classes(n_classes, delta):
    X, y, _, _ = make_table(6_000, n_classes=n_classes)
    model = classifier(n_classes, delta=delta, epsilon=2.0).fit(X[:3_000], y[:3_000])
    assert model.score(X[3_000:], y[3_000:]) > 1.7 / n_classes
    assert model.decision_function(X).shape == ((6_000,) if n_classes == 2 else (6_000, 4))
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(proba.argmax(axis=1), model.predict(X))


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_it_learns_numbers(delta):
    X, _, signal, _ = make_table(6_000)
    model = regressor(delta=delta, epsilon=2.0).fit(X[:3_000], signal[:3_000])
    assert model.score(X[3_000:], signal[3_000:]) > 0.5
    low, high = model.schema_.target_bounds
    assert ((model.predict(X) >= low) & (model.predict(X) <= high)).all()


def test_features_that_matter_are_found():
    X, y, _, _ = make_table(3_000)
    importance = classifier(epsilon=2.0).fit(X, y).feature_importances_
    assert 0.9 < importance.sum() <= 1  # the rest is noise
    assert (importance >= 0).all()
    assert set(np.argsort(importance)[-2:]) == {0, 1}


def calibration_error(p, y, n_bins=10):
    """Expected calibration error: the gap between what is said and what is so, bin by bin."""
    at = np.minimum((p * n_bins).astype(int), n_bins - 1)
    sizes = np.bincount(at, minlength=n_bins)
    said = np.bincount(at, p, minlength=n_bins)
    seen = np.bincount(at, y, minlength=n_bins)
    return np.abs(said - seen).sum() / sizes.sum()


def test_probabilities_are_calibrated():
    """Labels drawn from known probabilities; on fresh records, much budget; fixed seeds."""
    rng = np.random.default_rng(0)
    X = rng.random((40_000, 2))
    truth = 0.05 + 0.9 * (0.7 * X[:, 0] + 0.3 * X[:, 1])
    y = (rng.random(40_000) < truth).astype(int)
    schema = Schema((NumericFeature("a", 0, 1), NumericFeature("b", 0, 1)), Target(classes=(0, 1)))
    model = PrivateForestClassifier(schema=schema, epsilon=8.0, random_state=0)
    p = model.fit(X[:20_000], y[:20_000]).predict_proba(X[20_000:])[:, 1]
    assert calibration_error(p, y[20_000:]) < 0.04
    assert np.abs(p - truth[20_000:]).mean() < 0.05
    # The control: probabilities drawn out towards the ends are caught.
    odds = (p / (1 - p)) ** 2
    assert calibration_error(odds / (1 + odds), y[20_000:]) > 0.08


def test_no_privacy_is_a_good_model_and_no_guarantee():
    X, y, signal, _ = make_table(6_000)
    model = classifier(epsilon=math.inf).fit(X[:3_000], y[:3_000])
    assert model.score(X[3_000:], y[3_000:]) > 0.88
    assert model.ledger_.guarantee is None
    assert model.ledger_.epsilon == math.inf
    numbers = regressor(epsilon=math.inf).fit(X[:3_000], signal[:3_000])
    assert numbers.score(X[3_000:], signal[3_000:]) > 0.85


def test_missing_and_unseen_values_at_fit_and_at_predict():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 3_000
    age = rng.uniform(0, 100, n)
    town = rng.choice(["a", "b", "elsewhere"], n)
    X = pd.DataFrame({"age": np.where(rng.random(n) < 0.3, np.nan, age), "town": town})
    X.loc[rng.random(n) < 0.1, "town"] = None
    y = age > 50
    schema = Schema(
        (NumericFeature("age", 0, 100), CategoricalFeature("town", ("a", "b"))),
        Target(classes=(False, True)),
    )
    model = PrivateForestClassifier(schema=schema, epsilon=3.0, random_state=0).fit(X, y)
    known = X["age"].notna()
    assert model.score(X[known], y[known]) > 0.9
    odd = pd.DataFrame({"age": [np.nan, math.inf, -math.inf], "town": [None, "nowhere", "a"]})
    proba = model.predict_proba(odd)
    assert np.isfinite(proba).all()
    assert proba[1, 1] > 0.5 > proba[2, 1]


def test_missing_values_carry_signal():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((2_000, 1)) < 0.5, np.nan, rng.random((2_000, 1)))
    schema = Schema((NumericFeature("a", 0, 1),), Target(classes=(0, 1)))
    model = PrivateForestClassifier(schema=schema, epsilon=3.0, random_state=0)
    assert model.fit(X, np.isnan(X[:, 0])).score(X, np.isnan(X[:, 0])) > 0.95


@pytest.mark.parametrize("width", [1_000.0, 1.0])
def test_bounds_a_thousand_times_too_wide_hardly_matter(width):
    X, y, _, _ = make_table(4_000)
    schema = Schema(
        (
            *(NumericFeature(f"x{j}", -width + 1, width) for j in range(3)),
            CategoricalFeature("c", tuple(range(5))),
        ),
        Target(classes=(0, 1)),
    )
    model = PrivateForestClassifier(schema=schema, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8


def test_a_feature_with_a_single_value_is_no_obstacle():
    X = np.column_stack([np.zeros(300), np.random.default_rng(0).random(300)])
    schema = Schema(
        (CategoricalFeature("one", (0,)), NumericFeature("x", 0, 1)), Target(classes=(0, 1))
    )
    model = PrivateForestClassifier(schema=schema, epsilon=5.0, random_state=0)
    assert model.fit(X, X[:, 1] > 0.5).score(X, X[:, 1] > 0.5) > 0.9
    assert model.feature_importances_[0] == 0


def test_nothing_to_ask_still_makes_a_model():
    schema = Schema((CategoricalFeature("one", (0,)),), Target(classes=("no", "yes")))
    model = PrivateForestClassifier(schema=schema, epsilon=5.0, random_state=0)
    assert model.fit(np.zeros((200, 1)), ["yes"] * 200).predict([[0]]).tolist() == ["yes"]


# Reproducibility


def test_random_state_makes_it_reproducible_and_says_so():
    X, y, _, _ = make_table(500)
    one, two = (classifier(**SMALL).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.forest_.values, two.forest_.values)
    assert any("not for release" in note for note in one.ledger_.notes)
    secret = [classifier(**SMALL | {"random_state": None}).fit(X, y) for _ in range(2)]
    assert (secret[0].forest_.values != secret[1].forest_.values).any()
    assert secret[0].ledger_.notes == ()


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_results_do_not_depend_on_the_number_of_threads(task):
    X, y, signal, _ = make_table(50_000, n_classes=3)
    make = regressor if task == "numbers" else lambda **settings: classifier(3, **settings)
    target = signal if task == "numbers" else y
    models = [make(n_jobs=n_jobs, **SMALL).fit(X, target) for n_jobs in (1, 3)]
    np.testing.assert_array_equal(models[0].forest_.values, models[1].forest_.values)
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))


# Stages and going on


@pytest.mark.parametrize("n_classes", [2, 3])
def test_stages_end_at_the_prediction(n_classes):
    X, y, signal, _ = make_table(400, n_classes=n_classes)
    model = classifier(n_classes, **SMALL).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == 4  # the linear start, and three rounds
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    proba = list(model.staged_predict_proba(X))
    np.testing.assert_allclose(proba[-1], model.predict_proba(X), rtol=1e-5)
    numbers = regressor(**SMALL).fit(X, signal)
    np.testing.assert_allclose(
        list(numbers.staged_predict(X))[-1], numbers.predict(X), rtol=1e-5, atol=1e-5
    )


def test_warm_start_goes_on_and_the_ledger_holds_both():
    X, y, _, _ = make_table(2_000)
    model = classifier(**SMALL | {"n_estimators": 40}, warm_start=True, epsilon=0.5).fit(X, y)
    first, before = model.forest_, model.ledger_
    model.set_params(epsilon=1.0, max_depth=4).fit(X, y)
    kept = model.forest_.values[: first.trees.n_trees, :, : first.values.shape[2]]
    # How sure all trees together may be is asked anew, so theirs are the same up to one factor.
    np.testing.assert_allclose(kept, kept.sum() / first.values.sum() * first.values, rtol=1e-4)
    # No second linear start, which is a tree a feature.
    assert model.forest_.trees.n_trees == 2 * first.trees.n_trees - X.shape[1]
    ledger = model.ledger_
    assert ledger.entries[: len(before.entries)] == before.entries
    assert ledger.budget_epsilon == 1.5
    # The second budget was chosen after the first model was seen: the guarantees add up.
    assert ledger.epsilon == pytest.approx(1.5, abs=1e-5)
    assert ledger.epsilon <= 1.5
    assert ledger.delta == 2e-6
    assert [stage.kind for stage in ledger.stages] == ["fit", "continued fit"]
    assert "odometer: stages add up" in ledger.explain()
    # No second count, no second bins.
    assert labels_of(ledger).count("number of records") == 1
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))


def test_warm_start_of_the_regressor_keeps_its_units(monkeypatch):
    """But for what straightens the answers, in the end of each fit."""
    monkeypatch.setattr(boosted_numbers, "straightened", lambda desk, loss, *_: loss)
    X, _, signal, _ = make_table(2_000)
    model = regressor(warm_start=True, epsilon=1.0).fit(X, signal)
    place = model.target_center_, model.target_width_
    model.fit(X, signal)
    assert (model.target_center_, model.target_width_) == place


def test_warm_start_of_the_regressor_looks_at_the_target_once():
    X, _, signal, _ = make_table(2_000)
    model = regressor(warm_start=True, epsilon=1.0).fit(X, signal).fit(X, signal)
    looks = [entry for entry in model.ledger_.entries if "histogram of the target" in entry.label]
    assert len(looks) == 2
    assert labels_of(model.ledger_).count("histogram of the target") == 1
    assert model.score(X, signal) > 0.6


def test_without_warm_start_a_second_fit_begins_anew():
    X, y, _, _ = make_table(400)
    model = classifier(**SMALL).fit(X, y)
    again = model.fit(X, y)
    assert again.ledger_.epsilon <= 1.0
    assert again.forest_.trees.n_trees == SMALL["n_estimators"] + again.n_features_in_


OTHERS = {
    "other neighbours": ({"neighbors": "replace_one"}, "same neighbors"),
    "persons": ({"max_records_per_group": 2}, "same neighbors"),
    "other bounds": (
        {"schema": Schema((NumericFeature("x0", 0, 2),), Target(classes=(0, 1)))},
        "another schema",
    ),
    "other classes": (
        {"schema": Schema(make_table(10)[3], Target(classes=(0, 1, 2)))},
        "another schema",
    ),
}


@pytest.mark.parametrize("other", OTHERS)
def test_warm_start_refuses_what_does_not_belong_together(other):
    settings, message = OTHERS[other]
    X, y, _, _ = make_table(400)
    model = classifier(**SMALL, warm_start=True).fit(X, y)
    before, answers = model.ledger_, model.predict_proba(X)
    model.set_params(**settings)
    groups = np.arange(400) if "max_records_per_group" in settings else None
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, groups=groups)
    # The model is what it was.
    assert model.ledger_ is before
    np.testing.assert_array_equal(model.predict_proba(X), answers)


# Files and copies


@pytest.fixture(params=["two classes", "three classes", "numbers", "not private"])
def saved(request, tmp_path):
    X, y, signal, _ = make_table(400, n_classes=3)
    if request.param == "numbers":
        model = regressor(**SMALL).fit(X, signal)
    elif request.param == "three classes":
        model = classifier(3, **SMALL).fit(X, y)
    else:
        epsilon = math.inf if request.param == "not private" else 1.0
        model = classifier(epsilon=epsilon, **SMALL).fit(X, y > 0)
    path = tmp_path / "model.dpforest"
    model.save(path)
    return model, path, X


def answers_of(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def test_a_saved_model_comes_back_whole(saved):
    model, path, X = saved
    for again in (type(model).load(path), load_model(path), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(answers_of(again, X), answers_of(model, X))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)
        assert again.ledger_.explain() == model.ledger_.explain()
        assert again.plan_ == model.plan_
        assert again.n_records_ == model.n_records_


def test_a_loaded_model_can_go_on(saved):
    model, path, X = saved
    y = X[:, 0] if isinstance(model, PrivateForestRegressor) else (X[:, 0] > 0.5).astype(int)
    again = load_model(path).set_params(warm_start=True).fit(X, y)
    # No second linear start, which is a tree a feature; without noise there is none.
    linear = 0 if math.isinf(model.epsilon) else X.shape[1]
    assert again.forest_.trees.n_trees == 2 * model.forest_.trees.n_trees - linear
    assert len(again.ledger_.entries) >= len(model.ledger_.entries)


def rewrite(path, change):
    """Write the archive again, changed, with checksums that fit: damage that only sense finds."""
    with zipfile.ZipFile(path) as archive:
        blobs = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(blobs["model.json"])
    change(header, blobs)
    for name in header["sha256"]:
        blob = blobs.get(f"arrays/{name}.npy", b"")
        header["sha256"][name] = hashlib.sha256(blob).hexdigest()
    header["digest"] = digest_of({n: v for n, v in header.items() if n != "digest"})
    blobs["model.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, blob in blobs.items():
            archive.writestr(name, blob)


def change_array(name, change):
    def damage(_, blobs):
        key = f"arrays/{name}.npy"
        out = io.BytesIO()
        np.save(out, change(np.load(io.BytesIO(blobs[key]))))
        blobs[key] = out.getvalue()

    return damage


DAMAGE = {
    "no change": None,
    "a feature beyond the table": change_array("trees.feature", lambda a: a + 100),
    "a negative feature": change_array("trees.feature", lambda a: a - 100),
    "deeper than its leaves": change_array("trees.depth", lambda a: a + 1),
    "fewer leaves": change_array("values", lambda a: a[:, :, :2]),
    "fewer trees": change_array("values", lambda a: a[:3]),
    "flat values": change_array("values", np.ravel),
    "fewer bins": change_array("trees.goes_right", lambda a: a[:, :, :4]),
    "lost values": lambda h, b: h["sha256"].pop("values"),
    "lost plan": lambda h, b: h["facts"].pop("plan"),
    "odd plan": lambda h, b: h["facts"]["plan"].update(surprise=1),
    "lost ledger": lambda h, b: h["facts"].pop("ledger"),
    "lost weights": lambda h, b: h["facts"].pop("bin_weights"),
    "too many cuts": lambda h, b: h["facts"].update(cuts=[list(range(1_000))] * 3 + [None]),
    "cuts out of order": lambda h, b: h["facts"].update(cuts=[[0.5, 0.1]] * 3 + [None]),
    "cuts of a category": lambda h, b: h["facts"].update(cuts=[[0.5]] * 4),
    "too few cuts": lambda h, b: h["facts"].update(cuts=[[0.5]] * 3),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_refused(damage, tmp_path):
    X, y, _, _ = make_table(200)
    path = tmp_path / "model.dpforest"
    model = classifier(**SMALL).fit(X, y)
    model.save(path)
    if DAMAGE[damage] is None:  # the control: an honest rewrite is read
        rewrite(path, lambda h, b: None)
        np.testing.assert_array_equal(load_model(path).predict(X), model.predict(X))
        return
    rewrite(path, DAMAGE[damage])
    with pytest.raises(ModelFileError):
        load_model(path)


# Input


BAD = {
    "epsilon zero": ({"epsilon": 0}, "epsilon must be positive"),
    "delta one": ({"delta": 1}, "delta must be at least 0 and below 1"),
    "delta negative": ({"delta": -1e-6}, "delta must be at least 0"),
    "delta text": ({"delta": "small"}, "delta must be a number"),
    "delta none": ({"delta": None}, "delta must be a number"),
    "no trees": ({"n_estimators": 0}, "n_estimators must be at least 1"),
    "some trees": ({"n_estimators": "some"}, "n_estimators must be one of"),
    "no trees a round": ({"trees_per_round": 0}, "trees_per_round must be at least 1"),
    "half a round": ({"trees_per_round": 1.5}, "trees_per_round must be a whole"),
    "flat": ({"max_depth": 0}, "max_depth must be at least 1"),
    "too deep": ({"max_depth": 9}, "max_depth must be at most 8"),
    "standing still": ({"learning_rate": 0.0}, "learning_rate must be positive"),
    "backwards": ({"learning_rate": -1.0}, "learning_rate must be positive"),
    "far too fast": ({"learning_rate": math.inf}, "learning_rate must be positive and finite"),
    "rate of another kind": ({"learning_rate": True}, "learning_rate must be a number"),
    "hint zero": ({"n_hint": 0}, "n_hint must be at least 1"),
    "hint text": ({"n_hint": "1e6"}, "n_hint must be a whole"),
    "unknown neighbours": ({"neighbors": "swap"}, "neighbors must be one of"),
    "bound without groups": ({"max_records_per_group": 2}, "go together"),
    "schema of a regression": (
        {"schema": Schema((NumericFeature("a", 0, 1),), Target(low=0, high=1))},
        "classes",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_parameters_are_refused_before_anything_is_spent(case):
    settings, message = BAD[case]
    X, y, _, _ = make_table(50)
    model = classifier(**settings)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y)
    assert not hasattr(model, "ledger_")


def test_bad_columns_are_refused_before_anything_is_spent():
    pd = pytest.importorskip("pandas")
    X, y, _, _ = make_table(50)
    good = pd.DataFrame(X, columns=["x0", "x1", "x2", "c"])
    secret = "s3cret-value"
    tables = {
        "x1": good.assign(x1=[secret] * 50),
        "x2": good.assign(x2=pd.Timestamp("2020-01-01")),
        "c": good.assign(c=[[1]] * 50),
    }
    for column, table in tables.items():
        model = classifier(**SMALL)
        with pytest.raises((ValueError, TypeError), match=f"'{column}'") as caught:
            model.fit(table, y)
        assert secret not in str(caught.value)
        assert not hasattr(model, "ledger_")
    model = regressor(**SMALL)
    with pytest.raises(ValueError, match="y contains missing values"):
        model.fit(good, [math.nan] * 50)
    assert not hasattr(model, "ledger_")


def test_frames_and_arrays_give_the_same_model():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y, _, _ = make_table(400)
    names = ["x0", "x1", "x2", "c"]
    frames = [pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names), X.astype(object)]
    plain = classifier(**SMALL).fit(X, y)
    for frame in frames:
        model = classifier(**SMALL).fit(frame, y)
        np.testing.assert_array_equal(model.forest_.values, plain.forest_.values)


def test_labels_of_any_kind_give_the_same_model():
    X, y, _, features = make_table(400)
    plain = classifier(**SMALL).fit(X, y)
    for classes in (("no", "yes"), (1, 2), (-1.5, 7.0), (False, True)):
        schema = Schema(features, Target(classes=classes))
        model = PrivateForestClassifier(schema=schema, **SMALL).fit(X, np.array(classes)[y])
        np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
        np.testing.assert_array_equal(model.predict(X), np.array(classes)[plain.predict(X)])


def test_the_ledger_is_shown_when_asked(capsys):
    X, y, _, _ = make_table(100)
    model = classifier(verbose=True, **SMALL).fit(X, y)
    assert capsys.readouterr().out.strip() == model.ledger_.explain()


# Chosen questions


def wide_table(n=2_000, d=12, seed=0):
    """Twelve features of which a rare corner of two matters."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.where((X[:, 3] > 0.8) & (X[:, 7] > 0.5), 3.0, 0.0) + rng.normal(0, 0.3, n)
    schema = Schema(tuple(NumericFeature(f"x{j}", 0, 1) for j in range(d)), Target(low=-2, high=5))
    return X, y, schema


@pytest.mark.parametrize("rounds", [1, 7, 33])
def test_choices_are_paid_for_and_fill_the_budget(rounds):
    X, y, schema = wide_table(500)
    model = PrivateForestRegressor(
        schema=schema, n_estimators=2 * rounds, trees_per_round=2, max_depth=2, random_state=0
    ).fit(X, y)
    lines = [entry for entry in model.ledger_.entries if entry.label == "choices of questions"]
    (choices,) = lines
    assert choices.times == model.plan_.n_choices == min(rounds, 20)
    assert 1 - 1e-3 < model.ledger_.epsilon <= 1.0


def test_a_choice_finds_the_features_that_matter():
    X, y, schema = wide_table()
    settings = {"schema": schema, "n_estimators": 20, "max_depth": 3, "random_state": 0}
    model = PrivateForestRegressor(epsilon=math.inf, **settings).fit(X, y)
    assert model.plan_.chosen_levels > 0
    first = model.forest_.trees.feature[0, 0]
    assert first in (3, 7)


def test_choices_go_by_gradients_of_their_own_clip():
    """Whole trees are chosen by seven tenths of the clip; the grid bounds a record all the same."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (600, 4)), rng.integers(0, 3, 600)
    features = tuple(CategoricalFeature(f"x{j}", (0, 1, 2)) for j in range(4))
    schema = Schema(features, Target(classes=(0, 1, 2)))
    made = []

    def choices(desk, loss, *terms):
        made.append(loss)
        return QuestionChoices(desk, loss, *terms)

    settings = {"epsilon": 8.0, "n_estimators": 2, "max_depth": 2}
    with patch("dpforest.forests.choosing.QuestionChoices", choices):
        PrivateForestClassifier(schema=schema, random_state=0, **settings).fit(X, y)
    (loss,) = made
    assert loss.clip == pytest.approx(0.7 * Softmax(3).clip(2))
    assert loss.bound == loss.clip


def of_a_large_table(signal, **settings):
    """A forest that takes its table for a large one, and how often it made a choice."""
    rng = np.random.default_rng(0)
    X = rng.random((3_000, 10))
    classes = (rng.random(3_000) < signal(X)).astype(int)
    features = tuple(NumericFeature(f"x{j}", 0, 1) for j in range(10))
    schema = Schema(features, Target(classes=(0, 1)))
    usual = {"n_hint": 100_000, "n_estimators": 120, "trees_per_round": 5, "max_depth": 3}
    model = PrivateForestClassifier(schema=schema, random_state=0, **usual | settings)
    choose = QuestionChoices.choose
    with patch.object(QuestionChoices, "choose", autospec=True, side_effect=choose) as chosen:
        model.fit(X, classes)
    return model, chosen.call_count


def one_feature(X):
    return np.where(X[:, 0] > 0.5, 0.9, 0.1)


def pair_of_features(X):
    return np.where((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5), 0.99, 0.01)


def test_choices_of_large_tables_wait_and_are_paid_for_all_the_same():
    few, many = (
        of_a_large_table(signal, epsilon=200.0) for signal in (one_feature, pair_of_features)
    )
    assert few[1] == 0
    assert many[1] > 0
    for model, _ in (few, many):
        (choices,) = (e for e in model.ledger_.entries if e.label == "choices of questions")
        assert choices.times == model.plan_.n_choices
    assert few[0].ledger_.epsilon == pytest.approx(many[0].ledger_.epsilon)


@pytest.mark.parametrize("max_depth", ["auto", 3])
def test_trees_deepen_unless_a_depth_is_asked_for(max_depth):
    settings = {"epsilon": 200.0, "n_hint": 3_000, "max_depth": max_depth, "n_estimators": 400}
    depth = of_a_large_table(pair_of_features, **settings)[0].forest_.trees.depth
    grown = depth[depth > 1]  # a linear start has trees of depth 1
    assert (grown.max() > grown.min()) == (max_depth == "auto")


@pytest.mark.parametrize("estimator", [PrivateForestClassifier, PrivateForestRegressor])
def test_monotone_constraints_hold_whatever_the_noise(estimator):
    rng = np.random.default_rng(0)
    X = rng.random((400, 3))
    y = (X[:, 0] - X[:, 1] + 0.3 * rng.random(400) > 0).astype(int)
    classes = estimator is PrivateForestClassifier
    target = Target(classes=(0, 1)) if classes else Target(low=0, high=1)
    schema = Schema(tuple(NumericFeature(f"x{j}", 0, 1) for j in range(3)), target)
    model = estimator(
        epsilon=0.5, schema=schema, monotone_constraints={"x0": 1, "x1": -1}, random_state=0
    ).fit(X, y)

    def answers(X):
        return model.predict_proba(X)[:, 1] if classes else model.predict(X)

    for j, sign in ((0, 1), (1, -1)):
        steps = []
        for value in np.linspace(0, 1, 30):
            moved = X[:100].copy()
            moved[:, j] = value
            steps.append(answers(moved))
        assert (sign * np.diff(steps, axis=0) >= 0).all()
    free = estimator(epsilon=0.5, schema=schema, random_state=0).fit(X, y)
    assert free.ledger_.epsilon == model.ledger_.epsilon


@pytest.mark.filterwarnings("ignore::dpforest.LittleSignalWarning")
@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("n", [100, 4_000])
def test_constraints_that_a_continued_model_does_not_have_are_refused(n, delta):
    """A rule, a tree or a forest that falls cannot be made to rise by trees on top of it."""
    rng = np.random.default_rng(0)
    X = rng.random((n, 2))
    y = (X[:, 0] + 0.1 * rng.random(n) < 0.5).astype(int)
    schema = Schema(
        (NumericFeature("x0", 0, 1), NumericFeature("x1", 0, 1)), Target(classes=(0, 1))
    )
    model = PrivateForestClassifier(schema=schema, delta=delta, warm_start=True, random_state=0)
    model.fit(X, y).set_params(monotone_constraints={"x0": 1})
    spent = model.ledger_.epsilon
    with pytest.raises(ValueError, match="fitted without these monotone_constraints"):
        model.fit(X, y)
    assert model.ledger_.epsilon == spent
    again = PrivateForestClassifier(
        schema=schema,
        delta=delta,
        warm_start=True,
        random_state=0,
        monotone_constraints={"x0": -1},
    )
    assert again.fit(X, y).fit(X, y).ledger_.epsilon > spent


@pytest.mark.parametrize(
    ("constraints", "classes", "error"),
    [
        ({"x9": 1}, (0, 1), "x9"),
        ({"x0": 2}, (0, 1), "expected 1, 0 or -1"),
        ({"x0": 1}, (0, 1, 2), "two classes"),
    ],
)
def test_monotone_constraints_that_cannot_be_are_refused(constraints, classes, error):
    schema = Schema((NumericFeature("x0", 0, 1),), Target(classes=classes))
    model = PrivateForestClassifier(schema=schema, monotone_constraints=constraints)
    with pytest.raises(ValueError, match=error):
        model.fit(np.random.default_rng(0).random((30, 1)), np.arange(30) % len(classes))
    assert not hasattr(model, "ledger_") or model.ledger_.epsilon == 0
