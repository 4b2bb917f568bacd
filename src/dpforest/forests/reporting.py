"""What a model tells a report: released arrays, public facts, and its file."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

import dpforest
from dpforest.exceptions import ModelFileError
from dpforest.forests.files import content_digest, read_model
from dpforest.forests.signatures import signature_of, verify_file
from dpforest.privacy.accounts.budget import Budget
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.report.effects import FeatureEffect, feature_effects
from dpforest.report.filed import Report
from dpforest.report.page import FileFacts, ReportFacts, page
from dpforest.report.page.facts import Importance, Signature, State
from dpforest.report.page.markup import moment

if TYPE_CHECKING:
    from dpforest.forests.saving import SavedEstimator

MOST_EFFECTS = 8
NOT_TOLD = ("schema", "budget", "random_state", "verbose", "n_jobs")
"""Parameters that are shown elsewhere, or say nothing of the model."""


def report_of(
    model: SavedEstimator,
    *,
    evaluation: Any = None,
    budget: Budget | str | PathLike[str] | None = None,
    file: str | Path | None = None,
    key: str | Path | None = None,
) -> Report:
    """Make the page; see `dpforest.forests.saving.SavedEstimator.report`."""
    check_is_fitted(model, "ledger_")
    if key is not None and file is None:
        raise ValueError("a key goes with the file that was signed: give that as well")
    of_file = None if file is None else file_facts(model, Path(file), key)
    importances = importances_of(model)
    facts = ReportFacts(
        estimator=type(model).__name__,
        state=_state(model),
        ledger=model.ledger_,
        schema=model.schema_,
        settings={n: v for n, v in sorted(model.get_params().items()) if n not in NOT_TOLD},
        shape=_shape(model),
        plan=_plan(model),
        library=dpforest.__version__,
        importances=importances,
        effects=_effects(model, importances),
        file=of_file,
        evaluation=_checked(evaluation, model, of_file),
        budget=None if budget is None else Budget.open(budget),
    )
    return Report(page(facts))


def file_facts(model: SavedEstimator, path: Path, key: str | Path | None) -> FileFacts:
    """Read a model's file and its signature; ValueError when it holds another model."""
    saved = read_model(path)
    if content_digest(saved.facts, saved.arrays) != model._digest():
        raise ValueError(f"{path} holds another model than this one: load that file and report it")
    beside = signature_of(path)
    state: Signature = "unchecked" if beside.exists() else "none"
    if key is not None:
        if state == "none":
            raise ModelFileError(f"{path} is not signed: there is no {beside}")
        verify_file(path, key, beside)
        state = "fits"
    origin = saved.provenance
    says = {
        "written": f"{moment(origin.created)} by dpforest {origin.library}",
        "table": origin.table or "",
        "schema (SHA-256)": origin.schema_sha256,
        "protects": origin.protects,
    }
    return FileFacts(
        path.name,
        {name: told for name, told in says.items() if told},
        saved.digest,
        hashlib.sha256(path.read_bytes()).hexdigest(),
        state,
        None if key is None else Path(key).name,
    )


def importances_of(model: Any) -> dict[str, Importance]:
    """Importances by feature, with intervals; empty where no trees were released."""
    if not model._complete or model._keeps_records:
        return {}
    told = model.importances()
    found = [
        Importance(float(value), *(None if math.isnan(end) else float(end) for end in ends))
        for value, *ends in zip(told.value, told.low, told.high, strict=True)
    ]
    return dict(zip(model.schema_.feature_names, found, strict=True))


def _effects(model: Any, importances: Mapping[str, Importance]) -> tuple[FeatureEffect, ...]:
    """Effects of the features that count most, of models that know the weights of their bins."""
    if not importances or not hasattr(model, "bin_weights_"):
        return ()
    counting = {name: found.value for name, found in importances.items() if found.value > 0}
    ordered = sorted(counting, key=lambda name: -counting[name])
    return feature_effects(model, ordered[:MOST_EFFECTS])


def _state(model: Any) -> State:
    if hasattr(model, "_desk"):
        return "holds records"
    return "complete" if model._complete else "failed"


def _shape(model: Any) -> dict[str, Any]:
    """How large the model is; all of it was released or follows from public facts."""
    if not model._complete:
        return {}
    shape: dict[str, Any] = {}
    if hasattr(model, "n_records_"):
        shape["number of records, noisy or declared"] = round(model.n_records_)
    trees = getattr(model.forest_, "trees", model.forest_)
    depth = trees.max_depth if hasattr(trees, "max_depth") else int(trees.depth.max())
    return shape | {"trees": trees.n_trees, "greatest depth": depth}


def _plan(model: Any) -> dict[str, Any]:
    """How the fit filled in what was left to it, where it says so."""
    plan = asdict(model.plan_) if model._complete and hasattr(model, "plan_") else {}
    return {name: value for name, value in plan.items() if name != "n_trees"}  # told in the shape


def _checked(
    evaluation: Any, model: SavedEstimator, file: FileFacts | None
) -> Mapping[str, Any] | None:
    """An evaluation as its dictionary; ValueError when it is none, or measured another model."""
    if evaluation is None:
        return None
    found = evaluation if isinstance(evaluation, Mapping) else evaluation.to_dict()
    if not {"ledger", "level", "n_records"} <= found.keys():
        raise ValueError(
            "the evaluation is not one that dpforest made: expected what Evaluation.to_dict gives"
        )
    Ledger.from_dict(found["ledger"])
    measured, file_measured = found.get("model_digest"), found.get("model")
    # Older files name the model by its file, which can be compared with a file only.
    of_another_file = file is not None and file_measured not in (None, file.digest)
    if of_another_file or measured not in (None, model._digest()):
        raise ValueError(
            "the evaluation measured another model than this one: evaluate this one, or leave the "
            "evaluation out"
        )
    return found
