import json
import zipfile

import numpy as np
import pytest

from dpforest import (
    ModelFileError,
    RandomDecisionForestClassifier,
    datasets,
    load_model,
)


@pytest.fixture(scope="module")
def census():
    return datasets.make_census(1_000, random_state=1)


@pytest.fixture
def saved(census, tmp_path):
    forest = RandomDecisionForestClassifier(
        schema=census.schema, n_estimators=3, max_depth=3, random_state=0
    ).fit(census.X, census.y)
    path = tmp_path / "model.dpforest"
    forest.save(path)
    return forest, path


def test_a_saved_model_comes_back_whole(census, saved):
    forest, path = saved
    for again in (RandomDecisionForestClassifier.load(path), load_model(path)):
        np.testing.assert_array_equal(again.predict_proba(census.X), forest.predict_proba(census.X))
        np.testing.assert_array_equal(again.predict(census.X), forest.predict(census.X))
        assert again.ledger_.explain() == forest.ledger_.explain()
        assert again.ledger_.guarantee == forest.ledger_.guarantee
        assert again.schema_ == forest.schema_
        assert again.get_params()["n_estimators"] == 3
        assert list(again.feature_names_in_) == list(forest.feature_names_in_)


def test_the_file_holds_no_pickle(saved):
    _, path = saved
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".npy"):
                with archive.open(name) as stream:
                    np.lib.format.read_magic(stream)
                    assert not np.lib.format.read_array_header_1_0(stream)[2].hasobject
            else:
                assert name == "model.json"


def rewrite(path, change):
    """Write the archive again with its header changed."""
    with zipfile.ZipFile(path) as archive:
        blobs = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(blobs["model.json"])
    change(header, blobs)
    blobs["model.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, blob in blobs.items():
            archive.writestr(name, blob)


def test_a_newer_file_asks_for_an_upgrade(saved):
    _, path = saved
    rewrite(path, lambda header, _: header.update(version=99))
    with pytest.raises(ModelFileError, match="upgrade dpforest"):
        load_model(path)


DAMAGE = {
    "another format": lambda h, b: h.update(format="pickle"),
    "changed array": lambda h, b: b.update(
        {"arrays/leaf_counts.npy": b["arrays/leaf_counts.npy"][:-8] + b"\1" * 8}
    ),
    "lost array": lambda h, b: b.pop("arrays/leaf_votes.npy"),
    "lost schema": lambda h, b: h["facts"].pop("schema"),
    "broken ledger": lambda h, b: h["facts"]["ledger"].update(entries=[{"odd": 1}]),
    "unknown parameter": lambda h, b: h["facts"]["params"].update(surprise=1),
    "unknown estimator": lambda h, b: h.update(estimator="os.system"),
    "facts are no dictionary": lambda h, b: h.update(facts=[]),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_refused(saved, damage):
    _, path = saved
    rewrite(path, DAMAGE[damage])
    with pytest.raises(ModelFileError):
        load_model(path)


def test_every_cut_short_file_is_refused(saved):
    _, path = saved
    whole = path.read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 25)):
        path.write_bytes(whole[:length])
        with pytest.raises(ModelFileError):
            load_model(path)


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        load_model(tmp_path / "nowhere.dpforest")
