"""The report: what it says of every kind of model, and that nothing in it can load or run."""

import math
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from dpforest import (
    Budget,
    CategoricalFeature,
    GreedyForestClassifier,
    MatrixForestClassifier,
    MatrixForestPredictor,
    MedianForestClassifier,
    MedianForestRegressor,
    ModelFileError,
    NumericFeature,
    PrivacyLeakWarning,
    PrivateForestClassifier,
    PrivateForestRegressor,
    RandomDecisionForestClassifier,
    Schema,
    Target,
    datasets,
    evaluate,
    load_model,
)
from dpforest.forests import boosted_base
from dpforest.forests.files import read_model
from dpforest.forests.signatures import sign_file

EVIL = "<script>alert(1)</script>"
QUOTES = "\"' onload=x <img src=//e>&amp;"
SECTIONS = (
    "guarantee", "who", "public", "ledger", "origin", "model", "learnt", "quality", "budget",
    "limits", "decision",
)  # fmt: skip
VOID = ("meta", "link")


class Page(HTMLParser):
    """A page that was read: its elements, its text, and what is wrong with its nesting."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.open, self.faults, self.texts = [], [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def read(report):
    """The page, which must be whole, small, and without anything that loads or runs."""
    html = report.html
    page = Page(html)
    assert page.faults == [] == page.open
    assert len(html.encode()) < 1_000_000
    assert not re.search(r"https?:|url\(|@import|javascript:", html)
    names = {tag for tag, _ in page.elements}
    assert not names & {"script", "img", "iframe", "object", "embed", "form", "base", "audio"}
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "src"]
        link = attributes.get("href", "#")
        assert link == "data:," if tag == "link" else link.startswith("#")
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert ids == list(SECTIONS)
    return page


def records(target, n=300, features=None):
    rng = np.random.default_rng(0)
    features = features or (NumericFeature("a", 0, 1), CategoricalFeature("b", ("u", "v")))
    X = np.array([[rng.random(), rng.choice(["u", "v"])] for _ in range(n)], dtype=object)
    high = X[:, 0].astype(float) > 0.5
    y = high.astype(float) if target.classes is None else np.array(target.classes)[high.astype(int)]
    return X, y, Schema(features, target)


CLASSES, NUMBER = Target("ill", classes=("no", "yes")), Target("cost", low=0, high=1)
ESTIMATORS = {
    "boosted": (PrivateForestClassifier(n_estimators=8), CLASSES),
    "boosted numbers": (PrivateForestRegressor(n_estimators=8), NUMBER),
    "random": (RandomDecisionForestClassifier(n_estimators=3, max_depth=2), CLASSES),
    "matrix": (MatrixForestClassifier(max_depth=2), CLASSES),
    "greedy": (GreedyForestClassifier(n_estimators=2, max_depth=2), CLASSES),
    "median": (MedianForestClassifier(n_estimators=2, max_depth=2), CLASSES),
    "median numbers": (MedianForestRegressor(n_estimators=2, max_depth=2), NUMBER),
}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_estimator_has_a_report(kind):
    estimator, target = ESTIMATORS[kind]
    X, y, schema = records(target)
    model = estimator.set_params(schema=schema).fit(X, y)
    page = read(model.report())
    assert "This model carries a privacy guarantee" in page.text
    assert type(model).__name__ in page.text
    assert "adding or removing one record" in page.text
    for entry in model.ledger_.entries:
        assert entry.label in page.text
    for feature in schema.feature_names:
        assert f" {feature} " in page.text


def test_a_worked_example_follows_from_epsilon():
    X, y, schema = records(CLASSES)
    pure = read(
        RandomDecisionForestClassifier(epsilon=math.log(3), schema=schema).fit(X, y).report()
    )
    assert "e^epsilon = 3" in pure.text
    assert "a belief of 3 / (1 + 3) = 75%" in pure.text
    assert "guesses right in at most 75% of cases" in pure.text
    assert "10% 25% 3.5%" in pure.text  # odds of 1 to 9 become 3 to 9, or 1 to 27
    assert "holds for every event, however rare" in pure.text


def test_with_delta_the_guess_is_the_exact_bound():
    X, y, schema = records(CLASSES)
    options = {"epsilon": math.log(3), "delta": 0.02, "n_estimators": 4, "schema": schema}
    page = read(PrivateForestClassifier(**options).fit(X, y).report())
    # (e^epsilon + delta) / (e^epsilon + 1)
    assert "guesses right in at most 75.5% of cases" in page.text
    assert "in all but rare outcomes, which delta pays for" in page.text
    assert "0.02 (one in 50)" in page.text


@pytest.mark.parametrize(
    ("epsilon", "factor"), [(0.001, "1.01"), (5, "149"), (20, "10^9"), (2000, "10^869")]
)
def test_factors_are_rounded_up_and_never_too_large_to_show(epsilon, factor):
    X, y, schema = records(CLASSES)
    model = RandomDecisionForestClassifier(epsilon=epsilon, schema=schema, max_depth=1).fit(X, y)
    page = read(model.report())
    assert f"e^epsilon = {factor} ." in page.text


def test_persons_and_replaced_records_are_told():
    X, y, schema = records(CLASSES)
    forest = RandomDecisionForestClassifier(
        schema=schema, neighbors="replace_one", max_records_per_group=3
    )
    page = read(forest.fit(X, y, groups=np.arange(len(X)) // 3).report())
    assert "replacing one person (at most 3 records each)" in page.text
    assert "Persons are protected as a whole. At most 3 records of each" in page.text
    assert "counts as public" in page.text
    assert "with k records" not in page.text


# Models that must not be released


def not_fit_for_release(page):
    assert "This model carries a privacy guarantee" not in page.text
    assert "this is not fit for release" in page.text


def test_reproducible_noise_is_not_for_release():
    X, y, schema = records(CLASSES)
    page = read(RandomDecisionForestClassifier(schema=schema, random_state=0).fit(X, y).report())
    assert "Not for release: the noise can be drawn again" in page.text
    not_fit_for_release(page)


def test_without_noise_there_is_no_guarantee_and_no_example():
    X, y, schema = records(CLASSES)
    model = PrivateForestClassifier(epsilon=math.inf, schema=schema, n_estimators=8).fit(X, y)
    page = read(model.report())
    assert "There is no privacy guarantee" in page.text
    assert "Epsilon is infinite: not private." in page.text
    assert "A worked example" not in page.text
    not_fit_for_release(page)


def test_a_schema_that_was_read_off_the_records_is_told():
    X, y, _ = records(CLASSES)
    with pytest.warns(PrivacyLeakWarning):
        model = RandomDecisionForestClassifier().fit(X, y)
    page = read(model.report())
    assert "There is no privacy guarantee" in page.text
    assert any(reason[1:] in page.text for reason in model.ledger_.reasons)
    assert "without a look at the records" not in page.text
    not_fit_for_release(page)


def test_a_fit_that_failed_has_its_account(monkeypatch):
    X, y, schema = records(CLASSES)
    forest = PrivateForestClassifier(schema=schema, max_depth=2)  # trees, and never one rule
    with pytest.raises(NotFittedError):
        forest.report()

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(boosted_base, "boost", fail)
    with pytest.raises(MemoryError), pytest.warns(RuntimeWarning, match="fit failed"):
        forest.fit(X, y)
    page = read(forest.report())
    assert "The fit failed: there is no model" in page.text
    assert "Training that failed" in page.text
    assert "number of records" in page.text
    not_fit_for_release(page)


def test_a_predictor_is_not_handed_over():
    X, y, schema = records(CLASSES)
    predictor = MatrixForestPredictor(schema=schema, max_depth=2, n_hint=300).fit(X, y)
    predictor.predict(X[:3])
    page = read(predictor.report())
    assert "it holds the records" in page.text
    not_fit_for_release(page)


def test_a_paid_schema_is_a_stage_of_its_own():
    X, y, _ = records(CLASSES, n=2000)
    table = pd.DataFrame(X, columns=["a", "b"]).assign(ill=y)
    types = {"a": "number", "b": "category", "ill": "category"}
    paid = Schema.infer(table, target="ill", types=types, epsilon=4, delta=1e-3)
    model = RandomDecisionForestClassifier(schema=paid).fit(table[["a", "b"]], y)
    page = read(model.report())
    assert "read from the table through noise and paid for: epsilon = 4, delta = 0.001" in page.text
    assert "Schema, paid for" in page.text
    assert "2 stages, which add up to (epsilon = 5, delta = 0.001)" in page.text


# What others wrote


def evil_model():
    features = NumericFeature(EVIL, 0, 1), CategoricalFeature(QUOTES, ("u", "v"))
    X, y, schema = records(Target("</style>" + EVIL, classes=(EVIL, "x" * 5000)), features=features)
    return PrivateForestClassifier(schema=schema, n_estimators=8).fit(X, y), X, y


def test_nothing_that_others_wrote_becomes_markup(tmp_path):
    model, X, y = evil_model()
    budget = Budget.create(tmp_path / "b.db", epsilon=3, table=EVIL)
    file = tmp_path / f"{QUOTES.replace('/', '')}.dpforest"
    model.save(file, table=EVIL)
    report = model.report(evaluation=evaluate(model, X, y, epsilon=1.0), budget=budget, file=file)
    page = read(report)
    assert page.text.count(EVIL) > 5
    assert QUOTES in page.text
    assert "x" * 200 not in report.html


def test_control_markup_would_be_seen():
    page = Page(f"<p>{EVIL}</p>")
    assert "script" in {tag for tag, _ in page.elements}
    assert Page("<p><b></p>").faults


def test_wide_tables_and_many_categories_stay_small():
    names = [f"column number {j} of a wide table" for j in range(2000)]
    features = (
        *(NumericFeature(name, 0, 1) for name in names),
        CategoricalFeature("codes", tuple(f"code {k}" for k in range(255))),
    )
    schema = Schema(features, Target("y", classes=tuple(f"class {k}" for k in range(60))))
    X = np.zeros((60, 2001), dtype=object)
    X[:, -1] = "code 7"
    model = RandomDecisionForestClassifier(schema=schema, n_estimators=2, max_depth=1)
    model.fit(X, np.array(schema.classes))
    found = evaluate(model, X, np.array(schema.classes), epsilon=1.0)
    page = read(model.report(evaluation=found))
    assert "1,701 more features" in page.text
    assert "more classes" in page.text


def test_equal_releases_share_a_line_of_the_ledger():
    census = datasets.make_census(6_000, random_state=0)
    model = PrivateForestClassifier(schema=census.schema, random_state=0).fit(census.X, census.y)
    labels = [entry.label for entry in model.ledger_.entries]
    (steps,) = {label for label in labels if label.startswith("linear start")}
    page = read(model.report())
    assert labels.count(steps) > 1
    assert page.text.count(steps) == 1
    assert f"{labels.count(steps)} times: discrete Gaussian" in page.text
    shares = re.findall(r"([\d.]+)% of what was spent", page.text)
    assert sum(map(float, shares)) == pytest.approx(100, abs=0.05 * len(shares))


# Importances


def test_importances_have_intervals_where_the_model_knows_them(monkeypatch):
    X, y, schema = records(CLASSES)
    model = PrivateForestClassifier(schema=schema, n_estimators=8).fit(X, y)
    told = SimpleNamespace(value=[0.75, 0.0], low=[0.625, 0.0], high=[0.875, 0.125])
    monkeypatch.setattr(PrivateForestClassifier, "importances", lambda _: told, raising=False)
    page = read(model.report())
    assert "a 62.5% to 87.5% 75.0%" in page.text
    assert "b not distinguishable from noise 0.0%" in page.text


# Evaluation, file, budget


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model that a budget paid for, its file, an evaluation, and the budget."""
    folder = tmp_path_factory.mktemp("report")
    budget = Budget.create(folder / "b.db", epsilon=5, delta=1e-5, table="ward 7")
    X, y, schema = records(CLASSES, n=900)
    model = PrivateForestClassifier(schema=schema, n_estimators=8, budget=budget).fit(X, y)
    model.save(folder / "m.dpforest", table="ward 7, 2026")
    found = evaluate(model, X, y, epsilon=0.5, budget=budget)
    return model, folder / "m.dpforest", found, budget


def test_figures_come_with_intervals_and_their_price(saved):
    model, _, found, _ = saved
    page = read(model.report(evaluation=found))
    assert f"{found.accuracy.low:.4f}".rstrip("0") in page.text
    assert "epsilon = 0.5, delta = 0 for adding or removing one record" in page.text
    assert "model and evaluation together: epsilon = 1.5, delta = 1e-06" in page.text
    assert "confusion matrix" in page.text
    assert "does not say which model it measured" not in page.text
    svgs = [attributes for tag, attributes in page.elements if tag == "svg"]
    assert (
        sum("aria-label" in attributes for attributes in svgs) == 3
    )  # an effect, ROC, calibration


def test_numbers_have_figures_too():
    X, y, schema = records(NUMBER)
    model = PrivateForestRegressor(schema=schema, n_estimators=8).fit(X, y)
    page = read(model.report(evaluation=evaluate(model, X, y, epsilon=1.0)))
    assert "Mean absolute error" in page.text
    assert "Quantiles of the errors" in page.text


@pytest.mark.parametrize("facts", [CLASSES, NUMBER], ids=["classes", "number"])
def test_figures_that_noise_covers_are_not_known(facts):
    X, y, schema = records(facts)
    kind = PrivateForestClassifier if facts is CLASSES else PrivateForestRegressor
    model = kind(schema=schema, n_estimators=8).fit(X, y)
    found = evaluate(model, X[:20], y[:20], epsilon=0.01)
    page = read(model.report(evaluation=found))
    assert "not known 0 to 1" in page.text or "R2 not known" in page.text


def test_file_and_budget_are_named_and_the_models_line_is_marked(saved):
    model, file, _, budget = saved
    page = read(load_model(file).report(file=file, budget=budget))
    digest = read_model(file).digest
    assert digest in page.text
    assert "ward 7, 2026" in page.text
    assert "not signed" in page.text
    assert "all sums fit" in page.text
    marked = [attributes for tag, attributes in page.elements if tag == "tr" and attributes]
    assert [attributes["class"] for attributes in marked] == [
        "this",
        "this",
    ]  # epsilon, and the use
    other = read(model.report(budget=budget, file=None))
    assert "The line of this model is marked" not in other.text


def test_another_models_file_or_evaluation_is_refused(saved, tmp_path):
    _, file, found, _ = saved
    X, y, schema = records(CLASSES)
    other = RandomDecisionForestClassifier(schema=schema).fit(X, y)
    with pytest.raises(ValueError, match="holds another model"):
        other.report(file=file)
    other.save(tmp_path / "o.dpforest")
    for evaluation in (found, found.to_dict()):
        with pytest.raises(ValueError, match="measured another model"):
            other.report(evaluation=evaluation)
    with pytest.raises(ValueError, match="not one that dpforest made"):
        other.report(evaluation={"accuracy": 1.0})
    forged = found.to_dict()
    forged["ledger"]["guarantee"]["epsilon"] = 0.01
    with pytest.raises(ModelFileError, match="ledger is damaged"):
        other.report(evaluation=forged)


def test_an_evaluation_names_its_model_whatever_became_of_it(saved, tmp_path):
    """By one name for the fitted model, all of its files and the loaded ones, however they run."""
    model, file, found, _ = saved
    model.save(tmp_path / "again.dpforest")
    X, y, _ = records(CLASSES, n=900)
    for same in (load_model(file), load_model(tmp_path / "again.dpforest")):
        same.set_params(n_jobs=1, verbose=True)
        assert evaluate(same, X, y, epsilon=0.5).model_digest == found.model_digest
        same.report(evaluation=found.to_dict(), file=file)


def test_older_evaluations_name_a_file_or_nothing(saved, tmp_path):
    """They are taken, unless they name another file than the one that is given."""
    model, file, found, _ = saved
    older = found.to_dict()
    del older["model_digest"]
    assert "does not say which model it measured" in read(model.report(evaluation=older)).text
    older["model"] = read_model(file).digest
    assert "does not say" not in read(model.report(evaluation=older, file=file)).text
    model.report(evaluation=older)
    model.save(tmp_path / "o.dpforest")
    with pytest.raises(ValueError, match="measured another model"):
        model.report(evaluation=older, file=tmp_path / "o.dpforest")


def test_the_signature_is_checked_with_a_key_and_only_then(saved, tmp_path):
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    from cryptography.hazmat.primitives import serialization as how

    model, _, _, _ = saved
    file, private = tmp_path / "m.dpforest", ed25519.Ed25519PrivateKey.generate()
    model.save(file)
    with pytest.raises(ModelFileError, match="not signed"):
        model.report(file=file, key=tmp_path / "public.pem")
    pem = private.private_bytes(how.Encoding.PEM, how.PrivateFormat.PKCS8, how.NoEncryption())
    (tmp_path / "key.pem").write_bytes(pem)
    public = private.public_key().public_bytes(
        how.Encoding.PEM, how.PublicFormat.SubjectPublicKeyInfo
    )
    (tmp_path / "public.pem").write_bytes(public)
    sign_file(file, tmp_path / "key.pem", f"{file}.sig")
    assert "which this report did not check" in read(model.report(file=file)).text
    checked = read(model.report(file=file, key=tmp_path / "public.pem"))
    assert "it fits the file and the public key public.pem" in checked.text
    (tmp_path / "m.dpforest.sig").write_bytes(b"0" * 64)
    with pytest.raises(ModelFileError, match="no signature of"):
        model.report(file=file, key=tmp_path / "public.pem")
    with pytest.raises(ValueError, match="goes with the file"):
        model.report(key=tmp_path / "public.pem")


def test_a_report_does_not_overwrite(saved, tmp_path):
    report = saved[0].report()
    report.save(tmp_path / "r.html")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        report.save(tmp_path / "r.html")
    report.save(tmp_path / "r.html", overwrite=True)
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == report.html
