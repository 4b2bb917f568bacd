"""Saved models: a zip archive of one JSON header and plain arrays, with nothing to execute.

Layout, version 2:

- ``model.json``: ``format`` ("dpforest"), ``version``, the name of the estimator, where the file
  comes from, constructor parameters, the schema, the ledger, further facts of the fit, for each
  array its SHA-256, and ``digest``, the SHA-256 of all of this as canonical JSON;
- ``arrays/NAME.npy``: NumPy's own format, read with pickling off.

The digest finds damage and careless edits. Whoever edits a file can compute it anew: then the
ledger must still follow from its releases, and a signature (`forests.signatures`) does not fit.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import zipfile
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import ModelFileError
from dpforest.forests.provenance import Provenance, digest_of
from dpforest.new_files import already_there, require_folder

FORMAT = "dpforest"
VERSION = 2
TOLD_ELSEWHERE = ("n_jobs", "schema", "verbose")
"""Parameters that say how a model is run, or what its facts have anyway."""
UNREADABLE = (
    zipfile.BadZipFile, zlib.error, KeyError, AttributeError, TypeError, EOFError, OSError,
    NotImplementedError,
)  # fmt: skip


@dataclass(frozen=True)
class SavedModel:
    """What a file holds: the estimator's name, its origin, its facts (JSON), arrays and digest."""

    estimator: str
    provenance: Provenance
    facts: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    digest: str = ""


def named(group: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of one thing, under names that say so."""
    return {f"{group}.{name}": array for name, array in arrays.items()}


def of_group(group: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays that `named` named, under their own names."""
    prefix = f"{group}."
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


def content_digest(facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    """SHA-256 of what a model is, whenever and wherever it was written, however it is run."""
    params = {n: value for n, value in facts["params"].items() if n not in TOLD_ELSEWHERE}
    return digest_of({"facts": facts | {"params": params}, "sha256": _checksums(_blobs(arrays))})


def write_model(path: str | Path, model: SavedModel, *, overwrite: bool = False) -> str:
    """Write a model; the file appears whole or not at all, and never in the place of another.

    Unless it is to be overwritten: FileExistsError. Returns the digest.
    """
    path = Path(path)
    require_folder(path)
    blobs = _blobs(model.arrays)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "estimator": model.estimator,
        "provenance": asdict(model.provenance),
        "facts": model.facts,
        "sha256": _checksums(blobs),
    }
    header["digest"] = digest_of(header)
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        with zipfile.ZipFile(unfinished, "x", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("model.json", json.dumps(header, indent=1))
            for name, blob in blobs.items():
                archive.writestr(f"arrays/{name}.npy", blob)
        if overwrite:
            unfinished.replace(path)
        else:
            _give_new_name(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    return str(header["digest"])


def _give_new_name(unfinished: Path, path: Path) -> None:
    """Move a file to a name that nobody has; of two at the same time, one gets FileExistsError."""
    try:
        try:
            os.link(unfinished, path)
        except FileExistsError:
            raise
        except OSError:
            # A file system without links: an empty file takes the name first.
            path.open("x").close()
            unfinished.replace(path)
    except FileExistsError:
        raise already_there(path) from None


def read_model(path: str | Path) -> SavedModel:
    """Read a model; refuses what is damaged, foreign or of another version of the format."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file; models are written by model.save(path)")
    try:
        with zipfile.ZipFile(path) as archive:
            header, digest = _read_header(path, archive.read("model.json"))
            blobs = {name: f"arrays/{name}.npy" for name in header["sha256"]}
            if sorted(archive.namelist()) != sorted(["model.json", *blobs.values()]):
                raise ModelFileError(f"{path} is damaged: its parts are not those that it lists")
            arrays = {
                name: _from_npy(path, name, archive.read(part), header["sha256"][name])
                for name, part in blobs.items()
            }
        provenance = Provenance(**header["provenance"])
        return SavedModel(header["estimator"], provenance, header["facts"], arrays, digest)
    except UNREADABLE:
        raise ModelFileError(
            f"{path} is damaged or not a model saved by dpforest: save the model again, or fetch "
            "the file again"
        ) from None


def _read_header(path: Path, text: bytes) -> tuple[dict[str, Any], str]:
    """Read the header and its digest, which must fit."""
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
    if header["version"] < VERSION:
        raise ModelFileError(
            f"{path} was written in format {header['version']}, before {VERSION}: its ledger "
            "cannot be checked, so train and save the model again"
        )
    digest = header.pop("digest")
    if digest != digest_of(header):
        raise ModelFileError(
            f"{path} is damaged or was edited: its digest does not match, so fetch the file again"
        )
    return header, str(digest)


def _blobs(arrays: dict[str, NDArray[Any]]) -> dict[str, bytes]:
    return {name: _to_npy(array) for name, array in arrays.items()}


def _checksums(blobs: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(blob).hexdigest() for name, blob in blobs.items()}


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
