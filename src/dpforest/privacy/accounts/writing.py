"""Entries of a ledger, written for people (a tree of lines) and for files (JSON-safe)."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

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

_RULES = {
    "sequential": "sequential: parts add up",
    "parallel": "parallel: disjoint records, largest counts",
}


def draw(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield the lines of a tree: an entry a line, the parts of a branch indented below it.

    Examples
    --------
    >>> leaf = Spend("class counts of a leaf", "discrete Laplace", Pure(0.01))
    >>> for line in draw([Branch("leaves of a tree", "parallel", (leaf,), times=256)]):
    ...     print(line)
    └─ leaves of a tree: epsilon = 0.01 [256 times, parallel: disjoint records, largest counts]
       └─ class counts of a leaf: discrete Laplace, epsilon = 0.01
    """
    for position, entry in enumerate(entries, start=1):
        is_last = position == len(entries)
        yield ("└─ " if is_last else "├─ ") + _line(entry)
        if isinstance(entry, Branch):
            for line in draw(entry.parts):
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
        return {"label": entry.label, "rule": entry.rule, "times": entry.times, "parts": parts}
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
    }


def entry_from_dict(written: Mapping[str, Any]) -> Entry:
    """Read what `entry_to_dict` wrote."""
    if "parts" in written:
        parts = tuple(entry_from_dict(part) for part in written["parts"])
        return Branch(written["label"], written["rule"], parts, written["times"])
    amounts = written["loss"]
    loss: Loss
    if "mu" in amounts:
        loss = Gaussian(float(amounts["mu"]))
    elif "delta" in amounts:
        loss = Approximate(exact(amounts["epsilon"]), Fraction(amounts["delta"]))
    else:
        loss = Pure(exact(amounts["epsilon"]))
    return Spend(written["label"], written["mechanism"], loss, written["note"])
