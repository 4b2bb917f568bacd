"""Entries and stages, written for people (a tree of lines) and for files (JSON-safe)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from itertools import groupby
from typing import Any

from dpforest.privacy.accounts.choices import Choice, choice_from_dict, choice_to_dict
from dpforest.privacy.accounts.guarantee import pair
from dpforest.privacy.accounts.mechanisms_used import mechanism_from_dict, mechanism_to_dict
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import (
    Approximate,
    Branch,
    Entry,
    Gaussian,
    Loss,
    Pure,
    Spend,
    exact,
)
from dpforest.privacy.accounts.stages import Stage

_OTHER_MACHINES = 1e-6  # libraries of other machines may round the curves otherwise
_RULES = {
    "sequential": "sequential: parts add up",
    "parallel": "parallel: disjoint records, largest counts",
    "random stopping": "random stopping: the best of a secret number of trials as below",
}


def entry_lines(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield the lines of a tree: an entry a line, the parts of a branch indented below it.

    Equal entries one after the other share a line.

    Examples
    --------
    >>> leaf = Spend("class counts of a leaf", "discrete Laplace", Pure(0.01))
    >>> for line in entry_lines([Branch("leaves of a tree", "parallel", (leaf,), times=256)]):
    ...     print(line)
    └─ leaves of a tree: epsilon = 0.01 [256 times, parallel: disjoint records, largest counts]
       └─ class counts of a leaf: discrete Laplace, epsilon = 0.01
    """
    folded = list(runs_of_equal(entries))
    for position, (entry, times) in enumerate(folded, start=1):
        is_last = position == len(folded)
        each = f" each [{times} times]" if times > 1 else ""
        yield ("└─ " if is_last else "├─ ") + _line(entry) + each
        if isinstance(entry, Branch):
            for line in entry_lines(entry.parts):
                yield ("   " if is_last else "│  ") + line


def runs_of_equal(entries: Sequence[Entry]) -> Iterator[tuple[Entry, int]]:
    """Yield each entry with how many equal ones come one after the other."""
    for entry, run in groupby(entries):
        yield entry, sum(1 for _ in run)


def proof_lines(stages: Sequence[Stage], protection: Protection) -> Iterator[str]:
    """Yield the lines of a ledger's proof: one budget and its entries, or stages that add up."""
    if len(stages) == 1:
        (stage,) = stages
        yield f"budget: {pair(stage.budget_epsilon, stage.budget_delta)} [filter: fixed budget]"
        yield f"total: {stage.argument()}" if stage.entries else stage.argument()
        yield from entry_lines(stage.entries)
        return
    yield "odometer: stages add up"
    for position, stage in enumerate(stages, start=1):
        is_last = position == len(stages)
        spent = pair(stage.epsilon, stage.delta)
        budget = pair(stage.budget_epsilon, stage.budget_delta)
        whom = "" if stage.protection == protection else f" for {stage.protection.describe()}"
        yield (
            ("└─ " if is_last else "├─ ")
            + f"{stage.kind}: {spent} of the budget {budget}{whom}: {stage.argument()}"
        )
        for line in entry_lines(stage.entries):
            yield ("   " if is_last else "│  ") + line


def _line(entry: Entry) -> str:
    if isinstance(entry, Spend):
        return f"{entry.label}: {entry.mechanism}, {entry.cost()}"
    copies = f"{entry.times} times, " if entry.times > 1 else ""
    return f"{entry.label}: {entry.cost()} [{copies}{_RULES[entry.rule]}]"


def entry_to_dict(entry: Entry) -> dict[str, Any]:
    """Return a JSON-safe form: amounts as strings, a branch by its ``parts``."""
    if isinstance(entry, Branch):
        parts = [entry_to_dict(part) for part in entry.parts]
        branch = {"label": entry.label, "rule": entry.rule, "times": entry.times, "parts": parts}
        return branch | (choice_to_dict(entry) if isinstance(entry, Choice) else {})
    loss = entry.loss
    match loss:
        case Pure(epsilon):
            written = {"epsilon": str(epsilon)}
        case Gaussian(mu):
            written = {"mu": repr(mu)}
        case Approximate(epsilon, delta):
            written = {"epsilon": str(epsilon), "delta": str(delta)}
    return {
        "label": entry.label,
        "mechanism": entry.mechanism,
        "loss": written,
        "note": entry.note,
        "made": None if entry.made is None else mechanism_to_dict(entry.made),
    }


def entry_from_dict(written: Mapping[str, Any]) -> Entry:
    """Read what `entry_to_dict` wrote."""
    if "parts" in written:
        parts = tuple(entry_from_dict(part) for part in written["parts"])
        told = {name: written[name] for name in ("label", "rule", "times")} | {"parts": parts}
        return choice_from_dict(told, written) if "costs" in written else Branch(**told)
    amounts = written["loss"]
    loss: Loss
    if "mu" in amounts:
        loss = Gaussian(float(amounts["mu"]))
    elif "delta" in amounts:
        loss = Approximate(exact(amounts["epsilon"]), Fraction(amounts["delta"]))
    else:
        loss = Pure(exact(amounts["epsilon"]))
    made = None if written["made"] is None else mechanism_from_dict(written["made"])
    return Spend(written["label"], written["mechanism"], loss, written["note"], made)


def stage_to_dict(stage: Stage) -> dict[str, Any]:
    """Return a JSON-safe form; what was ``spent`` is for readers."""
    return {
        "kind": stage.kind,
        "identity": stage.identity,
        "budget": {"epsilon": str(stage.budget_epsilon), "delta": str(stage.budget_delta)},
        "spent": _spent(stage),
        "protection": asdict(stage.protection),
        "reproducible_noise": stage.reproducible_noise,
        "voided": list(stage.voided),
        "remarks": list(stage.remarks),
        "entries": [entry_to_dict(entry) for entry in stage.entries],
    }


def stage_from_dict(written: Mapping[str, Any]) -> Stage:
    """Read what `stage_to_dict` wrote; ValueError when what was spent does not follow."""
    stage = Stage(
        written["kind"],
        exact(written["budget"]["epsilon"], "epsilon"),
        exact(written["budget"]["delta"], "delta"),
        Protection(**written["protection"]),
        bool(written["reproducible_noise"]),
        str(written["identity"]),
        voided=tuple(map(str, written["voided"])),
        remarks=tuple(map(str, written["remarks"])),
    )
    for entry in map(entry_from_dict, written["entries"]):
        stage = stage.with_entry(entry)
    require_same("what was spent", written["spent"], _spent(stage))
    return stage


def require_same(name: str, told: object, found: object) -> None:
    """Raise ValueError unless what a file tells is what follows from its releases."""
    if not _same(told, found):
        raise ValueError(f"{name} is {told!r}, expected {found!r}, which follows from the releases")


def _same(told: object, found: object) -> bool:
    if isinstance(told, Mapping) and isinstance(found, Mapping):
        return told.keys() == found.keys() and all(_same(told[key], found[key]) for key in found)
    if isinstance(told, int | float) and isinstance(found, float):
        return math.isclose(told, found, rel_tol=_OTHER_MACHINES)
    return told == found


def _spent(stage: Stage) -> dict[str, float | str]:
    epsilon, delta = float(stage.epsilon), float(stage.delta)
    return {"epsilon": "inf" if math.isinf(epsilon) else epsilon, "delta": delta}
