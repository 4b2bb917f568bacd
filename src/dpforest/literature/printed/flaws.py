"""Parts of greedy forests just as some papers print them, for research: none of it is private.

Each flaw has a name and a reason, which are written into the ledger before it follows the
print. ``docs/privacy/greedy.md`` has two tables for each on which it loses more than it says, and
``tests/audit/test_published_greedy.py`` finds such tables in whole forests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Integers
from dpforest.forests.parameters import check_choice
from dpforest.literature.printed.tree_errors import ErrorsWithout
from dpforest.privacy.mechanisms.scores import STEP
from dpforest.records.statistics import Statistic
from dpforest.trees.structure import Forest

Flaw = Literal[
    "bootstrap", "pure_stop", "gain_ratio", "selective_aggregation", "misclassified_weights"
]
NEEDS: dict[Flaw, dict[str, object]] = {
    "bootstrap": {"sampling": "shared"},
    "pure_stop": {},
    "gain_ratio": {
        "splits": "multiway",
        "criterion": "information_gain",
        "selection": "exponential",
        "stopping": None,
    },
    "selective_aggregation": {},
    "misclassified_weights": {"sampling": "shared"},
}
"""What the print of a flaw takes for granted."""

REASONS: dict[Flaw, str] = {
    "bootstrap": (
        "as published: a tree draws as many records as there are with replacement, so that one "
        "record counts several times, and pays as if it counted once"
    ),
    "pure_stop": (
        "as published: a node whose records are all of one class stops, which reads the records "
        "for free"
    ),
    "gain_ratio": (
        "as published: nodes choose by gain ratio, which one record changes by more than the "
        "sensitivity of information gain allows for"
    ),
    "selective_aggregation": (
        "as published: trees are dropped by their exact error on the records, which is not paid for"
    ),
    "misclassified_weights": (
        "as published: a record's weight in the second phase is divided by the sum of the weights "
        "of all records, and with replacement it counts several times"
    ),
}


def gain_ratio_utilities(histograms: Integers) -> Integers:
    """Half the information gain and half the gain ratio (Hou et al. 2019), times the records.

    Parameters
    ----------
    histograms : ndarray of int64, shape (nodes, candidates, bins, classes)

    Returns
    -------
    ndarray of int64, shape (nodes, candidates)
        In steps, as `dpforest.privacy.mechanisms.scores` counts; a ratio of 0 / 0 is 0.

    Examples
    --------
    Four records, told apart by their bin: the gain and the ratio are 1 each.

    >>> gain_ratio_utilities(np.array([[[[2, 0], [0, 2]]]])) // STEP
    array([[4]])
    """
    n = histograms.sum(axis=(2, 3))
    of_bins = _powers(histograms.sum(axis=3)).sum(axis=2)
    of_classes = _powers(histograms.sum(axis=2)).sum(axis=2)
    gain = _powers(histograms).sum(axis=(2, 3)) - of_bins - of_classes + _powers(n)
    information = _powers(n) - of_bins
    ratio = np.divide(gain, information, out=np.zeros_like(gain), where=information > 0)
    return np.asarray(np.rint(STEP * (gain + n * ratio) / 2), np.int64)


def _powers(counts: Integers) -> NDArray[np.float64]:
    """The numbers m log2 m."""
    return np.asarray(counts * np.log2(np.maximum(counts, 1)))


def are_pure(histograms: Integers) -> NDArray[np.bool_]:
    """Whether all records of a node, if any, are of one class, shape (nodes,)."""
    classes = histograms[:, 0].sum(axis=1)
    return np.asarray(classes.max(axis=1) == classes.sum(axis=1))


def selected_trees(
    total: Callable[[Statistic], Integers], forest: Forest, votes: NDArray[np.float64]
) -> NDArray[np.int64]:
    """The trees that selective aggregation keeps (Guan et al. 2020), by exact errors.

    Again and again the tree without which the others err least is dropped, and of all that was
    left after a round, the best is kept; the first in case of a tie.
    """
    left = np.arange(forest.n_trees)
    best, fewest = left, np.inf
    while len(left) > 1:
        errors = total(ErrorsWithout(forest, votes, left))
        worst = int(errors.argmin())
        left = np.delete(left, worst)
        if errors[worst] < fewest:
            best, fewest = left, errors[worst]
    return best


def check_flaws(forest: Any) -> None:
    """Refuse flaws that nobody printed, and settings that their print does not have."""
    for flaw in forest.flaws:
        check_choice("a name in flaws", flaw, tuple(NEEDS))
        for name, value in NEEDS[flaw].items():
            if getattr(forest, name) != value:
                raise ValueError(f"flaws={flaw!r} is printed with {name}={value!r}: set it")
    weighted = "misclassified_weights" in forest.flaws
    if weighted and not forest.second_phase:
        raise ValueError("flaws='misclassified_weights' is about a second phase: give its share")
    if forest.second_phase and "bootstrap" in forest.flaws and not weighted:
        raise ValueError(
            "bootstrap samples in two phases are TpDPRF: add 'misclassified_weights' to flaws"
        )
