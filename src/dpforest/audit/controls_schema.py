"""Controls that read what should be public from the data: bounds, or the list of classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.audit.games import EstimatorGame, Tick
from dpforest.audit.worlds import SMALL_SCHEMA, Pair, Table
from dpforest.exceptions import PrivacyLeakWarning
from dpforest.forests.random import RandomDecisionForestClassifier
from dpforest.privacy.accounts.ledger import Guarantee
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.mechanisms.randomness import RandomBits
from dpforest.schema import Schema
from dpforest.schema.features import NumericFeature, Target


@dataclass(frozen=True)
class SchemaFromData:
    """A forest of the library whose schema is made from each table, and its claim believed."""

    name: str
    pairs: tuple[Pair, ...]
    read: Callable[[Table], Schema]
    flaw: str
    guarantee: Guarantee = field(default=Guarantee(1.0, 0.0, Protection()))
    mu: float | None = None

    def release(
        self, pair: Pair, which: int, trials: int, bits: RandomBits, tick: Tick
    ) -> tuple[NDArray[np.float64], list[str]]:
        """Read the schema off the table, then fit as usual."""
        schema = self.read(pair.tables[which])
        forest = RandomDecisionForestClassifier(
            epsilon=self.guarantee.epsilon, schema=schema, n_estimators=1, max_depth=1, max_bins=4
        )
        return EstimatorGame(forest).release(pair, which, trials, bits, tick)


def bounds_from_data() -> SchemaFromData:
    """The range of a feature is that of the records."""
    wild = 100.0

    def read(t: Table) -> Schema:
        found = _observed(t).features[0]
        assert isinstance(found, NumericFeature)
        free = NumericFeature("amount", found.low, found.high)
        return replace(SMALL_SCHEMA, features=(free, SMALL_SCHEMA.features[1]))

    base = [[0.0, 0.0], [1.0, 1.0]]
    pair = _pair("beyond all others", base, [0, 1], [wild, 0.0], 1)
    return SchemaFromData("bounds-from-data", (pair,), read, "the cuts follow the largest value")


def classes_from_data() -> SchemaFromData:
    """The classes are those that the records have."""

    def read(t: Table) -> Schema:
        return replace(SMALL_SCHEMA, target=Target(classes=tuple(np.unique(t.y).tolist())))

    base = [[0.0, 0.0], [1.0, 1.0]]
    pair = _pair("first of its class", base, [0, 1], [0.5, 0.0], 2)
    return SchemaFromData("classes-from-data", (pair,), read, "a new class makes a new column")


def _observed(t: Table) -> Schema:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return Schema.from_frame(t.X, t.y)


def _pair(name: str, base: list[list[float]], y: list[int], record: Any, label: int) -> Pair:
    X = np.array(base)
    return Pair(name, Table(X, np.array(y)), Table(np.vstack([X, record]), np.array([*y, label])))
