"""From a table and its schema to a matrix of bins, one byte a value.

A numeric value falls into bin b when exactly b cuts lie below it, so ``value <= cuts[b]`` just
when ``bin <= b``. Values beyond the bounds are clipped to them. After the bins of values comes
one for missing values and, for categories, one for unseen values. More than 255 categories share
bins (`dpforest.tables.grouping`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.schema import CategoricalFeature, NumericFeature, Schema
from dpforest.schema.categories import Category, CategoryIndex, is_missing
from dpforest.tables.binning_kernels import bin_columns, match_numbers
from dpforest.tables.cuts import bin_middles, even_scale, public_cuts
from dpforest.tables.frames import Column, Frame, as_column
from dpforest.tables.grouping import count_groups, group_categories
from dpforest.tables.threads import map_rows
from dpforest.trees.structure import FeatureBins

MAX_VALUE_BINS = 255
CACHED_VALUES = 1 << 17  # values that stay in the second-level cache while they are binned

MISSING, UNSEEN = -1, -2


@dataclass(frozen=True)
class Encoding:
    """Where each feature is cut, and the bins that follow from it.

    Parameters
    ----------
    schema : Schema
        The public description of the table.
    cuts : tuple of arrays or None
        The sorted cut points of each numeric feature; None for a categorical one.

    Examples
    --------
    >>> schema = Schema((NumericFeature("age", 0, 100),))
    >>> encoding = Encoding.from_schema(schema, max_bins=4)
    >>> encoding.cuts[0].tolist()
    [25.0, 50.0, 75.0]
    >>> encoding.bins([[-3.0], [25.0], [25.1], [200.0], [float("nan")]]).ravel().tolist()
    [0, 0, 1, 3, 4]
    """

    schema: Schema
    cuts: tuple[NDArray[np.float64] | None, ...]

    def __post_init__(self) -> None:
        for feature, cuts in zip(self.schema.features, self.cuts, strict=True):
            if isinstance(feature, NumericFeature) != (cuts is not None) or (
                cuts is not None and (cuts.size >= MAX_VALUE_BINS or not (np.diff(cuts) > 0).all())
            ):
                raise ValueError(
                    f"the cuts of {feature.name!r} do not fit the schema: fewer than "
                    f"{MAX_VALUE_BINS}, in ascending order, are expected for a numeric feature"
                )

    @classmethod
    def from_schema(cls, schema: Schema, max_bins: int = MAX_VALUE_BINS) -> "Encoding":
        """Cut as the schema says, or evenly into at most `max_bins` bins over the public range.

        Integer features with no more than `max_bins` values get one bin a value. Declared cuts
        are taken as they are, whatever `max_bins` says.
        """
        if not 2 <= max_bins <= MAX_VALUE_BINS:
            raise ValueError(f"max_bins must be between 2 and {MAX_VALUE_BINS}, got {max_bins}")
        return cls(
            schema,
            tuple(
                public_cuts(feature, max_bins) if isinstance(feature, NumericFeature) else None
                for feature in schema.features
            ),
        )

    @cached_property
    def n_values(self) -> NDArray[np.int64]:
        """Bins of values, a feature; the bin of missing values comes next."""
        return np.array(
            [
                cuts.size + 1 if cuts is not None else count_groups(feature.categories)  # type: ignore[union-attr]
                for feature, cuts in zip(self.schema.features, self.cuts, strict=True)
            ]
        )

    @cached_property
    def middles(self) -> tuple[NDArray[np.float64] | None, ...]:
        """Where the bins of a numeric feature lie, in a unit of its own; None for categories."""
        return tuple(None if cuts is None else bin_middles(cuts) for cuts in self.cuts)

    @cached_property
    def unseen(self) -> NDArray[np.int64]:
        """The bin of unseen categories, a feature; -1 for numeric features."""
        categorical = np.array([cuts is None for cuts in self.cuts])
        # With 255 categories no byte is left, so unseen shares the bin of missing.
        return np.where(categorical, np.minimum(self.n_values + 1, MAX_VALUE_BINS), -1)

    @cached_property
    def n_bins(self) -> NDArray[np.int64]:
        """All bins, a feature: of values, missing and, for categories, unseen."""
        return np.maximum(self.n_values, self.unseen) + 1

    @cached_property
    def category_bins(self) -> dict[int, NDArray[np.uint8]]:
        """By categorical feature: the bins of its categories, of unseen values and of missing."""
        return {
            j: np.array([*group_categories(f.categories), self.unseen[j], self.n_values[j]], "u1")
            for j, f in enumerate(self.schema.features)
            if isinstance(f, CategoricalFeature)
        }

    @cached_property
    def feature_bins(self) -> FeatureBins:
        """What growers of trees may know of the features."""
        categorical = np.array([cuts is None for cuts in self.cuts])
        return FeatureBins(self.n_values, self.n_bins, categorical)

    def bins(
        self,
        data: Any,
        n_jobs: int | None = None,
        *,
        order: Literal["C", "F"] = "C",
        only: Sequence[int] | None = None,
    ) -> NDArray[np.uint8]:
        """Return the bins of a table, shape (records, features), in the order of the schema.

        Columns are matched by name when the table has names, else by position.

        Parameters
        ----------
        data : Frame or what a Frame reads
        n_jobs : int, optional
        order : {"C", "F"}
            Keep the bins of a record together, or those of a feature.
        only : sequence of int, optional
            The features to bin; the columns of others are left as they come.
        """
        frame = (data if isinstance(data, Frame) else Frame(data)).select(self.schema)
        out = np.empty((frame.n_rows, self.schema.n_features), dtype=np.uint8, order=order)
        wanted = range(self.schema.n_features) if only is None else only
        numeric = [j for j in wanted if self.cuts[j] is not None]
        table = frame.number_table
        if table is not None:
            array, places = table
            self._bin_numbers(array, [places[j] for j in numeric], out, numeric, n_jobs)
        for j in wanted:
            if self.cuts[j] is None:
                feature = self.schema.features[j]
                assert isinstance(feature, CategoricalFeature)
                found = match_categories(frame.series(j), feature.categories, n_jobs=n_jobs)
                out[:, j] = self.category_bins[j][found]
            elif table is None:
                numbers = frame.series(j).numbers()[:, np.newaxis]
                self._bin_numbers(numbers, [0], out, [j], n_jobs)
        return out

    def _bin_numbers(
        self,
        values: NDArray[Any],
        sources: list[int],
        out: NDArray[np.uint8],
        targets: list[int],
        n_jobs: int | None,
    ) -> None:
        if not targets:
            return
        tables = tuple(table[targets] for table in self._cut_tables)
        source, target = np.array(sources), np.array(targets)
        # One compiled version for each of two types; everything else is copied block by block.
        ready = (
            values.dtype in (np.float32, np.float64)
            and values.flags.c_contiguous
            and values.flags.writeable
        )
        step = max(64, CACHED_VALUES // values.shape[1])

        def work(rows: slice) -> None:
            for part in _parts(rows, step):
                block = values[part] if ready else np.array(values[part], np.float64, order="C")
                bin_columns(block, source, *tables, out[part], target)

        map_rows(work, len(values), n_jobs)

    @cached_property
    def _cut_tables(self) -> tuple[NDArray[Any], ...]:
        """Padded cuts, their numbers, lower bounds and scales, as `bin_columns` reads them."""
        d = self.schema.n_features
        padded = np.full((d, MAX_VALUE_BINS + 2), np.inf)
        padded[:, 0] = -np.inf
        n_cuts, lows, scales = np.zeros(d, np.int64), np.zeros(d), np.zeros(d)
        for j, (feature, cuts) in enumerate(zip(self.schema.features, self.cuts, strict=True)):
            if cuts is not None and isinstance(feature, NumericFeature):
                padded[j, 1 : cuts.size + 1] = cuts
                n_cuts[j], lows[j] = cuts.size, feature.low
                scales[j] = even_scale(cuts, feature)
        return padded, n_cuts, lows, scales


def check_columns(frame: Frame, schema: Schema, n_jobs: int | None = None) -> None:
    """Raise what binning the columns would raise: before anything is spent on them."""
    if frame.number_table is not None:
        return
    for j, feature in enumerate(schema.features):
        if isinstance(feature, CategoricalFeature):
            match_categories(frame.series(j), feature.categories, 0, 0, n_jobs)
        else:
            frame.series(j).numbers()


def match_categories(
    column: Column,
    categories: tuple[Category, ...],
    missing: int = MISSING,
    unseen: int = UNSEEN,
    n_jobs: int | None = None,
) -> NDArray[np.int32]:
    """Return the position of each value among the categories, or `missing` or `unseen`."""
    index = CategoryIndex(categories)
    if (numbers := column.number_array()) is not None:
        return _match_numbers(numbers, index, missing, unseen, n_jobs)
    codes, distinct = column.factors()
    found = [index.position(value) for value in distinct]
    otherwise = [missing if is_missing(value) else unseen for value in distinct]
    places = [at if at >= 0 else other for at, other in zip(found, otherwise, strict=True)]
    # Missing values that are not in the list have the code -1, so their place is the last.
    return np.array([*places, missing], dtype=np.int32)[codes]


def _match_numbers(
    values: NDArray[Any], index: CategoryIndex, missing: int, unseen: int, n_jobs: int | None
) -> NDArray[np.int32]:
    numbers = np.array(sorted(index.numbers), dtype=np.float64)
    places = np.array([index.numbers[number] for number in numbers.tolist()], dtype=np.int32)
    out = np.empty(len(values), dtype=np.int32)

    def work(rows: slice) -> None:
        for part in _parts(rows, CACHED_VALUES):
            block = values[part].astype(np.float64)
            match_numbers(block, numbers, places, missing, unseen, out[part])

    map_rows(work, len(values), n_jobs)
    return out


def _parts(rows: slice, size: int) -> Iterator[slice]:
    for start in range(rows.start, rows.stop, size):
        yield slice(start, min(rows.stop, start + size))


def encode_labels(y: Any, classes: tuple[Category, ...]) -> NDArray[np.int32]:
    """Return the position of each label among the classes.

    Examples
    --------
    >>> encode_labels(["yes", "no", "yes"], ("no", "yes")).tolist()
    [1, 0, 1]
    """
    positions = match_categories(as_column(y), classes)
    if (positions == MISSING).any():
        raise SchemaError("y contains missing labels (NaN or None): leave those records out")
    if (positions == UNSEEN).any():
        raise SchemaError(
            f"y contains labels that are not among the declared classes {list(classes)}: "
            "leave those records out, or add the labels to the classes of the schema's target, "
            "but only if they are publicly known"
        )
    return positions


def encode_target(y: Any, low: float, high: float) -> NDArray[np.float64]:
    """Return the target as numbers, clipped to the public bounds.

    Examples
    --------
    >>> encode_target([-1, 0.5, 7], 0, 1).tolist()
    [0.0, 0.5, 1.0]
    """
    values = as_column(y).numbers().astype(np.float64)
    if np.isnan(values).any():
        raise SchemaError("y contains missing values (NaN or None): leave those records out")
    return np.clip(values, low, high)
