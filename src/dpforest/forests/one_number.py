"""One number for all records, where there is too little signal for a regression.

The place of a target, its width, a line and its bins are many numbers, each with noise of its own;
with very few records for the budget each of them alone is off by more than a regression could tell.
A quantile is one private choice, which needs no number of records, no bins and no sums; by how many
records it is off follows from the budget, and as a logarithm only from how wide bounds are.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpforest.forests.boosting import BoostedTrees
from dpforest.forests.purse import Purse, part_of
from dpforest.privacy.accounts.spends import Price
from dpforest.privacy.desk import Desk
from dpforest.privacy.number_choice import choose_quantile
from dpforest.trees.linear import LinearDesign

ONE_NUMBER = 40.0  # with less signal, it is one number
PURE_NUMBER = 11.0  # how much more signal there may be where trees have Laplace noise


def is_for_one_number(purse: Purse, n_records: float) -> bool:
    """Whether a number tells more than a line or trees.

    Examples
    --------
    >>> is_for_one_number(Purse(1.0, 1e-6), 50.0), is_for_one_number(Purse(1.0, 1e-6), 500.0)
    (True, False)
    """
    most = ONE_NUMBER * (PURE_NUMBER if purse.pure else 1.0)
    return purse.private and n_records * purse.strength < most


def release_numbers(
    desk: Desk, bounds: tuple[float, float], quantiles: tuple[float, ...], price: Price
) -> tuple[float, ...]:
    """Release some quantiles of the target, for the same part of a price each.

    Parameters
    ----------
    desk : Desk
    bounds : tuple of float
        The declared bounds of the target.
    quantiles : tuple of float
        From the lowest to the highest.
    price : Pure or Gaussian
    """
    each = part_of(price, Fraction(1, len(quantiles)))
    found = [choose_quantile(desk, *bounds, quantile, each) for quantile in quantiles]
    return tuple(sorted(found))


def flat(design: LinearDesign, n_bins: np.ndarray, n_outputs: int) -> BoostedTrees:
    """A linear model whose weights are all 0."""
    trees, values = design.as_trees(np.zeros((n_outputs, design.n_weights)), n_bins)
    return BoostedTrees(trees, values.astype(np.float32))
