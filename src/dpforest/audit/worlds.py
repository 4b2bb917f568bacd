"""Neighbouring tables on which a guarantee is put to the test: small, and as bad as can be.

What tells most about a record is a record that nothing hides: alone in its leaf, of a class that
nobody else has, at the end of a range or beyond it, with values missing. Such pairs are made from
the schema alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy.accounts.protection import Protection
from dpforest.schema import Schema
from dpforest.schema.features import CategoricalFeature, Feature, NumericFeature, Target

MODERATE = 40

SMALL_SCHEMA = Schema(
    (
        NumericFeature("amount", 0.0, 1.0, cuts=(0.25, 0.5, 0.75)),
        CategoricalFeature("colour", (0, 1)),
    ),
    Target(classes=(0, 1)),
)
"""Where nothing else is declared: two features, two classes."""

SMALL_REGRESSION = Schema(SMALL_SCHEMA.features, Target(low=0.0, high=1.0))
"""The same with a target between 0 and 1."""


@dataclass(frozen=True)
class Table:
    """A table to train on.

    Parameters
    ----------
    X : ndarray, shape (n, n_features)
    y : ndarray, shape (n,)
    groups : ndarray of int64, shape (n,), or None
        The person of each record, where persons are protected.
    sample_weight : ndarray of float64, shape (n,), or None
        The weight of each record, where records have weights.
    """

    X: NDArray[Any]
    y: NDArray[Any]
    groups: NDArray[np.int64] | None = None
    sample_weight: NDArray[np.float64] | None = None

    @property
    def beside(self) -> dict[str, Any]:
        """What ``fit`` is given beside X and y."""
        known = {"groups": self.groups, "sample_weight": self.sample_weight}
        return {name: values for name, values in known.items() if values is not None}


@dataclass(frozen=True)
class Pair:
    """Two neighbouring tables, and what makes them hard to tell apart in silence."""

    name: str
    one: Table
    other: Table

    @property
    def tables(self) -> tuple[Table, Table]:
        """Both."""
        return self.one, self.other


def worst_pairs(schema: Schema, protection: Protection) -> tuple[Pair, ...]:
    """Pairs of neighbours for a schema: the record that is added, or put in another's place.

    Under add/remove the first table lacks the record; under replace-one it has a record of the
    crowd in its place. A person comes with as many equal records as are protected.

    Examples
    --------
    >>> [pair.name for pair in worst_pairs(SMALL_SCHEMA, Protection())][:3]
    ['alone in its leaf', 'rare class', 'second record of all']
    """
    low, high = _Record.at(schema, "low"), _Record.at(schema, "high")
    rare = _Record(low.values, high.target)
    beyond = _Record(_Record.at(schema, "beyond").values, high.target)
    missing = _Record(_Record.at(schema, "missing").values, high.target)
    crowd = _crowd(schema)
    cases = (
        ("alone in its leaf", [low] * 3, high),
        ("rare class", [low] * 3, rare),
        ("second record of all", [low], high),
        ("out of bounds", [low] * 3, beyond),
        ("missing values", [low] * 3, missing),
        ("extreme in a crowd", crowd, high),
    )
    return tuple(_pair(name, base, record, low, protection) for name, base, record in cases)


@dataclass(frozen=True)
class _Record:
    values: tuple[Any, ...]
    target: Any

    @classmethod
    def at(cls, schema: Schema, place: str) -> _Record:
        values = tuple(_value(feature, place) for feature in schema.features)
        target = schema.target or Target(classes=(0, 1))
        if target.classes is not None:
            return cls(values, target.classes[0 if place == "low" else -1])
        low, high = schema.target_bounds
        return cls(values, low if place == "low" else high)


def _value(feature: Feature, place: str) -> Any:
    if place == "missing":
        return None
    if isinstance(feature, CategoricalFeature):
        if place == "beyond":
            return _unseen(feature)
        return feature.categories[0 if place == "low" else -1]
    if place == "beyond":
        return feature.high + 10.0 * (feature.high - feature.low)
    return feature.low if place == "low" else feature.high


def _unseen(feature: CategoricalFeature) -> Any:
    """A value of the feature's own kind that is not declared."""
    if all(isinstance(category, str) for category in feature.categories):
        return "_".join(map(str, feature.categories)) + "_"
    return max(float(category) for category in feature.categories) + 7


def _crowd(schema: Schema) -> list[_Record]:
    """Records spread evenly over the lower halves of all ranges, of all classes but the last."""
    crowd = []
    target = schema.target or Target(classes=(0, 1))
    for i in range(MODERATE):
        values = tuple(_spread(feature, i, j) for j, feature in enumerate(schema.features))
        if target.classes is not None:
            label: Any = target.classes[i % max(1, len(target.classes) - 1)]
        else:
            low, high = schema.target_bounds
            label = low + (high - low) * (i % 8) / 16
        crowd.append(_Record(values, label))
    return crowd


def _spread(feature: Feature, i: int, j: int) -> Any:
    if isinstance(feature, CategoricalFeature):
        return feature.categories[(i + j) % max(1, len(feature.categories) - 1)]
    value = feature.low + (feature.high - feature.low) * ((i * (j + 1)) % 16) / 32
    return float(np.floor(value)) if feature.integer else value


def _pair(
    name: str, base: list[_Record], record: _Record, crowd: _Record, protection: Protection
) -> Pair:
    copies = protection.max_records_per_group
    without = list(base)
    if protection.neighbors == "replace_one":
        without += [crowd] * copies
    by_group = protection.unit == "group"
    return Pair(
        name,
        _table(without, len(base), by_group),
        _table([*base, *[record] * copies], len(base), by_group),
    )


def _table(records: list[_Record], n_others: int, by_group: bool) -> Table:
    X = np.empty((len(records), len(records[0].values)), object)
    for row, record in enumerate(records):
        X[row] = record.values
    if not any(isinstance(value, str) for value in X.flat):
        X = X.astype(np.float64)  # numbers are read much faster than objects
    y = np.array([record.target for record in records], object)
    if y.size and not isinstance(y[0], str):
        y = np.array(y.tolist())
    persons = np.minimum(np.arange(len(records)), n_others) if by_group else None
    return Table(X, y, persons)
