"""Files are written where there is a folder, and in the place of others only when asked."""

import pytest

from dpforest import Budget, GreedyForestClassifier, datasets
from dpforest.new_files import write_file

CENSUS = datasets.make_census(300, random_state=0)


@pytest.fixture(scope="module")
def model():
    return GreedyForestClassifier(schema=CENSUS.schema, random_state=0).fit(CENSUS.X, CENSUS.y)


WRITERS = {
    "save": lambda model, path, **how: model.save(path, **how),
    "to_json": lambda model, path, **how: model.to_json(path, **how),
    "to_onnx": lambda model, path, **how: model.to_onnx(path, **how),
    "report": lambda model, path, **how: model.report().save(path, **how),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_a_file_is_replaced_only_when_asked(model, write, tmp_path):
    path = tmp_path / "file"
    write(model, path)
    path.write_bytes(b"mine")
    with pytest.raises(FileExistsError, match=r"exists and was not overwritten.*overwrite=True"):
        write(model, path)
    assert path.read_bytes() == b"mine"
    write(model, path, overwrite=True)
    assert path.read_bytes() != b"mine"


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_a_missing_folder_is_named(model, write, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        write(model, tmp_path / "none" / "file")
    assert f"there is no folder {tmp_path / 'none'}; create it first" in str(caught.value)
    assert ".part" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_budget_names_its_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        Budget.create(tmp_path / "none" / "b.db", epsilon=1, table="t")


def test_a_folder_of_the_working_directory_needs_no_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_file("file", b"content", overwrite=False)
    assert (tmp_path / "file").read_bytes() == b"content"
