"""One column of a table, or one value a record: as numbers, or as codes of distinct values."""

from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from dpforest.exceptions import SchemaError
from dpforest.schema.categories import is_missing

Array = NDArray[Any]
NUMBER_KINDS = "iufb"
Kind = Literal["integers", "reals", "booleans", "texts"]

_KIND_OF_LETTER: dict[str, Kind] = {"i": "integers", "u": "integers", "f": "reals", "b": "booleans"}


class Column:
    """One column, as numbers or as distinct values with codes."""

    def __init__(self, values: Array | nw.Series[Any], label: str) -> None:
        self.label = label
        self._values = values

    def to_numpy(self) -> Array:
        """Return the values as they are; texts and mixtures as an object array."""
        if isinstance(self._values, np.ndarray):
            return self._values
        return np.asarray(self._values.to_numpy())

    @property
    def kind(self) -> Kind:
        """What the type says of the values, without a look at them."""
        dtype = self._values.dtype
        if isinstance(dtype, np.dtype):
            return _KIND_OF_LETTER.get(dtype.kind, "texts")
        if isinstance(dtype, nw.Boolean):
            return "booleans"
        if dtype.is_integer():
            return "integers"
        return "reals" if dtype.is_numeric() else "texts"

    @property
    def is_numeric(self) -> bool:
        """Whether the type, apart from the values, promises numbers."""
        if isinstance(self._values, np.ndarray):
            return self._values.dtype.kind in NUMBER_KINDS
        return self._values.dtype.is_numeric()

    def numbers(self) -> Array:
        """Return an array of numbers, NaN where missing; SchemaError if they are not numbers."""
        self._require_flat()
        values = self._values
        if isinstance(values, nw.Series) and values.dtype.is_decimal():
            values = values.cast(nw.Float64)
        array = np.asarray(values.to_numpy()) if isinstance(values, nw.Series) else values
        if array.dtype.kind == "c":
            raise _complex_error()
        if array.dtype.kind in NUMBER_KINDS:
            return array
        return _numbers_from_objects(array, self.label)

    def levels(self) -> tuple[NDArray[np.integer[Any]], list[Any]]:
        """Codes into a list of distinct values; the code of a missing value is -1."""
        self._require_flat()
        if isinstance(self._values, np.ndarray):
            return _array_levels(self._values, self.label)
        native = self._values.to_native()
        if nw.dependencies.is_pandas_series(native):
            try:
                codes, distinct = native.factorize()
            except TypeError:
                raise _odd_values_error(self.label) from None
            return codes, distinct.tolist()
        return _series_levels(self._values)

    def require_plain(self, distinct: list[Any]) -> None:
        """Raise TypeError when there is anything but texts, numbers and booleans."""
        if not all(isinstance(value, str | int | float | np.generic) for value in distinct):
            raise _odd_values_error(self.label)

    def _require_flat(self) -> None:
        dtype = self._values.dtype
        if isinstance(dtype, nw.dtypes.DType) and dtype.is_nested():
            raise _odd_values_error(self.label)
        if dtype.kind in "mM" if isinstance(dtype, np.dtype) else dtype.is_temporal():
            raise SchemaError(
                f"column {self.label}: dates and times are not supported; convert them to numbers "
                "counted from a public date, or to categories such as the weekday"
            )


def as_column(y: Any, label: str = "y") -> Column:
    """Wrap a series, list or array of one value a record; SchemaError when it has more."""
    if nw.dependencies.is_into_series(y):
        return Column(nw.from_native(y, series_only=True), label)
    if nw.dependencies.is_into_dataframe(y):
        table = nw.from_native(y, eager_only=True)
        if table.shape[1] == 1:
            return Column(table[:, 0], label)
        raise SchemaError(f"{label}: expected one column, got {table.shape[1]}")
    if y is None or isinstance(y, str) or issparse(y):
        raise SchemaError(f"{label}: expected a list, array or series with one value a record")
    array = as_array(y, label)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise SchemaError(f"{label} should be a 1d array, got an array of {array.ndim} dimensions")
    return Column(array, label)


def as_array(data: Any, label: str) -> Array:
    """Return an array that keeps numbers and texts apart; refuse bytes and complex numbers."""
    try:
        array = np.asarray(data)
        if array.dtype.kind in "US" and not isinstance(data, np.ndarray):
            # NumPy turned a mixture of numbers and texts into texts; keep the numbers.
            array = np.asarray(data, dtype=object)
    except ValueError:
        raise ValueError(
            f"{label}: expected rows of the same number of plain values; a list has rows of "
            "different lengths, or lists within a row"
        ) from None
    if array.dtype.kind == "c":
        raise _complex_error()
    if array.dtype.kind in "SV":
        raise TypeError(
            f"{label}: arrays of bytes and structured arrays are not supported; "
            "pass texts, numbers or a data frame"
        )
    return array


def _complex_error() -> ValueError:
    """Return the error for complex numbers, worded as scikit-learn words it."""
    return ValueError("Complex data not supported: pass real numbers")


def _odd_values_error(label: str) -> TypeError:
    """Return the error for values that are neither texts nor numbers."""
    return TypeError(
        f"column {label}: argument must be a string or a number; dates, lists, dictionaries and "
        "other objects are not supported: convert them"
    )


def _numbers_from_objects(array: Array, label: str) -> NDArray[np.float64]:
    if array.dtype.kind == "O":
        plain = [np.nan if is_missing(value) else value for value in array]
        if any(isinstance(value, list | tuple | dict | np.ndarray) for value in plain):
            raise _odd_values_error(label)
        array = np.array(plain, dtype=object)
    try:
        return array.astype(np.float64)
    except ValueError:
        # The original message quotes a private value, so it is not passed on.
        raise SchemaError(
            f"column {label}: the schema says numeric, but it holds texts that are no numbers; "
            "mark missing values as empty (NaN, None), or declare the feature categorical"
        ) from None
    except TypeError:
        raise _odd_values_error(label) from None


def _array_levels(array: Array, label: str) -> tuple[NDArray[np.int64], list[Any]]:
    seen: dict[Any, int] = {}
    try:
        codes = np.array([seen.setdefault(v, len(seen)) for v in array.tolist()], dtype=np.int64)
    except TypeError:
        raise _odd_values_error(label) from None
    present = np.array([not is_missing(value) for value in seen], dtype=bool)
    renumbered = np.where(present, np.cumsum(present) - 1, -1)
    return np.take(renumbered, codes), [value for value in seen if not is_missing(value)]


def _series_levels(series: nw.Series[Any]) -> tuple[NDArray[np.int64], list[Any]]:
    if not isinstance(series.dtype, nw.Boolean):
        series = series.cast(nw.String)
    distinct = [value for value in series.unique().to_list() if value is not None]
    if not distinct:
        return np.full(len(series), -1), []
    positions = list(range(len(distinct)))
    codes = series.replace_strict(distinct, positions, default=-1, return_dtype=nw.Int64)
    return codes.to_numpy().astype(np.int64), distinct
