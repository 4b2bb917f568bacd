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
from dpforest.schema import NumericFeature, Schema
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
    """

    schema: Schema
    y: str
    groups: str | None = None

    @property
    def columns(self) -> list[str]:
        """What is read when records are binned."""
        return [*self.schema.feature_names, self.y]

    def first_columns(self, source: Source) -> list[str]:
        """What is read before anything is spent: the target, and what types do not promise.

        All of it where persons are chosen, or where the source may have other columns elsewhere.
        """
        if self.groups is not None:
            return [*self.columns, self.groups]
        if not source.uniform:
            return self.columns
        types = source.types
        doubtful = [
            feature.name
            for feature in self.schema.features
            if feature.name not in types
            or (isinstance(feature, NumericFeature) and types[feature.name] == "category")
        ]
        return [*doubtful, self.y]

    def target(self, part: Any) -> Target:
        """The target of all rows of a part, as the schema has it; SchemaError for gaps."""
        return encode_y(nw.from_native(part, eager_only=True)[self.y].to_native(), self.schema)

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
        frame, target = self.frame(part), self.target(part)
        frozen.check(frame.n_rows, self.contents(frame, target), target)
        return frame

    def contents(self, frame: Frame, target: Target) -> Addresses:
        """What every record says, as a number."""
        return content_hashes(frame, self.schema, target, n_jobs=1)

    def persons(self, part: Any) -> tuple[NDArray[np.uint64], Addresses]:
        """The person of every record, and what it says: what the choice of records needs."""
        table = nw.from_native(part, eager_only=True)
        keys = person_keys(table[str(self.groups)].to_native())
        return keys, self.contents(self.frame(part), self.target(part))


def _frame(part: Any, schema: Schema) -> Frame:
    chosen = nw.from_native(part, eager_only=True).select(schema.feature_names)
    return Frame(chosen.to_native()).select(schema)


def encode_y(y: Any, schema: Schema) -> Target:
    """The target of some records as the schema has it: codes of classes, or bounded numbers."""
    if schema.target is not None and schema.target.classes is None:
        return encode_target(y, *schema.target_bounds)
    return encode_equal_labels(y, schema.classes)
