"""Splits and leaves just as some papers print them, for research: none of it is private.

Consul and Williamson (DiPriMe), the thesis (DPRF_thesis) and Fletcher and Islam (2015, 2017) claim
differential privacy for these, and the claims fail for the reasons below, which are written
into the ledger before. They are here to reproduce the papers' figures.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Integers
from dpforest.privacy.accounts.spends import Amount
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.mechanisms.splitting import NO_CANDIDATE, Answer, NodeSplits

Print = Literal["diprime", "thesis"]

SHARED_REASONS = (
    "as published: K medians are computed on the same records and one is kept; that is K releases, "
    "and one was paid for",
    "as published: the error of a split is scaled by the number of records of the node, which is "
    "private",
)
REASONS: dict[Print, tuple[str, ...]] = {
    "diprime": (
        "as published: a cut is drawn evenly between two neighbouring records, whose distance is "
        "private and not bounded",
        *SHARED_REASONS,
    ),
    "thesis": (
        *SHARED_REASONS,
        "as published: the balance of a cut is taken for a monotone score, which it is not",
        "as published: a node stops when it is pure or has fewer than 4 records, which reads the "
        "records for free",
    ),
}
MEAN_REASON = (
    "as published: the noise in the mean of a leaf is scaled by its number of records, which is "
    "private"
)
SMOOTH_REASON = (
    "as published: the smooth sensitivity of the majority in a leaf takes the place of the "
    "sensitivity in the exponential mechanism, which tells how clear the majority is"
)
COUNT_REASON = (
    "as published: the number of trees follows from the number of records, which is private and "
    "was read for free"
)
SMOOTH_STEPS = 1 << 16  # of a utility of 1
LARGEST_EXPONENT = 27.0  # of 1 / smooth sensitivity: as good as certain
FEWEST = 4  # records of a node that the thesis splits
DIPRIME_RATE = Fraction(1, 8)  # of the choice of a feature: epsilon N MSE / (8 B^2), B = 1
THESIS_RATE = Fraction(1, 4)


def printed_splits(splits: NodeSplits, printed: Print, epsilon: Amount, draws: Draws) -> Answer:
    """The candidate and the option of every node by the printed mechanisms; -1 stops a node.

    Half of the epsilon of a level is for the cuts, half for the feature. Where the print
    leaves a choice, ``docs/privacy/median.md`` says which reading was taken.
    """
    half = epsilon if math.isinf(epsilon) else Fraction(epsilon) / 2
    if printed == "diprime":
        option = _between_records(splits, half, draws)
        return _feature_and_option(splits, option, splits.error(option), DIPRIME_RATE, half, draws)
    option = _most_balanced(splits, half, draws)
    # The thesis has the summed error times N where DiPriMe has N times its mean, the sum.
    utility = splits.error(option) * splits.sizes()[1][..., 0]
    candidate, option = _feature_and_option(splits, option, utility, THESIS_RATE, half, draws)
    return np.where(_stops(splits), -1, candidate), option


def _feature_and_option(
    splits: NodeSplits,
    option: Integers,
    utility: Integers,
    rate: Fraction,
    epsilon: Amount,
    draws: Draws,
) -> Answer:
    """A feature of every node, and the cut that it has been given."""
    candidate = draws.exponential(
        np.where(splits.has_options, utility, NO_CANDIDATE),
        epsilon=epsilon if math.isinf(epsilon) else Fraction(epsilon) * rate,
        sensitivity=splits.sensitivity,
        monotone=True,
    )
    return candidate, np.take_along_axis(option, candidate[:, np.newaxis], axis=1)[:, 0]


def _between_records(splits: NodeSplits, epsilon: Amount, draws: Draws) -> Integers:
    """A rank j with weight exp(-epsilon / 2 abs(n - 2 j)), then any cut in its gap, evenly.

    A rank in the middle of a bin, where the public grid has no cut, takes one of the two
    cuts around the bin. Where nothing is left to draw from, the cut is drawn evenly.
    """
    left, total = splits.sizes()
    option = np.empty(left.shape[:2], np.int64)
    for place in np.ndindex(option.shape):
        allowed = np.flatnonzero(splits.weights[place])
        if not len(allowed):
            option[place] = 0
            continue
        n = int(total[place][0])
        ranks = -np.abs(n - 2 * np.arange(n + 1))
        rank = int(draws.exponential(ranks, epsilon=epsilon, sensitivity=1, monotone=False))
        below = left[place][allowed]
        in_gap = allowed[below == rank]
        if not len(in_gap):
            after = int(np.searchsorted(np.sort(below), rank))
            around = np.argsort(below, kind="stable")
            in_gap = allowed[around[max(after - 1, 0) : after + 1]]
        option[place] = in_gap[draws.below(len(in_gap), 1)[0]]
    return option


def _most_balanced(splits: NodeSplits, epsilon: Amount, draws: Draws) -> Integers:
    """A cut with weight exp(-epsilon abs(left - right)): the sign that was meant."""
    weights = splits.weights.copy()
    weights[~splits.has_options, 0] = 1
    return draws.exponential(
        splits.balance(),
        epsilon=epsilon,
        sensitivity=1,
        monotone=True,  # it is not: the thesis says so to its library
        weights=weights,
    )


def _stops(splits: NodeSplits) -> NDArray[np.bool_]:
    """Whether a node is pure or has too few records."""
    size = splits.sizes()[1][:, 0, 0]
    return np.asarray((size < FEWEST) | (splits.total[:, 0, 0].max(axis=1) == size))


def printed_means(totals: Integers, noisy_sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Noisy sums over exact numbers of records; the middle of the range where there are none."""
    size = totals[:, 0]
    return np.where(size > 0, noisy_sums / np.maximum(size, 1), 0.5)


def smooth_labels(counts: Integers, epsilon: Amount, draws: Draws) -> Integers:
    """The labels of leaves by Fletcher and Islam (2017): smooth sensitivity in a private choice.

    The most frequent class has the utility 1, others 0, and the sensitivity is exp(-epsilon j) for
    a lead of j records. Both are divided by it here, so that one rate serves all leaves.

    Parameters
    ----------
    counts : ndarray of int64, shape (n_leaves, n_classes)
        Exact class counts.
    epsilon : Fraction or float
    draws : Draws

    Returns
    -------
    ndarray of int64, shape (n_leaves,)
    """
    ordered = np.sort(counts, axis=1)
    lead = ordered[:, -1:] - ordered[:, -2:-1]
    strength = np.exp(np.minimum(lead * min(float(epsilon), LARGEST_EXPONENT), LARGEST_EXPONENT))
    weight = np.rint(SMOOTH_STEPS * strength).astype(np.int64)
    return draws.exponential(
        np.where(counts == ordered[:, -1:], weight, 0),
        epsilon=epsilon,
        sensitivity=SMOOTH_STEPS,
        monotone=False,
    )
