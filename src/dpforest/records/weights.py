"""Sample weights: a number of each record, read in the unit of a declared bound.

A weight is data like any other. What it does to a total is bounded by its largest value, which must
therefore be public: ``bound``, as bounds of features are. A weight counts as ``min(weight, bound) /
bound``, from 0 to 1, so a record adds no more than it would without weights; every sensitivity
stays what it was, and so does the noise. That is a function of the weight and the bound alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.tables.frames import as_column


class Weights(NamedTuple):
    """The weight of each record, in a source the name of their column, and their public bound."""

    sample_weight: Any
    bound: float


def read_weights(sample_weight: Any, n_rows: int, bound: float) -> NDArray[np.float64]:
    """The weight of each record in units of the bound, from 0 to 1; above it counts as the bound.

    Missing, infinite and negative weights are refused, whichever record has one.

    Examples
    --------
    >>> read_weights([0, 1, 2.5, 40], 4, bound=5.0).tolist()
    [0.0, 0.2, 0.5, 1.0]
    """
    weights = as_column(sample_weight, "sample_weight").numbers().astype(np.float64)
    if len(weights) != n_rows:
        raise SchemaError(
            "sample_weight must have one number a row of X: they have different lengths"
        )
    # No comparison with NaN holds.
    if not ((weights >= 0) & (weights < np.inf)).all():
        raise SchemaError(
            "sample_weight has missing, infinite or negative entries: give every record a number "
            "from 0 up"
        )
    return np.asarray(np.minimum(weights, bound) / bound)
