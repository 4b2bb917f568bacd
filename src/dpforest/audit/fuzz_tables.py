"""Small tables to replay fits on, as adverse as can be: schemas, records, and odd ones.

Values are plain Python values here; `fuzz_containers` puts them into tables of all kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpforest.schema import Schema
from dpforest.schema.features import CategoricalFeature, Feature, NumericFeature, Target

LARGE = 2**53  # from here on doubles do not tell integers apart
MANY_FEATURES = 20  # so many that the flagship chooses its questions
Record = tuple[Any, ...]
Rng = np.random.Generator

CATEGORIES: tuple[tuple[Any, ...], ...] = (
    (0, 1),
    ("a", "b", "c"),
    (0.1, 0.2, 0.3),
    (False, True),
    ("1", "x"),
    (LARGE + 2, LARGE + 4, 7),
    tuple(range(6)),
)
NUMBERS: tuple[dict[str, Any], ...] = (
    {"low": 0.0, "high": 1.0},
    {"low": -5.0, "high": 5.0, "cuts": (-1.0, 0.0, 2.5)},
    {"low": 0, "high": 6, "integer": True},
    {"low": 0.0, "high": 1e9},
    {"low": -3.0, "high": 4.0},
)
CLASSES: tuple[tuple[Any, ...], ...] = (
    (0, 1),
    ("no", "yes"),
    (False, True),
    (0, 1, 2),
    ("a", "b", "c", "d"),
    (LARGE + 2, LARGE + 4),
    (0.1, 0.2),
)
TARGETS: tuple[tuple[float, float], ...] = ((0.0, 1.0), (-10.0, 10.0), (0.0, 1e6))
PLACES = ("scattered", "one leaf", "tie", "far from the odd one", "few values")
IDS: tuple[str, ...] = ("small", "texts", "large", "whole floats", "mixed")


@dataclass(frozen=True)
class Records:
    """Records and persons, as plain values: the common ones, and two choices of odd ones.

    Parameters
    ----------
    common, one, other : list of tuple
        Feature values and the target. A table is the common records and ``one``, its neighbour the
        common records and ``other``.
    persons, person_of_one, person_of_other
        Ids, where persons are protected: a list for the common records, an id each for the odd
        ones.
    place : str
        How the records lie.
    """

    common: list[Record]
    one: list[Record]
    other: list[Record]
    place: str
    persons: list[Any] | None = None
    person_of_one: Any = None
    person_of_other: Any = None

    def table(self, which: str) -> tuple[list[Record], list[Any] | None]:
        """The records of one of the tables, and their persons."""
        odd = self.one if which == "one" else self.other
        person = self.person_of_one if which == "one" else self.person_of_other
        persons = None if self.persons is None else [*self.persons, *[person] * len(odd)]
        return [*self.common, *odd], persons


def pick(rng: Rng, options: Sequence[Any]) -> Any:
    """One of some values, as it is."""
    return options[int(rng.integers(len(options)))]


def draw_schema(rng: Rng, *, regression: bool, wide: bool = False) -> Schema:
    """One to four features of any kind, or `MANY_FEATURES`, and a target."""
    features: list[Feature] = []
    categories = pick(rng, (0.5, 0.5, 0.5, 1.0))  # trees of nothing else are chosen whole
    for j in range(MANY_FEATURES if wide else int(rng.integers(1, 5))):
        if rng.random() < categories:
            features.append(CategoricalFeature(f"x{j}", pick(rng, CATEGORIES)))
        else:
            features.append(NumericFeature(f"x{j}", **pick(rng, NUMBERS)))
    if regression:
        low, high = pick(rng, TARGETS)
        return Schema(tuple(features), Target(low=low, high=high))
    return Schema(tuple(features), Target(classes=pick(rng, CLASSES)))


def draw_records(
    rng: Rng, schema: Schema, *, replaced: bool, most_of_a_person: int | None
) -> Records:
    """Neighbouring tables: 5 to 40 common records, and odd ones that come, go, or are replaced."""
    place = pick(rng, PLACES)
    n = int(rng.integers(5, 41)) if rng.random() < 0.7 else int(rng.integers(1, 6))
    odd = _odd_record(rng, schema)
    common = _common_records(rng, schema, place, n, odd)
    one: list[Record] = []
    other = [odd]
    if most_of_a_person is not None:  # a person may have more records than are kept
        extra = int(rng.integers(0, most_of_a_person + 2))
        other += [odd if rng.random() < 0.5 else _odd_record(rng, schema) for _ in range(extra)]
    if replaced:
        size = len(other) if most_of_a_person is None else int(rng.integers(1, len(other) + 1))
        one = [_record(rng, schema) for _ in range(size)]
    if most_of_a_person is None:
        return Records(common, one, other, place)
    persons, two = _draw_persons(rng, n, most_of_a_person)
    return Records(common, one, other, place, persons, *two)


def _common_records(rng: Rng, schema: Schema, place: str, n: int, odd: Record) -> list[Record]:
    if place == "one leaf":
        return [_record(rng, schema)] * n
    if place == "tie":
        values = _record(rng, schema)[:-1] if rng.random() < 0.5 else odd[:-1]
        targets = _all_targets(schema)
        return [(*values, targets[i % len(targets)]) for i in range(n)]
    if place == "few values":
        few = [_record(rng, schema) for _ in range(3)]
        return [pick(rng, few) for _ in range(n)]
    if place == "far from the odd one":
        low = tuple(_extreme(feature) for feature in schema.features)
        return [(*low, _all_targets(schema)[0])] * n
    return [_record(rng, schema) for _ in range(n)]


def _record(rng: Rng, schema: Schema) -> Record:
    """An ordinary record; now and then a value is missing."""
    values = tuple(
        None if rng.random() < 0.05 else _value(rng, feature) for feature in schema.features
    )
    return (*values, pick(rng, _all_targets(schema)))


def _value(rng: Rng, feature: Feature) -> Any:
    if isinstance(feature, CategoricalFeature):
        return pick(rng, feature.categories)
    if feature.integer:
        return int(rng.integers(int(feature.low), int(feature.high) + 1))
    share = pick(rng, (0.0, 0.25, 0.5, 1.0, float(rng.random())))
    return feature.low + (feature.high - feature.low) * share


def _extreme(feature: Feature) -> Any:
    return feature.categories[0] if isinstance(feature, CategoricalFeature) else feature.low


def _all_targets(schema: Schema) -> list[Any]:
    assert schema.target is not None
    if schema.target.classes is not None:
        return list(schema.target.classes)
    low, high = schema.target_bounds
    return [low, low + 0.3 * (high - low), high]


def _odd_record(rng: Rng, schema: Schema) -> Record:
    """A record with odd values, a target that is written oddly, or an ordinary one."""
    odd = rng.random()
    values = tuple(
        _odd_value(rng, feature) if rng.random() < odd else _value(rng, feature)
        for feature in schema.features
    )
    target = pick(rng, _all_targets(schema))
    if rng.random() < 0.2:
        spelled = schema.target is not None and schema.target.classes is None
        target = _written_oddly(rng, target, spelled=spelled)
    return (*values, target)


def _odd_value(rng: Rng, feature: Feature) -> Any:
    missing = (None, float("nan"))
    if isinstance(feature, NumericFeature):
        beyond = (feature.high + 10, feature.low - 1e6, float("inf"), float("-inf"), LARGE + 1)
        return pick(rng, (*missing, *beyond, "", 0.5, True, str(feature.low)))
    unseen = ("unheard of", 99, 0.5, -1, LARGE + 6, float("inf"), True)
    known = pick(rng, feature.categories)
    return pick(rng, (*missing, *unseen, "", _written_oddly(rng, known)))


def _written_oddly(rng: Rng, value: Any, *, spelled: bool = True) -> Any:
    """The same value as a text, a float or a NumPy scalar, where it is a number.

    Labels are not spelled: a text is refused where a number is declared.
    """
    if isinstance(value, str):
        return value
    forms: list[Any] = [np.asarray(value)[()], *([str(value)] if spelled else [])]
    if float(value) == value:
        forms.append(float(value))
    return pick(rng, forms)


def _draw_persons(rng: Rng, n: int, most: int) -> tuple[list[Any], tuple[Any, Any]]:
    """Ids of common records, and two ids that nobody else has."""
    n_persons = int(rng.integers(1, n + 1))
    kind = pick(rng, IDS)
    numbers = [int(p) for p in rng.integers(0, n_persons, n)]
    if most == 1 and rng.random() < 0.5:
        numbers = list(range(n))
    odd = n + 5, n + 6
    ids: Callable[[int], Any] = {
        "small": lambda p: p,
        "texts": lambda p: f"person {p}",
        "large": lambda p: LARGE + 1 + p,
        "whole floats": float,
        "mixed": lambda p: (p, f"person {p}", LARGE + 1 + p)[p % 3],
    }[kind]
    forms: tuple[Callable[[int], Any], ...] = (
        ids,
        float,
        str,
        lambda p: f"person {p}",
        lambda p: LARGE + 1 + p,
    )
    one, other = (pick(rng, forms)(p) for p in odd)
    return [ids(p) for p in numbers], (one, other)
