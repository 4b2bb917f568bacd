"""A few records that stand for all of a source, where only bounds and distinct values count."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw

from dpforest.exceptions import SchemaError
from dpforest.tables.sources import EMPTY, Source
from dpforest.tables.streams import blocks_of

FEW = 4  # values that stand for themselves


def summary_of(source: Source, y: Any) -> Any:
    """A frame with the same smallest, largest and distinct values in every column.

    Of numbers the two ends are kept and, in the target, all different values or, where one is no
    whole number, one of those; of other columns all different values. Exact, and private.
    """
    if not (y is None or isinstance(y, str)):
        raise SchemaError("y must be the name of a column of the source, not its values")
    source.require([*source.names, *([] if y is None else [y])])
    found: dict[str, nw.Series[Any]] = {}
    for block in blocks_of(source, source.names):
        for name in source.names:
            some = _standing_for(block[name], is_target=name == y)
            before = found.get(name)
            both = some if before is None else nw.concat([before.to_frame(), some.to_frame()])[name]
            found[name] = _standing_for(both, is_target=name == y)
    if not found:
        raise SchemaError(EMPTY)
    longest = max(len(series) for series in found.values())
    columns = [_filled(series, longest) for series in found.values()]
    return columns[0].to_frame().with_columns(*columns[1:]).to_native()


def _standing_for(series: nw.Series[Any], *, is_target: bool) -> nw.Series[Any]:
    if not series.dtype.is_numeric():
        return series.unique()
    there = series.drop_nulls()
    if there.dtype.is_float():
        there = there.filter(there.is_finite())
    if len(there) < FEW:
        return there
    distinct = there.unique().sort() if is_target else there.sort()
    fractions = distinct.filter(distinct % 1 != 0) if is_target else distinct
    if is_target and not len(fractions):
        return distinct
    ends = distinct[[0, len(distinct) - 1]]  # Arrow knows no -1
    return nw.concat([ends.to_frame(), fractions[:1].to_frame()])[series.name]


def _filled(series: nw.Series[Any], length: int) -> nw.Series[Any]:
    """The series, its last value repeated to a length."""
    if not len(series):
        raise SchemaError(
            f"column {series.name!r}: no value to read bounds or categories from; leave the column "
            "out, or declare it in a schema"
        )
    return series[[*range(len(series)), *[len(series) - 1] * (length - len(series))]]
