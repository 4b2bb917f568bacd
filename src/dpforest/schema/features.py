"""The parts of a schema: numeric and categorical features, and the target."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dpforest.exceptions import SchemaError
from dpforest.schema.categories import Category, check_categories

MAX_CATEGORIES = 100_000
MAX_CUTS = 254
LEAST_TARGET_RANGE = 1e-280  # targets are counted in whole steps of it, of more than 0 each


@dataclass(frozen=True, slots=True)
class NumericFeature:
    """A number between public bounds.

    Values outside the bounds are clipped to them. `cuts` declares where trees may split: a value v
    goes left of a cut c when v <= c. Without cuts the range is divided evenly, or, for `integer`
    features with few values, between neighbouring integers.

    Examples
    --------
    >>> NumericFeature("age", low=0, high=120, integer=True)
    NumericFeature(name='age', low=0.0, high=120.0, integer=True, cuts=None)
    """

    name: str
    low: float
    high: float
    integer: bool = False
    cuts: tuple[float, ...] | None = None

    if TYPE_CHECKING:  # lists will do, and are kept as tuples

        def __init__(
            self,
            name: str,
            low: float,
            high: float,
            integer: bool = False,
            cuts: Sequence[float] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        where = feature_where(self.name)
        low, high = _check_bounds(self.low, self.high, where)
        if not isinstance(self.integer, bool):
            raise SchemaError(f"{where}: 'integer' must be true or false")
        if self.integer and not (low.is_integer() and high.is_integer()):
            raise SchemaError(f"{where}: an integer feature needs whole numbers as bounds")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if self.cuts is not None:
            object.__setattr__(self, "cuts", _check_cuts(self.cuts, low, high, where))

    def to_dict(self) -> dict[str, Any]:
        """Return the feature as a dictionary that JSON can hold."""
        entry: dict[str, Any] = {"name": self.name, "kind": "numeric"}
        entry |= {"low": _plain(self.low), "high": _plain(self.high)}
        if self.integer:
            entry["integer"] = True
        if self.cuts is not None:
            entry["cuts"] = [_plain(cut) for cut in self.cuts]
        return entry


@dataclass(frozen=True, slots=True)
class CategoricalFeature:
    """One of a public list of categories.

    Up to 255 have a bin each; more of them share 254 bins, by a public hash of their texts, which
    costs nothing (at most 100,000 may be listed). A value that is not on the list is "unseen" and
    has a bin of its own. Texts match texts exactly; numbers, booleans and texts that spell them
    match by value (1, 1.0, True and "1").

    Examples
    --------
    >>> CategoricalFeature("blood", categories=("A", "B", "AB", "0")).categories
    ('A', 'B', 'AB', '0')
    """

    name: str
    categories: tuple[Category, ...]

    if TYPE_CHECKING:  # lists will do, and are kept as tuples

        def __init__(self, name: str, categories: Sequence[Category]) -> None: ...

    def __post_init__(self) -> None:
        where = feature_where(self.name)
        categories = check_categories(self.categories, where, "categories")
        if len(categories) > MAX_CATEGORIES:
            raise SchemaError(
                f"{where}: {len(categories)} categories declared, at most {MAX_CATEGORIES} are "
                "possible; merge rare ones into groups, or leave the column out"
            )
        object.__setattr__(self, "categories", categories)

    def to_dict(self) -> dict[str, Any]:
        """Return the feature as a dictionary that JSON can hold."""
        return {"name": self.name, "kind": "categorical", "categories": list(self.categories)}


Feature = NumericFeature | CategoricalFeature


@dataclass(frozen=True, slots=True)
class Target:
    """What is predicted: one of some public classes, or a number between public bounds.

    Examples
    --------
    >>> Target("income", classes=("<=50K", ">50K")).classes
    ('<=50K', '>50K')
    >>> Target("price", low=0, high=500).high
    500.0
    """

    name: str = "target"
    classes: tuple[Category, ...] | None = None
    low: float | None = None
    high: float | None = None

    if TYPE_CHECKING:  # lists will do, and are kept as tuples

        def __init__(
            self,
            name: str = "target",
            classes: Sequence[Category] | None = None,
            low: float | None = None,
            high: float | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        where = f"target {check_name(self.name, 'target')!r}"
        bounded = self.low is not None or self.high is not None
        if (self.classes is not None) == bounded:
            raise SchemaError(
                f"{where}: declare either 'classes' (classification) or 'low' and 'high' "
                "(regression), not both and not neither"
            )
        if self.classes is None:
            low, high = _check_bounds(self.low, self.high, where)
            if high - low < LEAST_TARGET_RANGE:
                raise SchemaError(
                    f"{where}: the bounds are too close together for double precision; multiply "
                    "the target by a public number"
                )
            object.__setattr__(self, "low", low)
            object.__setattr__(self, "high", high)
            return
        classes = check_categories(self.classes, where, "classes")
        if len(classes) < 2:
            raise SchemaError(f"{where}: one class declared, at least two classes are needed")
        object.__setattr__(self, "classes", classes)

    def to_dict(self) -> dict[str, Any]:
        """Return the target as a dictionary that JSON can hold."""
        if self.classes is not None:
            return {"name": self.name, "classes": list(self.classes)}
        assert self.low is not None
        assert self.high is not None
        return {"name": self.name, "low": _plain(self.low), "high": _plain(self.high)}


def feature_where(name: object) -> str:
    """How error messages call a feature."""
    return f"feature {check_name(name, 'feature')!r}"


def check_name(name: object, what: str) -> str:
    """Return the name, when it is a text that can head a column."""
    if not isinstance(name, str) or not name:
        raise SchemaError(f"{what}: 'name' must be a non-empty text")
    return name


def _check_bounds(low: object, high: object, where: str) -> tuple[float, float]:
    first, last = _real(low, "low", where), _real(high, "high", where)
    if first >= last:
        raise SchemaError(f"{where}: 'low' must be below 'high', got {first:g} and {last:g}")
    if not math.isfinite(last - first):
        raise SchemaError(f"{where}: the bounds are too far apart for double precision")
    return first, last


def _check_cuts(cuts: object, low: float, high: float, where: str) -> tuple[float, ...]:
    if isinstance(cuts, str) or not isinstance(cuts, Iterable):
        raise SchemaError(f"{where}: 'cuts' must be a list of numbers")
    points = tuple(_real(cut, "cuts", where) for cut in cuts)
    if len(points) > MAX_CUTS:
        raise SchemaError(f"{where}: {len(points)} cuts, at most {MAX_CUTS} are possible")
    if any(a >= b for a, b in pairwise(points)):
        raise SchemaError(f"{where}: 'cuts' must increase strictly")
    if points and not (low <= points[0] and points[-1] < high):
        raise SchemaError(f"{where}: 'cuts' must lie within low <= cut < high")
    return points


def _real(value: object, field: str, where: str) -> float:
    if not isinstance(value, int | float | np.integer | np.floating):
        kind = "nothing" if value is None else type(value).__name__
        raise SchemaError(f"{where}: '{field}' must be a number, got {kind}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise SchemaError(f"{where}: '{field}' must be finite, not NaN or infinity")
    return number


def _plain(value: float) -> float | int:
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
