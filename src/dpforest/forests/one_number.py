"""One number for all records, where there is too little signal for a regression.

The place of a target, its width, a line and its bins are many numbers, each with noise of its own;
with very few records for the budget each of them alone is off by more than a regression could tell.
A quantile is one private choice, which needs no bins and no sums; by how many records it is off
follows from the budget, and as a logarithm only from how wide bounds are.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpforest.forests.boosting import BoostedTrees
from dpforest.forests.purse import Purse, part_of
from dpforest.losses.pinball import MEDIAN
from dpforest.privacy.accounts.spends import Price
from dpforest.privacy.desk import Desk
from dpforest.privacy.number_choice import choose_median, choose_quantile
from dpforest.trees.linear import LinearDesign

#: With less signal it is one number: where trees would learn a score, two or three; Gaussian, pure.
MOST_SIGNALS = {1: (45.0, 440.0), 2: (66.0, 1_400.0), 3: (72.0, 2_000.0)}


def most_signal_of_numbers(n_learnt: int, *, pure: bool) -> float:
    """The signal from which on a model is more than one number, or one for each quantile.

    Parameters
    ----------
    n_learnt : int
        Scores that trees would learn: one, or one for each quantile and the median.
    pure : bool
        Whether noise is Laplace.

    Examples
    --------
    >>> most_signal_of_numbers(1, pure=False), most_signal_of_numbers(3, pure=True)
    (45.0, 2000.0)
    """
    return MOST_SIGNALS[n_learnt][pure]


def is_for_one_number(purse: Purse, n_records: float, n_learnt: int) -> bool:
    """Whether a number tells more than a line or trees.

    Examples
    --------
    >>> [is_for_one_number(Purse(1.0, 1e-6), n_records, 1) for n_records in (50.0, 500.0)]
    [True, False]
    """
    most = most_signal_of_numbers(n_learnt, pure=purse.pure)
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
    found = [
        choose_median(desk, *bounds, each)
        if quantile == MEDIAN
        else choose_quantile(desk, *bounds, quantile, each)
        for quantile in quantiles
    ]
    return tuple(sorted(found))


def flat(design: LinearDesign, n_bins: np.ndarray, n_outputs: int) -> BoostedTrees:
    """A linear model whose weights are all 0."""
    trees, values = design.as_trees(np.zeros((n_outputs, design.n_weights)), n_bins)
    return BoostedTrees(trees, values.astype(np.float32))
