"""How released leaves vote: each rule turns leaf counts into a table one only has to add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values

Voting = Literal["majority", "averaging", "probabilistic", "weighted", "most_confident"]
VOTING: tuple[str, ...] = get_args(Voting)


# What is added to every count before its logarithm is taken; chosen on training records of nine
# data sets (docs/privacy/matrix.md).
EXTRA_RECORDS = 0.5
EXTRA_DEVIATIONS = 0.25
EXTRA_DEVIATIONS_OF_TOTALS = 2.0
PRIOR_TAKEN_BACK = 0.75
LEANING = 3.0

TINY_VARIANCE = 1e-12  # of exact totals, which then weigh alike


def class_shares(counts: Values, rng: np.random.Generator) -> Values:
    """The shares of the classes in each leaf (theta in Bojarski et al.).

    Noisy counts below zero count as zero; a leaf with nothing left has seen no record that could
    tell, and its shares are drawn uniformly, as the paper does.

    Parameters
    ----------
    counts : ndarray of float64, shape (n_leaves, n_classes)
        Released counts.
    rng : numpy.random.Generator
        The public stream, for empty leaves.
    """
    clipped: Values = np.clip(counts, 0.0, None)
    empty = clipped.sum(axis=1) == 0.0
    # Exponential draws, once divided by their sum, are uniform among all shares.
    clipped[empty] = rng.standard_exponential((empty.sum(), counts.shape[1]))
    clipped /= clipped.sum(axis=1, keepdims=True)
    return clipped


def leaf_votes(counts: Values, voting: Voting, rng: np.random.Generator) -> Values:
    """What each leaf adds to the votes of a record that falls into it.

    - ``"majority"``: one vote for the leaf's largest class;
    - ``"averaging"``, ``"probabilistic"``, ``"most_confident"``: the shares of the classes;
    - ``"weighted"``: the counts themselves, so that full leaves weigh more.
    """
    if voting == "weighted":
        return counts
    shares = class_shares(counts, rng)
    if voting == "majority":
        return np.asarray(np.eye(counts.shape[1])[shares.argmax(axis=1)])
    return shares


@dataclass(frozen=True)
class Prior:
    """The classes' shares among all records, and how many forests speak of them.

    Each of q forests over features of its own speaks for the classes by what it knows, and for the
    frequent ones once more: a product of q shares has the prior q times, where once is right if
    the forests are independent. They are not quite, so three quarters of the excess are taken back.

    Parameters
    ----------
    shares : ndarray, shape (n_classes,)
    n_forests : int
    """

    shares: Values
    n_forests: int

    @property
    def excess(self) -> float:
        """How much of the prior a forest is to take back."""
        return PRIOR_TAKEN_BACK * (1 - 1 / self.n_forests)


def pooled_prior(totals: Values, deviations: Values) -> Prior:
    """The prior by what each of several forests knows of all records, and by its noise.

    Parameters
    ----------
    totals : ndarray, shape (n_forests, n_classes)
    deviations : ndarray, shape (n_forests,)

    Examples
    --------
    >>> pooled_prior(np.array([[90.0, 10.0], [60.0, 40.0]]), np.array([1.0, 9.0])).shares.round(2)
    array([0.88, 0.12])
    """
    precision = 1 / np.maximum(np.square(deviations), TINY_VARIANCE)
    pooled = np.average(totals, axis=0, weights=precision)
    extra = EXTRA_RECORDS + EXTRA_DEVIATIONS_OF_TOTALS * precision.sum() ** -0.5
    raised = np.clip(pooled, 0.0, None) + extra
    return Prior(raised / raised.sum(), len(totals))


def log_shares(
    counts: Values, deviations: Values, n_leaves: int = 1, prior: Prior | None = None
) -> Values:
    """The logarithms of the classes' shares, drawn together where the counts are noisy.

    Counts below zero count as zero. To each a half record is added and a quarter of the noise's
    standard deviation: noise alone cannot speak loudly, a large and pure leaf can. Added up over
    leaves this is a product of shares: one leaf that excludes a class outweighs many that waver.
    With a `Prior`, what a leaf of the same size says by the prior alone is taken back in part.

    Parameters
    ----------
    counts : ndarray of float64, shape (n, n_classes)
        Released counts, each of one leaf or added up over several.
    deviations : ndarray of float64, shape (n,)
        Of the noise in each row.
    n_leaves : int
        The leaves added up in a row.
    prior : Prior, optional

    Examples
    --------
    The same counts, exact and with much noise:

    >>> counts = np.array([[30.0, 2.0], [30.0, 2.0]])
    >>> np.exp(log_shares(counts, np.array([0.0, 40.0]))).round(2).tolist()
    [[0.92, 0.08], [0.76, 0.24]]
    """
    extra = (EXTRA_RECORDS * n_leaves + EXTRA_DEVIATIONS * deviations)[:, None]
    clipped = np.clip(counts, 0.0, None)
    records = clipped.sum(axis=1, keepdims=True)
    total = records + counts.shape[1] * extra
    votes = np.log((clipped + extra) / total)
    if prior is not None:
        votes -= prior.excess * np.log((records * prior.shares + extra) / total)
    return np.asarray(votes)


def lean_to_prior(votes: Values, deviations: Values, prior: Values) -> Values:
    """Labels of leaves, added up, with more votes for frequent classes where noise is large.

    Labels, unlike counts, know nothing of how frequent the classes are. The votes that are added
    are in proportion to the prior and to the noise: what noise could not tell is left to it.

    Parameters
    ----------
    votes : ndarray, shape (n, n_classes)
    deviations : ndarray, shape (n,)
        Of the noise in each row.
    prior : ndarray, shape (n_classes,)
        The shares of the classes.
    """
    return votes + LEANING * deviations[:, None] * len(prior) * prior


def mean_shares(log_votes: Values, n_voters: int) -> Values:
    """Added-up `log_shares` as probabilities: the geometric mean of the shares."""
    mean = log_votes / n_voters
    shares = np.exp(mean - mean.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def normalise(votes: Values) -> Values:
    """Votes as probabilities; all classes alike where no vote is left."""
    clipped = np.clip(votes, 0.0, None)
    total = clipped.sum(axis=1, keepdims=True)
    alike = np.full_like(clipped, 1.0 / clipped.shape[1])
    np.divide(clipped, total, out=alike, where=total > 0)
    return alike


def draw_classes(probabilities: Values, coins: Values) -> NDArray[np.int64]:
    """One class a row, drawn with the row's probabilities (probabilistic averaging)."""
    below = (np.cumsum(probabilities, axis=1) <= coins[:, None]).sum(axis=1)
    return np.asarray(np.minimum(below, probabilities.shape[1] - 1))


def coins_of_rows(bins: NDArray[np.uint8], key: int) -> Values:
    """A number from 0 to 1 for each row, as if drawn: it follows from the row and the key alone.

    Whatever other rows are asked about in the same call. The mixing is that of splitmix64.

    Examples
    --------
    >>> bins = np.array([[1, 2], [2, 1], [1, 2]], np.uint8)
    >>> coins_of_rows(bins, 7).round(2).tolist()
    [0.56, 0.39, 0.56]
    """
    mixed = np.full(len(bins), key, np.uint64)
    for column in bins.T:
        mixed = mixed + column + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return np.asarray((mixed >> np.uint64(11)) * 2.0**-53)
