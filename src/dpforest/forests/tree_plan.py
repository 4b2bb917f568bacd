"""When the flagship is one greedy tree, or starts from one: public facts and a noisy n."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpforest.trees.oblivious import MAX_DEPTH
from dpforest.trees.scales import sums_of
from dpforest.trees.structure import FeatureBins

LEAST_SIGNAL = 90.0  # records times epsilon; with less a rule tells as much as a tree
TRIAL_NOISE, MOST_OF_TRIAL = 0.03, 0.2  # of the records, if that costs no more of the budget
FINEST_SHARE = 10**6
MOST_COUNTS, MOST_LOOKS = 10**7, 10**8  # that a trial may add up, and take of records on scales
SIGNAL_OF_TWO_LEVELS, PER_LEVEL = 100.0, 2.6  # records times epsilon; how much more for each more
START_SHARE = Fraction(1, 4)  # of the budget for the model, where trees follow


def tree_depth(signal: float) -> int:
    """The levels of a tree for so many records times epsilon.

    Examples
    --------
    >>> [tree_depth(signal) for signal in (50.0, 400.0, 5_000.0, 1e9)]
    [2, 3, 6, 8]
    """
    more = math.log(max(signal, SIGNAL_OF_TWO_LEVELS) / SIGNAL_OF_TWO_LEVELS, PER_LEVEL)
    return min(2 + int(more), MAX_DEPTH)


def sums_trial_share(
    signal: float, n_records: float, bins: FeatureBins, n_classes: int
) -> Fraction:
    """The share of the budget for a trial, whether sums of features tell far more than any feature.

    0 where there are no sums, or a look at all rules takes long.

    Examples
    --------
    >>> bins = FeatureBins(np.full(5, 100), np.full(5, 101), np.zeros(5, np.bool_))
    >>> [sums_trial_share(1_000.0, n_records, bins, 3) for n_records in (1e3, 1e6)]
    [Fraction(1, 30), Fraction(0, 1)]
    """
    n_sums = sums_of(n_classes) if len(bins) > 1 else 0
    n_scales = int(np.where(bins.categorical, bins.n_values, 1).sum()) + n_sums
    n_counts = n_scales * int(bins.n_values.max()) * n_classes
    if not n_sums or n_counts > MOST_COUNTS or n_records * n_scales > MOST_LOOKS:
        return Fraction(0)
    part = min(1.0 / (TRIAL_NOISE * signal), MOST_OF_TRIAL)
    return max(Fraction(part).limit_denominator(FINEST_SHARE), Fraction(1, FINEST_SHARE))
