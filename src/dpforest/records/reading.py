"""How a part of a source is read: what every store does with it, wherever it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from dpforest.records.coins import Addresses
from dpforest.records.content import Frozen, content_hashes
from dpforest.records.groups import person_keys
from dpforest.records.weights import Weights, read_weights
from dpforest.schema import Schema
from dpforest.tables.encode import check_columns, encode_target
from dpforest.tables.frames import Frame
from dpforest.tables.labels import encode_equal_labels
from dpforest.tables.sources import Source

Target = NDArray[np.int32 | np.float64]


@dataclass(frozen=True)
class Reading:
    """The columns that a fit reads; parts of a source are frames of pandas, polars or pyarrow.

    Parameters
    ----------
    schema : Schema
    y : str
        The column of the target.
    groups : str, optional
        The column of the person.
    weights : Weights, optional
        The column of the weights, and their bound.
    """

    schema: Schema
    y: str
    groups: str | None = None
    weights: Weights | None = None

    @property
    def columns(self) -> list[str]:
        """What is read when records are binned."""
        return [*self.schema.feature_names, *self._beside]

    @property
    def all_columns(self) -> list[str]:
        """What is read at all."""
        return [*self.columns, *filter(None, [self.groups])]

    @property
    def _beside(self) -> list[str]:
        """The target, and the weights where there are some."""
        return [self.y] if self.weights is None else [self.y, self.weights.sample_weight]

    def first_columns(self, source: Source) -> list[str]:
        """What is read before anything is spent: target, weights, what types do not promise.

        Types promise numbers; no format sees to it that its texts are texts. All of it where
        persons are chosen, or where the source may have other columns elsewhere.
        """
        if self.groups is not None or not source.uniform:
            return self.all_columns
        types = source.types
        doubtful = [
            name for name in self.schema.feature_names if types.get(name, "category") == "category"
        ]
        return [*doubtful, *self._beside]

    def target(self, part: Any) -> Target:
        """The target of all rows of a part, as the schema has it; SchemaError for gaps."""
        return encode_y(nw.from_native(part, eager_only=True)[self.y].to_native(), self.schema)

    def weight(self, part: Any) -> NDArray[np.float64] | None:
        """The weight of all rows of a part, in units of the bound; None where there are none."""
        if self.weights is None:
            return None
        name, bound = self.weights
        table = nw.from_native(part, eager_only=True)
        return read_weights(table[name].to_native(), len(table), bound)

    def check(self, part: Any) -> None:
        """SchemaError when a value of a feature that is there cannot be read."""
        there = nw.from_native(part, eager_only=True).columns
        names = [name for name in self.schema.feature_names if name in there]
        if names:
            schema = self.schema.select(names)
            check_columns(_frame(part, schema), schema)

    def frame(self, part: Any) -> Frame:
        """The features of a part, in the order of the schema."""
        return _frame(part, self.schema)

    def frozen_frame(self, part: Any, frozen: Frozen) -> Frame:
        """The features of a part; SourceChangedError unless its records are those frozen."""
        frozen.check(nw.from_native(part, eager_only=True).shape[0])
        frame, target, weight = self.frame(part), self.target(part), self.weight(part)
        hashes = content_hashes(frame, self.schema, target, 1, weight)
        frozen.check(frame.n_rows, hashes, target, weight)
        return frame

    def persons(self, part: Any) -> tuple[NDArray[np.uint64], Addresses]:
        """The person of every record, and what it says: what the choice of records needs."""
        table = nw.from_native(part, eager_only=True)
        keys = person_keys(table[str(self.groups)].to_native())
        frame, target, weight = self.frame(part), self.target(part), self.weight(part)
        return keys, content_hashes(frame, self.schema, target, 1, weight)


def _frame(part: Any, schema: Schema) -> Frame:
    chosen = nw.from_native(part, eager_only=True).select(schema.feature_names)
    return Frame(chosen.to_native()).select(schema)


def encode_y(y: Any, schema: Schema) -> Target:
    """The target of some records as the schema has it: codes of classes, or bounded numbers."""
    if schema.target is not None and schema.target.classes is None:
        return encode_target(y, *schema.target_bounds)
    return encode_equal_labels(y, schema.classes)
