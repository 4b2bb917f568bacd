"""Model files: whole or refused, checked against their own ledger, never in another's place."""

import copy
import hashlib
import io
import json
import math
import os
import re
import threading
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import dpforest
from dpforest import (
    ModelFileError,
    PrivateForestClassifier,
    RandomDecisionForestClassifier,
    Schema,
    datasets,
    load_model,
)
from dpforest.forests.files import read_model
from dpforest.forests.provenance import digest_of, schema_digest
from dpforest.privacy.accounts.accounting import gaussian_epsilon
from dpforest.privacy.accounts.ledger import Ledger


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


def rewrite(path, change, digest=True):
    """Write the archive again with its header changed, and a digest that fits if that is asked."""
    with zipfile.ZipFile(path) as archive:
        blobs = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(blobs["model.json"])
    change(header, blobs)
    if digest:
        header["digest"] = digest_of({n: v for n, v in header.items() if n != "digest"})
    blobs["model.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, blob in blobs.items():
            archive.writestr(name, blob)


def test_a_newer_file_asks_for_an_upgrade(saved):
    _, path = saved
    rewrite(path, lambda header, _: header.update(version=99))
    with pytest.raises(ModelFileError, match="upgrade dpforest"):
        load_model(path)


def put_array(header, blobs, name, array):
    """Another array, with a checksum that fits."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    blobs[f"arrays/{name}.npy"] = buffer.getvalue()
    header["sha256"][name] = hashlib.sha256(buffer.getvalue()).hexdigest()


def ask_for_the_last_feature(header, blobs):
    """All nodes ask for one feature more than there are: compiled code would not notice."""
    feature = np.load(io.BytesIO(blobs["arrays/forest.feature.npy"]))
    n_features = len(header["facts"]["schema"]["features"])
    put_array(header, blobs, "forest.feature", np.full_like(feature, n_features))


class Ran:
    """What runs when a pickle of it is read."""

    def __reduce__(self):
        return pytest.fail, ("a model file ran code",)


DAMAGE = {
    "code": lambda h, b: put_array(h, b, "leaf_values", np.array([[Ran()]], dtype=object)),
    "another feature": ask_for_the_last_feature,
    "another format": lambda h, b: h.update(format="pickle"),
    "changed array": lambda h, b: b.update(
        {"arrays/leaf_values.npy": b["arrays/leaf_values.npy"][:-8] + b"\1" * 8}
    ),
    "lost array": lambda h, b: b.pop("arrays/leaf_votes.npy"),
    "lost schema": lambda h, b: h["facts"].pop("schema"),
    "broken ledger": lambda h, b: h["facts"]["ledger"]["stages"][0].update(entries=[{"odd": 1}]),
    "something beside": lambda h, b: b.update({"more.txt": b"hello"}),
    "another schema": lambda h, b: h["facts"]["schema"]["features"].reverse(),
    "other people": lambda h, b: h["provenance"].update(protects="nobody"),
    "lost provenance": lambda h, b: h.pop("provenance"),
    "a seed that the ledger denies": lambda h, b: h["facts"].update(seeded=False),
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


# What a file says of itself


def header_of(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("model.json"))


def test_an_honest_rewrite_is_read(saved, census):
    forest, path = saved
    rewrite(path, lambda header, blobs: None)
    np.testing.assert_array_equal(load_model(path).predict(census.X), forest.predict(census.X))


def leaves_of(value, path=()):
    """Every place of a JSON value that holds no list and no dictionary."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in items:
            yield from leaves_of(part, (*path, key))
    else:
        yield path


def test_the_digest_covers_every_part_of_the_header(saved):
    _, path = saved
    whole = path.read_bytes()
    places = list(leaves_of(header_of(path)))
    for *way, last in places[:: max(1, len(places) // 40)]:

        def edit(header, _, way=way, last=last):
            part = header
            for key in way:
                part = part[key]
            part[last] = "edited"

        rewrite(path, edit, digest=False)
        with pytest.raises(ModelFileError):
            load_model(path)
        path.write_bytes(whole)
    load_model(path)


def test_an_old_file_is_refused_with_a_reason(saved):
    _, path = saved
    rewrite(path, lambda header, _: header.update(version=1))
    with pytest.raises(ModelFileError, match=r"format 1, before 2.*train and save"):
        load_model(path)


def test_a_file_says_where_it_comes_from(census, tmp_path):
    forest = RandomDecisionForestClassifier(
        schema=census.schema, n_estimators=3, max_depth=3, max_records_per_group=2
    ).fit(census.X, census.y, groups=np.arange(1_000))
    path = tmp_path / "model.dpforest"
    forest.save(path, table="patients 2026")
    origin = read_model(path).provenance
    assert origin.library == dpforest.__version__
    age = datetime.now(UTC) - datetime.fromisoformat(origin.created)
    assert timedelta(seconds=-1) <= age < timedelta(minutes=5)
    assert origin.schema_sha256 == schema_digest(census.schema)
    assert origin.table == "patients 2026"
    assert origin.protects == "adding or removing one person (at most 2 records each)"
    assert "table 'patients 2026'" in str(origin)
    with pytest.raises(TypeError, match="table must be a name"):
        forest.save(tmp_path / "other", table=7)
    assert not (tmp_path / "other").exists()


def test_the_digest_of_a_schema_is_that_of_what_it_declares(census):
    other = census.schema.select(census.schema.feature_names[1:])
    assert schema_digest(census.schema) == schema_digest(Schema.from_dict(census.schema.to_dict()))
    assert schema_digest(census.schema) != schema_digest(other)


# Edited ledgers


def spends_in(entries):
    for entry in entries:
        if "parts" in entry:
            yield from spends_in(entry["parts"])
        else:
            yield entry


def divide_every_mu(header, _):
    """What finding 7 did: every mu divided by 50."""
    for stage in header["facts"]["ledger"]["stages"]:
        for spend in spends_in(stage["entries"]):
            if "mu" in spend["loss"]:
                spend["loss"]["mu"] = repr(float(spend["loss"]["mu"]) / 50)


def divide_with_totals(header, blobs):
    """The same by somebody who also works out the totals again."""
    ledger = header["facts"]["ledger"]
    divide_every_mu(header, blobs)
    honest = copy.deepcopy(ledger)
    for spend in spends_in(honest["stages"][0]["entries"]):
        spend["made"] = None
    mu2 = sum(
        float(spend["loss"]["mu"]) ** 2 * times
        for spend, times in counted(honest["stages"][0]["entries"])
    )
    epsilon = gaussian_epsilon(math.sqrt(mu2), 1e-6)
    honest["stages"][0]["spent"]["epsilon"] = epsilon
    honest["guarantee"]["epsilon"] = epsilon
    Ledger.from_dict(honest)  # the forgery is consistent but for how the noise was made
    ledger["stages"][0]["spent"]["epsilon"] = ledger["guarantee"]["epsilon"] = epsilon


def divide_and_keep_silent(header, blobs):
    """The same by somebody who takes out how the noise was made."""
    divide_with_totals(header, blobs)
    for spend in spends_in(header["facts"]["ledger"]["stages"][0]["entries"]):
        spend["made"] = None


def counted(entries, times=1):
    for entry in entries:
        if "parts" in entry:
            assert entry["rule"] == "sequential"
            yield from counted(entry["parts"], times * entry["times"])
        else:
            yield entry, times


@pytest.mark.parametrize("edit", [divide_every_mu, divide_with_totals, divide_and_keep_silent])
@pytest.mark.parametrize("digest", [True, False])
def test_a_cheaper_ledger_is_refused(census, tmp_path, edit, digest):
    path = tmp_path / "model.dpforest"
    PrivateForestClassifier(schema=census.schema, n_estimators=20).fit(census.X, census.y).save(
        path
    )
    assert load_model(path).ledger_.epsilon == pytest.approx(1.0, abs=1e-4)
    rewrite(path, edit, digest)
    with pytest.raises(ModelFileError):
        load_model(path)


# Seeds


def test_a_file_holds_no_seed_but_tells_of_it(census, tmp_path):
    seed = 918273645
    for random_state in (seed, np.random.RandomState(seed), np.int64(seed)):
        path = tmp_path / "model.dpforest"
        forest = PrivateForestClassifier(
            schema=census.schema, n_estimators=10, random_state=random_state
        ).fit(census.X, census.y)
        forest.save(path, overwrite=True)
        with zipfile.ZipFile(path) as archive:
            text = archive.read("model.json").decode()
        assert str(seed) not in text
        header = json.loads(text)
        assert header["facts"]["params"]["random_state"] is None
        assert header["facts"]["seeded"] is True
        assert header["facts"]["ledger"]["guarantee"]["releasable"] is False
        again = load_model(path)
        assert again.random_state is None
        assert not again.ledger_.releasable
        assert "not for release" in str(again.ledger_.guarantee)
        # Saved and continued without a seed it stays what it is.
        again.save(path, overwrite=True)
        again = load_model(path).set_params(warm_start=True).fit(census.X, census.y)
        assert not again.ledger_.releasable


def test_control_a_model_without_a_seed_is_releasable(census, tmp_path):
    path = tmp_path / "model.dpforest"
    forest = RandomDecisionForestClassifier(schema=census.schema, n_estimators=3, max_depth=3)
    forest.fit(census.X, census.y).save(path)
    assert header_of(path)["facts"]["seeded"] is False
    assert load_model(path).ledger_.releasable


# Names that are taken


def test_a_file_is_overwritten_only_when_asked(saved, census):
    forest, path = saved
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match=r"exists.*overwrite=True"):
        forest.save(path)
    assert path.read_bytes() == before
    forest.save(path, overwrite=True)
    load_model(path)
    assert os.listdir(path.parent) == [path.name]


def test_a_loaded_model_has_a_schema_and_is_the_same_model(census, tmp_path):
    """However its schema was declared; a file whose parameters spell it otherwise is no other."""
    declared = census.schema.to_dict()
    otherwise = {**declared, "features": [dict(each) for each in declared["features"]]}
    for each in otherwise["features"]:
        if each["kind"] == "numeric":
            each["low"] = float(each["low"])
    for number, schema in enumerate((census.schema, otherwise)):
        path = tmp_path / f"{number}.dpforest"
        forest = RandomDecisionForestClassifier(schema=schema, n_estimators=3, max_depth=3)
        forest.fit(census.X, census.y).save(path)
        again = load_model(path)
        assert isinstance(again.schema, Schema)
        assert again.schema == again.schema_ == forest.schema_
        assert again._digest() == forest._digest()
        assert clone(again).schema == again.schema
        forest.report(file=path)
        again.report(file=path)


@pytest.mark.parametrize("links", [True, False])
def test_of_many_saves_at_once_one_wins_and_the_others_hear_of_it(
    census, tmp_path, monkeypatch, links
):
    if not links:

        def link(*_):
            raise PermissionError("this file system has no links")

        monkeypatch.setattr("dpforest.forests.files.os.link", link)
    forest = RandomDecisionForestClassifier(schema=census.schema, n_estimators=2, max_depth=2)
    forest.fit(census.X, census.y)
    path, together, refused = tmp_path / "model.dpforest", threading.Barrier(8), []

    def save():
        together.wait()
        try:
            forest.save(path)
        except FileExistsError as error:
            refused.append(error)

    threads = [threading.Thread(target=save) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 7
    assert os.listdir(tmp_path) == ["model.dpforest"]
    load_model(path)


def test_a_name_that_is_taken_at_the_last_moment_is_not_overwritten(saved, monkeypatch, tmp_path):
    """Whatever gives the file its name, another process was a moment faster."""
    forest, _ = saved
    path = tmp_path / "other.dpforest"
    link, replace = os.link, Path.replace

    def others_first(step):
        def slower(source, target):
            path.write_bytes(b"theirs")
            return step(source, target)

        return slower

    monkeypatch.setattr("dpforest.forests.files.os.link", others_first(link))
    monkeypatch.setattr(Path, "replace", others_first(replace))
    with pytest.raises(FileExistsError):
        forest.save(path)
    assert path.read_bytes() == b"theirs"


def test_a_write_that_fails_leaves_nothing(saved, monkeypatch, tmp_path):
    forest, _ = saved
    monkeypatch.setattr(zipfile.ZipFile, "writestr", None)
    with pytest.raises(TypeError):
        forest.save(tmp_path / "other.dpforest")
    assert [name for name in os.listdir(tmp_path) if re.search("other|part", name)] == []


def test_a_write_that_fails_leaves_the_model_before(saved, monkeypatch):
    forest, path = saved
    before = path.read_bytes()
    monkeypatch.setattr(zipfile.ZipFile, "writestr", None)
    with pytest.raises(TypeError):
        forest.save(path, overwrite=True)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]
