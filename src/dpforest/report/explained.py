"""What explanations read of a released model: trees that add up, over bins of known shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.report.law import Law
from dpforest.trees.structure import Forest


@dataclass(frozen=True)
class Explained:
    """A released model as the explanations see it.

    Parameters
    ----------
    names : tuple of str
        The features.
    forest : Forest
        Trees whose leaves add up to the scores.
    table : ndarray of float64, shape (n_leaves, n_outputs)
        What each leaf adds.
    law : Law
        How records spread over bins, missing and unseen included.
    null : ndarray of float64, shape (n_leaves, n_runs), or None
        What leaves would add if there was nothing to learn, in one output; None where nobody knows,
        and all that is known is that trees have noise of their own.
    chosen_once : bool, default=False
        Whether it is, or begins with, a single choice, of which none tells what chance does.
    """

    names: tuple[str, ...]
    forest: Forest
    table: Values
    law: Law
    null: Values | None
    chosen_once: bool = False


def even_shares(n_bins: NDArray[np.int64], n_values: NDArray[np.int64]) -> tuple[Values, ...]:
    """Shares where nothing is known: even over the bins of values, and none are missing.

    Examples
    --------
    >>> even_shares(np.array([3]), np.array([2]))
    (array([0.5, 0.5, 0. ]),)
    """
    return tuple(
        np.where(np.arange(n) < v, 1.0 / v, 0.0) for n, v in zip(n_bins, n_values, strict=True)
    )
