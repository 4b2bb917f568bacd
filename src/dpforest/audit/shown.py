"""All that a fit shows: public attributes, what a file would hold, answers, and the ledger.

Two fits that released the same must show the same, bit by bit: whatever differs was computed from
the records and went around the ledger.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpforest.forests.base import PrivateEstimator
from dpforest.privacy.accounts.ledger import Ledger

HELD_ELSEWHERE = ("params", "schema", "ledger")  # facts of a file that are attributes as well


@dataclass(frozen=True)
class Shown:
    """What somebody who sees the outcome of a fit, or of several, can see.

    Parameters
    ----------
    ledger : Ledger
        The account of everything: its total is the claim.
    parts : dict from str to str
        A digest of each thing by its name.
    failure : str
        The error that ended it, after something was released.
    """

    ledger: Ledger
    parts: dict[str, str]
    failure: str = ""

    @classmethod
    def of(cls, model: PrivateEstimator, **beside: Any) -> Shown:
        """What a fitted model shows, and what else is shown beside it, by name."""
        public = {name: value for name, value in vars(model).items() if not name.startswith("_")}
        facts = {n: v for n, v in model._facts().items() if n not in HELD_ELSEWHERE}
        everything = {
            **public,
            **{f"file: {name}": value for name, value in facts.items()},
            **{f"file: {name}": value for name, value in model._arrays().items()},
            **beside,
        }
        return cls(model.ledger_, {name: digest(value) for name, value in everything.items()})

    def differences(self, other: Shown) -> list[str]:
        """The names of what is not the same."""
        if self.failure != other.failure:
            return ["that the fit fails"]
        names = sorted(self.parts.keys() | other.parts.keys())
        return [name for name in names if self.parts.get(name) != other.parts.get(name)]


def digest(value: Any) -> str:
    """A digest of a value and all that it is made of.

    Examples
    --------
    >>> digest({"a": np.array([1.0])}) == digest({"a": np.array([1.0])})
    True
    >>> digest([1]) == digest([1.0])
    False
    """
    sha = hashlib.sha256()
    for piece in _pieces(value):
        sha.update(len(piece).to_bytes(8, "big") + piece)
    return sha.hexdigest()


def _pieces(value: Any) -> Iterator[bytes]:
    yield type(value).__name__.encode()
    if isinstance(value, str | int | float | Fraction | None):
        yield repr(value).encode()
    elif isinstance(value, Ledger):
        # Not its identities, which are random; numbers in the explanation are rounded.
        yield f"{value.explain()}\n{value.entries!r}".encode()
    elif isinstance(value, np.ndarray | np.generic):
        yield from _pieces_of_array(np.asarray(value))
    elif isinstance(value, Mapping):
        for key in value:
            yield from _pieces(key)
            yield from _pieces(value[key])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _pieces(item)
    elif is_dataclass(value):
        for part in fields(value):
            yield from _pieces(getattr(value, part.name))
    else:
        yield from _pieces(vars(value))


def _pieces_of_array(array: np.ndarray[Any, Any]) -> Iterator[bytes]:
    yield f"{array.dtype} {array.shape}".encode()
    if array.dtype == object:
        yield from _pieces(array.ravel().tolist())
    else:
        yield np.ascontiguousarray(array).tobytes()
