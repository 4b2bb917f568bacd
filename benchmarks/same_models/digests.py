"""What came out of a case, written so that two records can be told apart part by part."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.same_models.cases import Case
from dpforest import Schema, literature

Record = dict[str, Any]

METHODS = ("predict", "predict_proba", "decision_function", "votes")
# Facts that may differ between two versions of the same model.
HOUSEKEEPING = {"format", "version", "sha256", "created", "date", "seed", "random_state"}
SHORT = 40  # characters of a fact that is written as it is


def safely(work: Callable[[Record], None]) -> Record:
    """What the work wrote down; an exception is written down too."""
    record: Record = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            work(record)
        except Exception as error:
            record["error"] = first_line(error)
    record["warnings"] = dict.fromkeys(sorted({w.category.__name__ for w in caught}), "given")
    return record


def first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


def of_case(case: Case) -> Record:
    """Predictions, ledger, and the saved file of a fitted model."""

    def work(record: Record) -> None:
        model = case.fit()
        refused = record["refusals"] = {}
        record["predictions"] = dict(_predictions(model, case, refused))
        record |= of_ledger(model.ledger_)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.dpforest"
            try:
                model.save(path)
            except TypeError as error:  # a predictor holds the records and is not saved
                record["facts"] = {"saved": first_line(error)}
                return
            record |= of_file(path)
            loaded = dict(_predictions(model.load(path), case, refused))
        record["predictions"] |= {f"loaded {name}": found for name, found in loaded.items()}

    return safely(work)


def of_schema(infer: Callable[[], Schema]) -> Record:
    def work(record: Record) -> None:
        schema = infer()
        record |= of_ledger(schema.ledger)
        record["facts"] = dict(_flat(schema.to_dict()))

    return safely(work)


def of_description(name: str) -> Record:
    """What is said of a system of the literature, field by field."""

    def work(record: Record) -> None:
        told = literature.describe(name)
        record["facts"] = {
            field.name: of_json(str(getattr(told, field.name)))
            for field in dataclasses.fields(told)
        }
        record["facts"]["printed"] = of_json(str(told))

    return safely(work)


def _predictions(model: Any, case: Case, refused: dict[str, str]) -> Iterator[tuple[str, str]]:
    """What each method says of the held-out rows; the words of a refusal are kept apart."""
    for position, X in enumerate(case.batches()):
        number = f" {position}" if case.n_batches > 1 else ""
        for method in METHODS:
            if hasattr(model, method):
                name = f"{method}{number}"
                try:
                    yield name, of_array(np.asarray(getattr(model, method)(X)))
                except Exception as error:
                    refused[name] = first_line(error)
                    yield name, type(error).__name__
    if hasattr(model, "feature_importances_"):
        yield "feature_importances_", of_array(model.feature_importances_)


def of_ledger(ledger: Any) -> Record:
    return {
        "ledger": ledger.explain(),
        "guarantee": {"epsilon": repr(ledger.epsilon), "delta": repr(ledger.delta)},
    }


def of_file(path: Path) -> Record:
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("model.json"))
        arrays = {
            Path(name).stem: of_array(np.load(io.BytesIO(archive.read(name)), allow_pickle=False))
            for name in archive.namelist()
            if name.startswith("arrays/")
        }
    facts = dict(_flat(header.pop("facts", {}))) | dict(_flat(header))
    apart = {key for key in facts if HOUSEKEEPING & set(key.split("."))}
    return {
        "arrays": arrays,
        "facts": {key: value for key, value in facts.items() if key not in apart},
        "housekeeping": {key: facts[key] for key in sorted(apart)},
    }


def _flat(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each fact on its own; those that are dictionaries key by key."""
    for key, value in facts.items():
        if isinstance(value, dict) and key != "sha256":
            yield from ((f"{key}.{inner}", of_json(fact)) for inner, fact in value.items())
        else:
            yield key, of_json(value)


def of_json(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return text if len(text) <= SHORT else _digest(text.encode())


def of_array(array: np.ndarray) -> str:
    """Type, shape and a digest of the exact values."""
    plain = json.dumps(array.tolist(), default=str).encode() if array.dtype == object else None
    values = plain if plain is not None else np.ascontiguousarray(array).tobytes()
    return f"{array.dtype}{list(array.shape)} {_digest(values)}"


def _digest(values: bytes) -> str:
    return hashlib.sha256(values).hexdigest()[:16]
