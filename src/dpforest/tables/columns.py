"""One column of a table, or one value a record: as numbers, or as codes of distinct values.

What a value means does not depend on the column around it (`dpforest.schema.categories`); types
only say how to get at many values at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from dpforest.exceptions import SchemaError
from dpforest.schema.categories import is_missing
from dpforest.tables.values import check_values, doubles_of, factorise, odd_values_error

Array = NDArray[Any]
Codes = NDArray[np.integer[Any]]
NUMBER_KINDS = "iufb"
Kind = Literal["integers", "reals", "booleans", "texts"]

_KIND_OF_LETTER: dict[str, Kind] = {"i": "integers", "u": "integers", "f": "reals", "b": "booleans"}


class Column:
    """One column, as numbers or as distinct values with codes."""

    def __init__(self, values: Array | nw.Series[Any], label: str) -> None:
        self.label = label
        self._values = values

    @cached_property
    def _dtype(self) -> Any:
        return self._values.dtype

    def to_numpy(self) -> Array:
        """Return the values as they are; texts and mixtures as an object array."""
        if isinstance(self._values, np.ndarray):
            return self._values
        with self._reading():
            return np.asarray(self._values.to_numpy())

    def parts(self) -> Iterator[Column]:
        """All values at once: what `StreamedColumn` gives part by part."""
        yield self

    @property
    def kind(self) -> Kind:
        """What the type says of the values, without a look at them."""
        if isinstance(self._dtype, np.dtype):
            return _KIND_OF_LETTER.get(self._dtype.kind, "texts")
        if isinstance(self._dtype, nw.Boolean):
            return "booleans"
        if self._dtype.is_integer():
            return "integers"
        return "reals" if self._dtype.is_numeric() else "texts"

    @property
    def is_numeric(self) -> bool:
        """Whether the type, apart from the values, promises numbers."""
        if isinstance(self._dtype, np.dtype):
            return self._dtype.kind in NUMBER_KINDS
        return bool(self._dtype.is_numeric())

    def number_array(self) -> Array | None:
        """The values, NaN where missing, if the type promises numbers; None if it does not.

        Integers are exact unless some are missing: then they are the nearest doubles.
        """
        self.require_flat()
        if not isinstance(self._dtype, np.dtype) and not is_number_type(self._dtype):
            return None
        array = self.to_numpy()
        return array if array.dtype.kind in NUMBER_KINDS else None

    def numbers(self) -> Array:
        """Return an array of numbers, NaN where missing; SchemaError if they are not numbers."""
        array = self.number_array()
        return doubles_of(self.python_values(), self.label) if array is None else array

    def factors(self) -> tuple[Codes, list[Any]]:
        """Codes into a list of distinct values; -1 is the code of missing ones not in the list."""
        array = self.number_array()
        if array is not None:
            distinct, codes = np.unique(array, return_inverse=True)
            return codes, distinct.tolist()
        if isinstance(self._values, nw.Series):
            native = self._values.to_native()
            named = isinstance(self._dtype, nw.Categorical | nw.Enum)
            if nw.dependencies.is_pandas_series(native):
                if named or isinstance(self._dtype, nw.String | nw.Object):
                    return self._pandas_factors(native)
            elif isinstance(self._dtype, nw.String) or (
                named and nw.dependencies.is_polars_series(native)
            ):
                with self._reading():
                    return _text_factors(self._values)
        return factorise(self.python_values(), self.label)

    def levels(self) -> tuple[Codes, list[Any]]:
        """Codes into a list of distinct values, none of them missing; that code is -1."""
        codes, distinct = self.factors()
        present = np.array([*(not is_missing(value) for value in distinct), False])
        renumbered = np.where(present, np.cumsum(present) - 1, -1)
        return renumbered[codes], [value for value in distinct if not is_missing(value)]

    def python_values(self) -> list[Any]:
        """The values as Python has them; SchemaError where the container cannot give one."""
        values = self._values
        if not isinstance(values, nw.Series):
            return list(values.tolist())
        with self._reading():
            return values.to_list()

    def require_readable(self) -> None:
        """SchemaError or TypeError for what no later reading of the values could get at."""
        self.require_flat()
        if not self.is_plain_number:
            # Of some times no type of narwhals tells that they are times.
            Column(self.to_numpy(), self.label).require_flat()

    @property
    def is_plain_number(self) -> bool:
        """Whether the type promises values that every container can give."""
        numpy = isinstance(self._dtype, np.dtype)
        return self._dtype.kind in NUMBER_KINDS if numpy else is_number_type(self._dtype)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Say without a value what a container says of one that it cannot give.

        Arrow and polars take bytes for texts on trust: some may be none.
        """
        try:
            if isinstance(self._values, nw.Series):
                _refuse_bytes_of_polars(self._values.to_native())
            yield
        except BaseException as error:
            # A panic of polars is no Exception.
            known = isinstance(error, Exception) or type(error).__name__ == "PanicException"
            if not known or isinstance(error, MemoryError):
                raise
            raise SchemaError(
                f"column {self.label}: a value cannot be read: expected texts in valid UTF-8, "
                "numbers and booleans; repair the values that are none, or mark them as missing"
            ) from None

    def _pandas_factors(self, native: Any) -> tuple[Codes, list[Any]]:
        infer_dtype = nw.get_native_namespace(native).api.types.infer_dtype
        if native.dtype == object and infer_dtype(native, skipna=True) != "string":
            values = native.tolist()
            types = check_values(values, self.label)
            if sum(not issubclass(kind, str) for kind in types) > 1:
                return factorise(values, self.label)  # which keeps 1, 1.0 and True apart
        with self._reading():
            codes, found = native.factorize()
            distinct = found.tolist()
        check_values(distinct, self.label)
        return codes, distinct

    def require_flat(self) -> None:
        """SchemaError or TypeError when the type of the column says dates or nested values."""
        dtype = self._dtype
        if isinstance(dtype, nw.dtypes.DType) and dtype.is_nested():
            raise odd_values_error(self.label)
        temporal = dtype.kind in "mM" if isinstance(dtype, np.dtype) else dtype.is_temporal()
        # The type alone is no reason: pandas gives it to a column with nothing but gaps and NaT.
        if temporal and not self._all_gaps():
            raise SchemaError(
                f"column {self.label}: dates and times are not supported; convert them to numbers "
                "counted from a public date, or to categories such as the weekday"
            )

    def _all_gaps(self) -> bool:
        """Whether all times are missing; none is made one of Python, which has not all of them."""
        values = self._values
        gaps = np.isnat(values) if isinstance(values, np.ndarray) else values.is_null()
        return bool(gaps.all())


def is_number_type(dtype: nw.dtypes.DType) -> bool:
    """Tell whether NumPy has the numbers of a narwhals type: not those of decimals, say."""
    if isinstance(dtype, nw.Decimal | nw.Int128 | nw.UInt128):
        return False
    return isinstance(dtype, nw.Boolean) or dtype.is_numeric()


def as_column(y: Any, label: str = "y", *, exact: bool = False) -> Column:
    """Wrap a series, list or array of one value a record; SchemaError when it has more.

    With `exact`, whole numbers in a list stay what they are where doubles could not hold them.
    """
    if nw.dependencies.is_into_series(y):
        return Column(nw.from_native(y, series_only=True), label)
    if nw.dependencies.is_into_dataframe(y):
        table = nw.from_native(y, eager_only=True)
        if table.shape[1] == 1:
            return Column(table[:, 0], label)
        raise SchemaError(f"{label}: expected one column, got {table.shape[1]}")
    if y is None or isinstance(y, str) or issparse(y):
        raise SchemaError(f"{label}: expected a list, array or series with one value a record")
    array = as_array(y, label, exact=exact)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise SchemaError(f"{label} should be a 1d array, got an array of {array.ndim} dimensions")
    return Column(array, label)


def as_array(data: Any, label: str, *, exact: bool = False) -> Array:
    """Return an array that keeps every value; refuse bytes and complex numbers.

    A list has no type of its own. If all in it are numbers, they become an array of numbers: each
    is then itself or the nearest double, which is what it means anyway (but see `as_column` for
    `exact`). If not, NumPy's common type would turn numbers into texts: it is left as it is.
    """
    if isinstance(data, np.ma.MaskedArray):
        # NumPy would take what is below the mask.
        below, mask = np.array(data, dtype=object), np.ma.getmaskarray(data)
        below[mask] = None
        data = below
    try:
        array = np.asarray(data)
        kept = "iub" if exact else NUMBER_KINDS
        if not hasattr(data, "__array__") and array.dtype.kind not in kept:
            array = np.array(data, dtype=object)
    except ValueError:
        raise ValueError(
            f"{label}: expected rows of the same number of plain values; a list has rows of "
            "different lengths, or lists within a row"
        ) from None
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: pass real numbers")
    if array.dtype.kind in "SV":
        raise TypeError(
            f"{label}: arrays of bytes and structured arrays are not supported; "
            "pass texts, numbers or a data frame"
        )
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            return array.astype(np.float64)
    return array


def _refuse_bytes_of_polars(native: Any) -> None:
    """Raise where polars would panic at bytes that are no text."""
    if not nw.dependencies.is_polars_series(native):
        return
    import polars as pl

    if native.dtype in (pl.String, pl.Categorical, pl.Enum):
        native.cast(pl.String).cast(pl.Binary).cast(pl.String)


def _text_factors(series: nw.Series[Any]) -> tuple[Codes, list[Any]]:
    series = series.cast(nw.String)
    distinct = [value for value in series.unique().to_list() if value is not None]
    if not distinct:
        return np.full(len(series), -1), []
    positions = list(range(len(distinct)))
    codes = series.replace_strict(distinct, positions, default=-1, return_dtype=nw.Int64)
    return codes.to_numpy().astype(np.int64), distinct
