"""A model as other programs have to know it: bins, trees, what leaves add, and what follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.schema.categories import Category
from dpforest.tables.encode import Encoding
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.structure import Forest

Link = Literal["logistic", "clipped_logistic", "softmax", "shares", "number", "interval"]
"""How added-up leaf values become the answer.

- ``"logistic"``: p = 1 / (1 + exp(-score)) is the probability of the second class;
- ``"clipped_logistic"``: the same p, then 0.5 / (1.5 - p) above one half, else 1 - 0.5 / (0.5 + p);
- ``"softmax"``: exp(score) of each class, divided by their sum;
- ``"shares"``: what is above 0, divided by its sum; all classes alike where nothing is;
- ``"number"``: center + scale * score, held within the bounds;
- ``"interval"``: the same of three scores, each with its center and scale, put in order: the lower
  end, the middle, the upper end.
"""


@dataclass(frozen=True)
class Described:
    """All that predictions need.

    Parameters
    ----------
    encoding : Encoding
    trees : ObliviousTrees or Forest
    leaves : ndarray, shape (n_leaves, n_outputs), or (n_trees, n_outputs, n_leaves) if oblivious
        What each leaf adds.
    link : str
    classes : tuple or None
        The classes, in the order of the outputs (one output for two, with a logistic link).
    center, scale : float, or ndarray of float64, shape (n_outputs,)
    bounds : tuple of float or None
        Of numbers.
    class_weights : ndarray of float64, shape (n_classes,), or None
        By which probabilities are multiplied in the end, and divided by their sum.
    """

    encoding: Encoding
    trees: ObliviousTrees | Forest
    leaves: Values | NDArray[np.float32]
    link: Link
    classes: tuple[Category, ...] | None = None
    center: float | Values = 0.0
    scale: float | Values = 1.0
    bounds: tuple[float, float] | None = None
    class_weights: Values | None = None
