"""Saved models: a zip archive of one JSON header and plain arrays, with nothing to execute.

Layout, version 1:

- ``model.json``: ``format`` ("dpforest"), ``version``, the name of the estimator, its constructor
  parameters, the schema, the ledger, further facts of the fit, and for each array its SHA-256;
- ``arrays/NAME.npy``: NumPy's own format, read with pickling off.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import ModelFileError

FORMAT = "dpforest"
VERSION = 1
UNREADABLE = (
    zipfile.BadZipFile, zlib.error, KeyError, AttributeError, TypeError, EOFError, OSError,
    NotImplementedError,
)  # fmt: skip


@dataclass(frozen=True)
class SavedModel:
    """What a file holds: the estimator's name, its facts (JSON) and its arrays."""

    estimator: str
    facts: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def named(group: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of one thing, under names that say so."""
    return {f"{group}.{name}": array for name, array in arrays.items()}


def of_group(group: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays that `named` named, under their own names."""
    prefix = f"{group}."
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


def write_model(path: str | Path, model: SavedModel) -> None:
    """Write a model; the file appears whole or not at all."""
    path = Path(path)
    blobs = {name: _to_npy(array) for name, array in model.arrays.items()}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "estimator": model.estimator,
        "facts": model.facts,
        "sha256": {name: hashlib.sha256(blob).hexdigest() for name, blob in blobs.items()},
    }
    unfinished = path.with_name(path.name + ".part")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", json.dumps(header, indent=1))
        for name, blob in blobs.items():
            archive.writestr(f"arrays/{name}.npy", blob)
    unfinished.replace(path)


def read_model(path: str | Path) -> SavedModel:
    """Read a model; refuses what is damaged, foreign or newer than this version."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file; models are written by model.save(path)")
    try:
        with zipfile.ZipFile(path) as archive:
            header = _read_header(path, archive.read("model.json"))
            arrays = {
                name: _from_npy(path, name, archive.read(f"arrays/{name}.npy"), digest)
                for name, digest in header["sha256"].items()
            }
        return SavedModel(header["estimator"], header["facts"], arrays)
    except UNREADABLE as error:
        raise ModelFileError(
            f"{path} is damaged or not a model saved by dpforest ({type(error).__name__}): "
            "save the model again, or fetch the file again"
        ) from None


def _read_header(path: Path, text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a model saved by dpforest")
    if not isinstance(header.get("version"), int) or header["version"] > VERSION:
        raise ModelFileError(
            f"{path} was written in format {header.get('version')!r}, newer than {VERSION}: "
            "upgrade dpforest to read it"
        )
    return header


def _to_npy(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _from_npy(path: Path, name: str, blob: bytes, digest: str) -> NDArray[Any]:
    if hashlib.sha256(blob).hexdigest() != digest:
        raise ModelFileError(f"{path} is damaged: the checksum of {name!r} does not match")
    try:
        array: NDArray[Any] = np.load(io.BytesIO(blob), allow_pickle=False)
    except ValueError:
        raise ModelFileError(f"{path} is damaged: {name!r} is not a plain array") from None
    return array
