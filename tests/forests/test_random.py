import math
import pickle

import numpy as np
import pytest

from dpforest import (
    CategoricalFeature,
    NumericFeature,
    PrivacyLeakWarning,
    RandomDecisionForestClassifier,
    Schema,
    Target,
    datasets,
)
from dpforest.trees.votes import VOTING


@pytest.fixture(scope="module")
def census():
    return datasets.make_census(4_000, random_state=1)


def make(census, **settings):
    settings = {"epsilon": 2.0, "n_estimators": 5, "max_depth": 4, "random_state": 0} | settings
    return RandomDecisionForestClassifier(schema=census.schema, **settings)


@pytest.mark.parametrize("sampling", ["shared", "disjoint"])
@pytest.mark.parametrize("leaves", ["counts", "label"])
@pytest.mark.parametrize("splits", ["binary", "multiway"])
def test_every_combination_spends_exactly_its_epsilon(census, sampling, leaves, splits):
    settings = {"sampling": sampling, "leaves": leaves, "splits": splits, "max_bins": 4}
    forest = make(census, **settings, max_depth=2).fit(census.X, census.y)
    assert forest.ledger_.epsilon == pytest.approx(2.0, abs=1e-9)
    assert forest.ledger_.epsilon <= 2.0
    assert forest.ledger_.guarantee is not None
    proba = forest.predict_proba(census.X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_auto_pays_for_a_count_and_a_hint_saves_it(census):
    auto = make(census, n_estimators="auto", max_depth="auto").fit(census.X, census.y)
    assert auto.ledger_.epsilon == pytest.approx(2.0, abs=1e-9)
    assert len(auto.ledger_.entries) == 2
    hinted = make(census, n_estimators="auto", n_hint=4_000).fit(census.X, census.y)
    assert len(hinted.ledger_.entries) == 1
    public = make(census, n_estimators="auto", neighbors="replace_one").fit(census.X, census.y)
    assert public.ledger_.entries[0].cost().epsilon == 0


@pytest.mark.parametrize("voting", VOTING)
def test_an_answer_does_not_depend_on_other_records(voting, census):
    """Or an evaluation would be of another model when one record is added."""
    forest = make(census, voting=voting, leaves="counts").fit(census.X, census.y)
    np.testing.assert_array_equal(
        forest.predict(census.X[:500])[1:], forest.predict(census.X[1:500])
    )


@pytest.mark.parametrize("voting", VOTING)
def test_every_rule_of_voting_learns(voting):
    rng = np.random.default_rng(0)
    X = rng.random((2_000, 2))
    schema = Schema((NumericFeature("a", 0, 1), NumericFeature("b", 0, 1)), Target(classes=(0, 1)))
    forest = RandomDecisionForestClassifier(
        voting=voting, epsilon=20.0, n_estimators=15, max_depth=6, schema=schema, random_state=0
    ).fit(X, X[:, 0] > X[:, 1])
    assert forest.score(X, X[:, 0] > X[:, 1]) > (0.7 if voting == "probabilistic" else 0.85)


def test_epsilon_to_infinity_meets_the_non_private_twin_exactly(census):
    nearly = make(census, epsilon=1e9).fit(census.X, census.y)
    twin = make(census, epsilon=math.inf).fit(census.X, census.y)
    np.testing.assert_array_equal(nearly.leaf_values_, twin.leaf_values_)
    np.testing.assert_array_equal(nearly.predict_proba(census.X), twin.predict_proba(census.X))
    assert twin.leaf_values_.sum() == 5 * len(census.y)


def test_the_twin_counts_what_a_plain_loop_counts():
    """The kernels against the definition, on a handful of records."""
    rng = np.random.default_rng(0)
    X, y = rng.random((50, 3)), rng.integers(0, 3, 50)
    schema = Schema(
        tuple(NumericFeature(f"x{j}", 0, 1) for j in range(3)), Target(classes=(0, 1, 2))
    )
    forest = RandomDecisionForestClassifier(
        epsilon=math.inf, schema=schema, n_estimators=3, max_depth=3, random_state=1
    ).fit(X, y)
    f, bins = forest.forest_, forest.encoding_.bins(X)
    expected = np.zeros_like(forest.leaf_values_)
    for record, label in zip(bins, y, strict=True):
        for node in f.roots:
            while f.n_children[node]:
                bin_ = int(record[f.feature[node]])
                right = int(f.goes_right[node, bin_ // 64]) >> (bin_ % 64) & 1
                node = f.first_child[node] + right
            expected[f.leaf_id[node], label] += 1
    np.testing.assert_array_equal(forest.leaf_values_, expected)


def test_disjoint_trees_share_out_the_records(census):
    twin = make(census, epsilon=math.inf, sampling="disjoint").fit(census.X, census.y)
    per_tree = np.add.reduceat(twin.leaf_values_.sum(axis=1), twin.forest_.leaf_offsets[:-1])
    assert per_tree.sum() == len(census.y)
    # A binomial share: 5 standard deviations, false alarm rate below 1e-5, fixed seed.
    spread = 5 * math.sqrt(len(census.y) * 0.2 * 0.8)
    assert (np.abs(per_tree - len(census.y) / 5) < spread).all()


def test_noise_has_the_scale_the_ledger_says(census):
    """Mean absolute noise of 1280 counts against the discrete Laplace; 5 standard errors."""
    private = make(census, n_estimators=5, max_depth=7, epsilon=0.5).fit(census.X, census.y)
    twin = make(census, n_estimators=5, max_depth=7, epsilon=math.inf).fit(census.X, census.y)
    noise = np.abs(private.leaf_values_ - twin.leaf_values_)
    scale = 5 / 0.5
    assert noise.mean() == pytest.approx(scale, abs=5 * scale / math.sqrt(noise.size))


def test_random_state_makes_it_reproducible_and_says_so(census):
    one, two = (make(census).fit(census.X, census.y) for _ in range(2))
    np.testing.assert_array_equal(one.leaf_values_, two.leaf_values_)
    assert any("not for release" in note for note in one.ledger_.notes)
    secret = make(census, random_state=None).fit(census.X, census.y)
    assert secret.ledger_.notes == ()


def test_results_do_not_depend_on_the_number_of_threads():
    census = datasets.make_census(50_000, random_state=2)
    one = make(census, n_jobs=1).fit(census.X, census.y)
    two = make(census, n_jobs=2).fit(census.X, census.y)
    np.testing.assert_array_equal(one.leaf_values_, two.leaf_values_)
    np.testing.assert_array_equal(one.predict_proba(census.X), two.predict_proba(census.X))


def test_without_a_schema_there_is_a_warning_and_no_guarantee(census):
    forest = RandomDecisionForestClassifier(n_estimators=3, max_depth=2)
    with pytest.warns(PrivacyLeakWarning):
        forest.fit(census.X, census.y)
    assert forest.ledger_.guarantee is None
    assert "not paid for" in forest.ledger_.reasons[0]


def test_pickling_keeps_the_model(census):
    forest = make(census).fit(census.X, census.y)
    again = pickle.loads(pickle.dumps(forest))
    np.testing.assert_array_equal(again.predict_proba(census.X), forest.predict_proba(census.X))
    assert again.ledger_.explain() == forest.ledger_.explain()


def test_a_failed_fit_keeps_what_it_spent(census, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpforest.forests.random.grow_binary", interrupt)
    forest = make(census, n_estimators="auto")
    with pytest.warns(RuntimeWarning, match="had spent"), pytest.raises(KeyboardInterrupt):
        forest.fit(census.X, census.y)
    assert forest.ledger_.epsilon == pytest.approx(0.04)
    assert any("remain spent" in note for note in forest.ledger_.notes)


LABELS = {
    "strings": ("no", "yes", "maybe"),
    "one and up": (1, 2, 3),
    "negative": (-1, 0, 7),
    "floats": (0.5, 1.5, 2.5),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_kind_give_the_same_forest(kind):
    rng = np.random.default_rng(0)
    X, codes = rng.random((300, 2)), rng.integers(0, 3, 300)
    features = (NumericFeature("a", 0, 1), NumericFeature("b", 0, 1))

    def fit(classes):
        model = RandomDecisionForestClassifier(
            schema=Schema(features, Target(classes=classes)), n_estimators=3, max_depth=3,
            random_state=0,
        )  # fmt: skip
        return model.fit(X, np.array(classes, dtype=object)[codes].tolist())

    plain, other = fit((0, 1, 2)), fit(LABELS[kind])
    np.testing.assert_array_equal(plain.leaf_values_, other.leaf_values_)
    np.testing.assert_array_equal(np.array(LABELS[kind])[plain.predict(X)], other.predict(X))


def test_boolean_labels_and_columns(census):
    schema = Schema((CategoricalFeature("member", (False, True)),), Target(classes=(False, True)))
    member = np.array([True, False] * 50)
    settings = {"schema": schema, "random_state": 0, "n_estimators": 3, "max_depth": 1}
    forest = RandomDecisionForestClassifier(**settings).fit(member[:, None], ~member)
    as_ints = RandomDecisionForestClassifier(**settings).fit(
        member[:, None].astype(int), 1 - member
    )
    np.testing.assert_array_equal(forest.leaf_values_, as_ints.leaf_values_)
    assert forest.predict(member[:, None]).dtype == bool


def test_frames_of_any_kind_and_order_give_the_same_forest(census):
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    pandas = census.X if isinstance(census.X, pd.DataFrame) else census.X.to_pandas()
    arrow = pa.Table.from_pandas(pandas, preserve_index=False)
    texts = pandas.select_dtypes(exclude="number").columns
    frames = [pandas, pl.from_arrow(arrow), arrow, pandas.astype(dict.fromkeys(texts, "category"))]
    models = [make(census).fit(frame, census.y) for frame in frames]
    for model in models[1:]:
        np.testing.assert_array_equal(model.leaf_values_, models[0].leaf_values_)
    turned = pandas[list(pandas.columns)[::-1]]
    np.testing.assert_array_equal(
        models[0].predict_proba(turned), models[1].predict_proba(frames[1])
    )
