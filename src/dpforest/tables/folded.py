"""An encoding for contingency tables: every bin is one of values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpforest.tables.encode import Encoding


class FoldedEncoding(Encoding):
    """An encoding without bins of their own for missing values and unseen categories.

    Both share the bin in the middle of a feature's values. A cell more for each of them would
    multiply a product domain, and the noise with it; where they carry meaning, declare a category
    for them.

    Examples
    --------
    >>> from dpforest import NumericFeature, Schema
    >>> schema = Schema((NumericFeature("age", 0, 100),))
    >>> encoding = FoldedEncoding.from_schema(schema, max_bins=3)
    >>> encoding.bins([[99.0], [float("nan")]]).ravel().tolist()
    [2, 1]
    """

    @cached_property
    def n_bins(self) -> NDArray[np.int64]:
        """Those of values."""
        return self.n_values

    def bins(
        self,
        data: Any,
        n_jobs: int | None = None,
        *,
        order: Literal["C", "F"] = "C",
        only: Sequence[int] | None = None,
    ) -> NDArray[np.uint8]:
        """Return the bins of a table, as `Encoding.bins` does."""
        bins = super().bins(data, n_jobs, order=order, only=only)
        for column, n in zip(bins.T, self.n_values, strict=True):
            column[column >= n] = n // 2
        return bins
