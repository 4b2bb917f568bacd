"""Load a data set by name, from a local folder or from OpenML, and verify its checksum."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from dpforest.datasets import catalog, frames, openml
from dpforest.schema import Schema


@dataclass(frozen=True)
class Dataset:
    """A table, its target and what is public about both.

    Attributes
    ----------
    name, title : str
    X : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        The features, in the library that is installed (in that order of preference). Categories
        are strings, numbers are float64, missing cells are missing.
    y : numpy.ndarray
        Class labels as strings, or a float64 target.
    schema : Schema
        The public ranges, categories and classes.
    """

    name: str
    title: str
    X: Any
    y: np.ndarray[Any, Any]
    schema: Schema


def names() -> list[str]:
    """Return the names that `load` knows, those of the folder in ``DPFOREST_DATA`` included.

    Examples
    --------
    >>> from dpforest import datasets
    >>> "adult" in datasets.names()
    True
    """
    return sorted(catalog.entries(_data_folder()))


def load(name: str) -> Dataset:
    """Load a data set of the papers with its public schema.

    The file is taken from the folder in the environment variable ``DPFOREST_DATA`` when it is
    there; otherwise it is downloaded from OpenML once (this needs pandas) and kept in
    ``~/.cache/dpforest`` (or ``DPFOREST_CACHE``). Either way its checksum is verified.

    Parameters
    ----------
    name : str
        One of `names()`.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        If the name is unknown.
    OSError
        If the file is damaged or cannot be downloaded, or OpenML's copy is another one.

    Examples
    --------
    >>> from dpforest import datasets
    >>> data = datasets.load("iris")  # doctest: +SKIP
    >>> data.X.shape, data.schema.target.classes  # doctest: +SKIP
    ((150, 4), ('Iris-setosa', 'Iris-versicolor', 'Iris-virginica'))
    """
    folder = _data_folder()
    entry = catalog.entry(name, folder)
    local = None if folder is None else folder / f"{name}.csv.gz"
    if local is not None and local.is_file():
        remedy = "copy it again, or unset DPFOREST_DATA to download the data set"
        path = _verified(local, entry["sha256"], remedy)
    else:
        path = _cached(name, entry)
    return _read(name, entry, path)


def _data_folder() -> Path | None:
    folder = os.environ.get("DPFOREST_DATA")
    return Path(folder) if folder else None


def _cached(name: str, entry: catalog.Entry) -> Path:
    """Return the verified file in the cache, downloading it when it is not there."""
    cache = Path(os.environ.get("DPFOREST_CACHE") or Path.home() / ".cache" / "dpforest")
    path = cache / f"{name}.csv.gz"
    checksum = cache / f"{name}.csv.gz.sha256"
    if not (path.is_file() and checksum.is_file()):
        path.unlink(missing_ok=True)
        openml.download(name, entry, path)
        checksum.write_text(_sha256(path) + "\n", encoding="ascii")
    expected = checksum.read_text(encoding="ascii").strip()
    return _verified(path, expected, "delete it and load the data set again")


def _verified(path: Path, expected: str, remedy: str) -> Path:
    if _sha256(path) != expected:
        raise OSError(f"{path} is damaged: its checksum is not the recorded one; {remedy}")
    return path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(name: str, entry: catalog.Entry, path: Path) -> Dataset:
    schema = Schema.from_dict(entry)
    text = [f["name"] for f in entry["features"] if f["kind"] == "categorical"]
    numbers = [f["name"] for f in entry["features"] if f["kind"] == "numeric"]
    (text if "classes" in entry["target"] else numbers).append("target")
    table = nw.from_native(frames.read_csv(path, text, numbers), eager_only=True)
    labels = table.get_column("target").to_numpy()
    y = labels.astype(np.str_) if "classes" in entry["target"] else labels
    features = table.select([f["name"] for f in entry["features"]])
    return Dataset(name=name, title=entry["title"], X=features.to_native(), y=y, schema=schema)
