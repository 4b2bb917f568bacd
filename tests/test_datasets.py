"""The catalogue, local files, downloads (with a stand-in for OpenML) and the census."""

import gzip
import hashlib
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import URLError

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import OrdinalEncoder
from threadpoolctl import threadpool_limits

from dpforest.datasets import catalog, frames, load, make_census, names, openml
from dpforest.schema import CategoricalFeature, NumericFeature, Schema


@pytest.fixture
def empty_world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No data folder, an empty cache."""
    monkeypatch.delenv("DPFOREST_DATA", raising=False)
    monkeypatch.setenv("DPFOREST_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def own_folder(empty_world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of data with one small table: a number and a category, each with a gap."""
    table = b"age,hue,target\n1.5,red,yes\n,blue,no\n3,,yes\n"
    (empty_world / "mine.csv.gz").write_bytes(gzip.compress(table, mtime=0))
    entry = {
        "title": "Mine",
        "sha256": hashlib.sha256(gzip.compress(table, mtime=0)).hexdigest(),
        "features": [
            {"name": "age", "kind": "numeric", "low": 0, "high": 9},
            {"name": "hue", "kind": "categorical", "categories": ["red", "blue"]},
        ],
        "target": {"classes": ["no", "yes"]},
    }
    (empty_world / "datasets.json").write_text(json.dumps({"mine": entry}))
    monkeypatch.setenv("DPFOREST_DATA", str(empty_world))
    return empty_world


def fake_openml(monkeypatch: pytest.MonkeyPatch, data: pd.DataFrame, target: Any) -> list[int]:
    """Let fetch_openml answer with this table; returns the list of ids it was asked for."""
    asked: list[int] = []

    def fetch(*, data_id: int, **_: Any) -> SimpleNamespace:
        asked.append(data_id)
        return SimpleNamespace(data=data.copy(), target=target.copy())

    monkeypatch.setattr(openml, "fetch_openml", fetch)
    return asked


def banknote_as_on_openml() -> tuple[pd.DataFrame, pd.Series]:
    """Columns V1..V4 and labels 1/2, as OpenML has them; the values themselves are made up."""
    values = np.random.default_rng(0).uniform(-2, 2, (1372, 4))
    labels = pd.Series(np.repeat(["1", "2"], [762, 610]), dtype="category")
    return pd.DataFrame(values, columns=["V1", "V2", "V3", "V4"]), labels


# --- the catalogue ---------------------------------------------------------------------------


def test_every_entry_of_the_catalogue_is_a_schema(empty_world: Path) -> None:
    assert len(names()) == 24
    for name in names():
        schema = Schema.from_dict(catalog.entry(name, None))
        assert schema.target is not None
        if schema.target.classes is not None:
            assert set(catalog.entry(name, None)["target"]["counts"]) == set(schema.target.classes)


@pytest.mark.needs_tables
def test_the_catalogue_says_what_the_folder_says() -> None:
    described = json.loads((Path(os.environ["DPFOREST_DATA"]) / "datasets.json").read_text())
    for name, ours in catalog.packaged().items():
        theirs = described[name]
        assert ours["sha256"] == theirs["sha256"]
        assert ours["n_rows"] == theirs["n_rows"]
        for feature, published in zip(ours["features"], theirs["features"], strict=True):
            stated = {key: value for key, value in feature.items() if key != "integer"}
            assert stated == {key: published[key] for key in stated}


def test_an_unknown_name_is_answered_with_the_known_ones(empty_world: Path) -> None:
    with pytest.raises(ValueError, match=r"no data set is called 'adults'; there are: .*adult, "):
        load("adults")


def test_a_folder_may_describe_further_data(
    empty_world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = {"title": "Mine", "sha256": "", "features": [], "target": {"low": 0, "high": 1}}
    (empty_world / "datasets.json").write_text(json.dumps({"mine": mine, "adult": {}}))
    monkeypatch.setenv("DPFOREST_DATA", str(empty_world))
    assert "mine" in names()
    assert catalog.entry("adult", empty_world) == catalog.entry("adult", None)


# --- local files -----------------------------------------------------------------------------


@pytest.mark.needs_tables
@pytest.mark.parametrize("name", ["adult", "mammographic", "parkinsons", "covtype"])
def test_a_local_file_fits_its_schema(name: str) -> None:
    data = load(name)
    entry = catalog.entry(name, None)
    assert data.X.shape == (entry["n_rows"], len(entry["features"]))
    assert tuple(data.X.columns) == data.schema.feature_names
    for feature in data.schema.features:
        column = data.X[feature.name].dropna()
        if isinstance(feature, NumericFeature):
            assert column.dtype == np.float64
            assert feature.low <= column.median() <= feature.high
            assert not feature.integer or (column == column.round()).all()
        if isinstance(feature, CategoricalFeature):
            assert set(column.unique()) <= set(feature.categories)
    if data.schema.target is not None and data.schema.target.classes is not None:
        labels, counts = np.unique(data.y, return_counts=True)
        assert dict(zip(labels, counts, strict=True)) == entry["target"]["counts"]
    else:
        assert data.y.dtype == np.float64


@pytest.mark.parametrize(("backend", "kind"), [("polars", pl.DataFrame), ("pyarrow", pa.Table)])
def test_without_pandas_the_same_table_comes_from_another_library(
    backend: str, kind: type, own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = load("mine")
    assert expected.X.isna().to_numpy().sum() == 2
    monkeypatch.setattr(frames, "BACKENDS", (backend,))
    data = load("mine")
    assert isinstance(data.X, kind)
    table = data.X.to_pandas()
    assert list(table.columns) == list(expected.X.columns)
    for column in table:
        ours, theirs = table[column].to_numpy(object), expected.X[column].to_numpy(object)
        missing = pd.isna(theirs)
        np.testing.assert_array_equal(pd.isna(ours), missing)
        np.testing.assert_array_equal(ours[~missing], theirs[~missing])
    np.testing.assert_array_equal(data.y, expected.y)


def test_without_any_frame_library_the_error_names_the_remedy(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install pandas"):
        load("mine")


def test_a_damaged_local_file_is_refused(
    empty_world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (empty_world / "iris.csv.gz").write_bytes(b"not the iris data")
    monkeypatch.setenv("DPFOREST_DATA", str(empty_world))
    with pytest.raises(OSError, match=r"iris\.csv\.gz is damaged.*copy it again"):
        load("iris")


# --- downloads -------------------------------------------------------------------------------


def test_a_download_is_renamed_checked_and_kept(
    empty_world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, labels = banknote_as_on_openml()
    asked = fake_openml(monkeypatch, values, labels)
    first, second = load("banknote"), load("banknote")
    assert asked == [1462]
    assert list(first.X.columns) == ["variance", "skewness", "curtosis", "entropy"]
    np.testing.assert_array_equal(first.X.to_numpy(), values.to_numpy())
    np.testing.assert_array_equal(first.y, np.repeat(["0", "1"], [762, 610]))
    pd.testing.assert_frame_equal(first.X, second.X)


def test_columns_are_matched_by_name_before_position(
    empty_world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = catalog.entry("iris", None)
    wanted = [feature["name"] for feature in entry["features"]]
    lows = {feature["name"]: float(feature["low"]) for feature in entry["features"]}
    values = pd.DataFrame(lows, index=range(150))
    theirs = values[wanted[::-1]].rename(columns=lambda name: name.replace("_", "").upper())
    fake_openml(monkeypatch, theirs, pd.Series(np.repeat(entry["target"]["classes"], 50)))
    pd.testing.assert_frame_equal(load("iris").X, values)


def test_coded_categories_become_text_and_gaps_stay(
    empty_world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = catalog.entry("voting", None)
    columns = {f["name"]: np.array(["y"] * 435, dtype=object) for f in entry["features"]}
    columns["water-project-cost-sharing"][:3] = None
    labels = pd.Series(np.repeat(["democrat", "republican"], [267, 168]))
    fake_openml(monkeypatch, pd.DataFrame(columns).astype("category"), labels)
    data = load("voting")
    assert data.X["water-project-cost-sharing"].isna().sum() == 3
    assert set(data.X["crime"]) == {"y"}
    assert openml._as_text(pd.Series([1.0, None, 2.0])).tolist()[::2] == ["1", "2"]


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (lambda X, y: (X[:-1], y[:-1]), "number of rows"),
        (lambda X, y: (X.drop(columns="V1"), y), "number of rows or columns"),
        (lambda X, y: (X.assign(V3=1000.0), y), "column 'curtosis'"),
        (lambda X, y: (X, pd.Series(np.repeat(["1", "2"], [700, 672]))), "class counts"),
    ],
)
def test_another_copy_on_openml_is_refused(
    damage: Any, what: str, empty_world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_openml(monkeypatch, *damage(*banknote_as_on_openml()))
    with pytest.raises(OSError, match=rf"OpenML's copy of banknote.*{what}.*DPFOREST_DATA"):
        load("banknote")
    assert not list(empty_world.glob("cache/*.gz"))


def test_a_damaged_cache_is_noticed(empty_world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_openml(monkeypatch, *banknote_as_on_openml())
    load("banknote")
    with (empty_world / "cache" / "banknote.csv.gz").open("ab") as file:
        file.write(b"x")
    with pytest.raises(OSError, match=r"banknote\.csv\.gz is damaged.*delete it and load"):
        load("banknote")


def test_no_network_names_the_folder_as_the_way_out(
    empty_world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(**_: Any) -> None:
        raise URLError("no route to host")

    monkeypatch.setattr(openml, "fetch_openml", fetch)
    with pytest.raises(OSError, match=r"could not be downloaded.*DPFOREST_DATA"):
        load("banknote")
    with pytest.raises(OSError, match=r"flights is not on OpenML; set DPFOREST_DATA"):
        load("flights")


# --- the census ------------------------------------------------------------------------------


def test_the_census_fits_its_schema_and_repeats() -> None:
    census = make_census(5000, random_state=3)
    again = make_census(5000, random_state=3)
    pd.testing.assert_frame_equal(census.X, again.X)
    np.testing.assert_array_equal(census.y, again.y)
    assert tuple(census.X.columns) == census.schema.feature_names
    for feature in census.schema.features:
        column = census.X[feature.name].dropna()
        if isinstance(feature, NumericFeature):
            assert column.between(feature.low, feature.high).all()
            assert not feature.integer or (column == column.round()).all()
        if isinstance(feature, CategoricalFeature):
            assert set(column.unique()) == set(feature.categories)
    assert census.X.isna().any().sum() == 3
    assert 0.85 < (census.X["capital_gain"] == 0).mean() < 0.93
    assert census.X["capital_gain"].max() > 50_000


def test_the_income_can_be_learnt_but_not_perfectly() -> None:
    train, test = make_census(20_000, random_state=0), make_census(20_000, random_state=1)
    text = [f.name for f in train.schema.features if isinstance(f, CategoricalFeature)]
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    encode = make_column_transformer((codes, text), remainder="passthrough")
    model = HistGradientBoostingClassifier(max_iter=60, random_state=0)
    with threadpool_limits(1):  # threads that wait for each other take a minute on a busy machine
        model.fit(encode.fit_transform(train.X), train.y)
    majority = (test.y == "<=50K").mean()
    assert 0.72 < majority < 0.78
    assert 0.83 < model.score(encode.transform(test.X), test.y) < 0.88


def test_without_any_frame_library_the_census_is_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = make_census(300, random_state=0).X
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    array = make_census(300, random_state=0).X
    assert isinstance(array, np.ndarray)
    np.testing.assert_array_equal(pd.isna(array), frame.isna().to_numpy())
    known = ~pd.isna(array)
    np.testing.assert_array_equal(array[known], frame.to_numpy(object)[known])


@pytest.mark.parametrize("n_rows", [1, 2, 17])
def test_a_census_may_be_tiny(n_rows: int) -> None:
    assert len(make_census(n_rows).X) == n_rows


def test_an_empty_census_is_refused() -> None:
    with pytest.raises(ValueError, match="n_rows must be at least 1; got 0"):
        make_census(0)
