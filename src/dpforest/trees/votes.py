"""How released leaves vote: each rule turns leaf counts into a table one only has to add up."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Voting = Literal["majority", "averaging", "probabilistic", "weighted", "most_confident"]
VOTING: tuple[str, ...] = get_args(Voting)

Values = NDArray[np.float64]


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


def normalise(votes: Values) -> Values:
    """Votes as probabilities; all classes alike where no vote is left."""
    clipped = np.clip(votes, 0.0, None)
    total = clipped.sum(axis=1, keepdims=True)
    alike = np.full_like(clipped, 1.0 / clipped.shape[1])
    np.divide(clipped, total, out=alike, where=total > 0)
    return alike


def draw_classes(probabilities: Values, rng: np.random.Generator) -> NDArray[np.int64]:
    """One class a row, drawn with the row's probabilities (probabilistic averaging)."""
    thresholds = rng.random((len(probabilities), 1))
    below = (np.cumsum(probabilities, axis=1) <= thresholds).sum(axis=1)
    return np.asarray(np.minimum(below, probabilities.shape[1] - 1))
