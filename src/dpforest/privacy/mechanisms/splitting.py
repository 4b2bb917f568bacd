"""Private choices of splits from the exact histograms of nodes: only the desk calls these.

Everything is proved for one added record, at the epsilon of one such step;
``docs/privacy/median.md`` has the arguments in full.

**Balance.** A cut with l of a node's n records on its left has the utility -abs(2 l - n). An added
record changes it by 1, up or down: sensitivity 1, not monotone.

**Error.** Let t be the target vector of a record: ``step`` times the unit vector of its class, or
the target as a whole number of steps. A split with the sums S and the counts n of its two sides
leaves the sum of squared errors E = sum |t|^2 - sum over sides |S|^2 / n. A record added to a side
of n records raises E by n / (n + 1) |t - mean|^2, so by something between 0 and
D = max |t - t'|^2: minus E is monotone, of sensitivity D (2 step^2 for classes, steps^2 for
numbers). The sum of |t|^2 is the same whole number for all splits of a node and cancels in every
choice. What is left is rounded down, a side at a time: rounding down keeps the order, and what
changes by at most the whole number D still does so. An empty side has no error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Integers
from dpforest.privacy.accounts.spends import Amount
from dpforest.privacy.mechanisms import split_kernels
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.trees.level_grower import SplitChoice, SplitQuestion

Answer = tuple[Integers, Integers]

CLASS_STEP = 32  # the target vector of a class has this length: errors are counted in 1 / 1024
# What an unbalanced record weighs next to a misplaced one, in a joint draw.
BALANCE = Fraction(1, 8)
CUT_SHARE = Fraction(1, 2)  # of the epsilon of a node, for its cut; the rest chooses the feature
NO_CANDIDATE = -(1 << 60)
FEATURE_WEIGHT = 1 << 30  # of each feature in a joint draw, shared by its options


@dataclass(frozen=True)
class NodeSplits:
    """The exact effect of every option of some nodes.

    Parameters
    ----------
    left : ndarray of int64, shape (nodes, candidates, options, numbers)
        Class counts, or records and summed targets, on the left of each option.
    total : ndarray of int64, shape (nodes, candidates, 1, numbers)
        The same of the whole node.
    weights : ndarray of int64, shape (nodes, candidates, options)
        The public weights; 0 for no option.
    steps : int
        Of the range of the target; 0 for classes.
    """

    left: Integers
    total: Integers
    weights: Integers
    steps: int

    @classmethod
    def of(
        cls, histograms: Integers, question: SplitQuestion, rows: slice, steps: int
    ) -> NodeSplits:
        """Add up the histograms of some nodes of a question along the order of their bins."""
        left = np.zeros_like(histograms)
        total = np.zeros_like(histograms[:, :, :1])
        split_kernels.add_up(
            histograms,
            question.features[rows],
            question.order,
            question.bins.n_values,
            question.missing_first,
            question.one_vs_rest,
            left,
            total,
        )
        return cls(left, total, question.weights(rows), steps)

    @property
    def sensitivity(self) -> int:
        """D: the most that an added record changes a sum of squared errors."""
        return self.steps**2 or 2 * CLASS_STEP**2

    @property
    def has_options(self) -> NDArray[np.bool_]:
        """Whether a candidate can be split at all, shape (nodes, candidates): a public fact."""
        return np.asarray((self.weights > 0).any(axis=2))

    def sizes(self) -> tuple[Integers, Integers]:
        """The records on the left of every option, and those of the node."""
        if self.steps:
            return self.left[..., 0], self.total[..., 0]
        return self.left.sum(axis=-1), self.total.sum(axis=-1)

    def balance(self) -> Integers:
        """The utility of balance of every option."""
        left, total = self.sizes()
        return np.asarray(-np.abs(2 * left - total))

    def error(self, option: Integers | None = None) -> Integers:
        """The utility of error of every option, or of one for each candidate."""
        left = self.left
        if option is not None:
            left = np.take_along_axis(left, option[..., np.newaxis, np.newaxis], axis=2)
        utility = squares_over_size(left, self.steps)
        utility += squares_over_size(self.total - left, self.steps)
        return utility if option is None else utility[..., 0]


def squares_over_size(numbers: Integers, steps: int) -> Integers:
    """|S|^2 / n of a side, rounded down, without overflow up to 2**28 records.

    Examples
    --------
    >>> squares_over_size(np.array([[3, 1]]), steps=0).tolist()  # 32^2 (9 + 1) / 4
    [2560]
    """
    rows = np.ascontiguousarray(numbers).reshape(-1, numbers.shape[-1])
    out = np.empty(len(rows), np.int64)
    split_kernels.squares_over_size(rows, 0 if steps else CLASS_STEP, out)
    return out.reshape(numbers.shape[:-1])


def median_cut(splits: NodeSplits, epsilon: Amount, draws: Draws) -> Integers:
    """The private median cut of every candidate of every node.

    The exponential mechanism with the utility of balance over the public options, each weighted by
    its length: a choice costs epsilon, those of one node add up, and those of different nodes
    of a tree, which share no record, do not.

    Returns
    -------
    ndarray of int64, shape (nodes, candidates)
    """
    weights = splits.weights.copy()
    weights[~splits.has_options, 0] = 1  # a candidate that is none needs no care
    return draws.exponential(
        splits.balance(), epsilon=epsilon, sensitivity=1, monotone=False, weights=weights
    )


def choose_splits(splits: NodeSplits, choice: SplitChoice, epsilon: Amount, draws: Draws) -> Answer:
    """The candidate and the option of every node, for epsilon a node.

    - ``"pay"``: a median cut for each of K candidates at epsilon / (2 K), then permute-and-flip
      among them by error at epsilon / 2. K choices of one node add up.
    - ``"attribute"``: permute-and-flip among the candidates by the error of their best option, at
      epsilon / 2 (the best of monotone utilities of sensitivity D is one itself); then one
      median cut, of the chosen candidate, at epsilon / 2.
    - ``"joint"``: one exponential mechanism over all options of all candidates, by the error plus
      D / 8 for every record on the larger side. Adding a record raises the larger side by 0
      or 1, so the sum is monotone, of sensitivity 9 D / 8.
    """
    if choice == "joint":
        return _one_draw(splits, epsilon, draws)
    for_cut = epsilon if math.isinf(epsilon) else CUT_SHARE * Fraction(epsilon)
    for_attribute = epsilon if math.isinf(epsilon) else Fraction(epsilon) - for_cut
    if choice == "pay":
        each = for_cut if math.isinf(for_cut) else for_cut / splits.weights.shape[1]
        option = median_cut(splits, each, draws)
        candidate = _choose_attribute(splits, splits.error(option), for_attribute, draws)
        return candidate, np.take_along_axis(option, candidate[:, np.newaxis], axis=1)[:, 0]
    best = np.where(splits.weights > 0, splits.error(), NO_CANDIDATE).max(axis=2)
    candidate = _choose_attribute(splits, best, for_attribute, draws)
    return candidate, median_cut(_only(splits, candidate), for_cut, draws)[:, 0]


def _choose_attribute(
    splits: NodeSplits, utility: Integers, epsilon: Amount, draws: Draws
) -> Integers:
    return draws.permute_and_flip(
        np.where(splits.has_options, utility, NO_CANDIDATE),
        epsilon=epsilon,
        sensitivity=splits.sensitivity,
        monotone=True,
    )


def _one_draw(splits: NodeSplits, epsilon: Amount, draws: Draws) -> Answer:
    left, total = splits.sizes()
    penalty = int(BALANCE * splits.sensitivity)
    utility = splits.error() - penalty * np.maximum(left, total - left)
    weights = splits.weights
    weights = weights * (FEATURE_WEIGHT // np.maximum(weights.sum(axis=2, keepdims=True), 1))
    n_nodes, _, n_options = weights.shape
    chosen = draws.exponential(
        utility.reshape(n_nodes, -1),
        epsilon=epsilon,
        sensitivity=splits.sensitivity + penalty,
        monotone=True,
        weights=weights.reshape(n_nodes, -1),
    )
    candidate, option = np.divmod(chosen, n_options)
    return candidate, option


def _only(splits: NodeSplits, candidate: Integers) -> NodeSplits:
    """The same nodes with one candidate each."""
    rows, chosen = np.arange(len(candidate))[:, np.newaxis], candidate[:, np.newaxis]
    return NodeSplits(
        splits.left[rows, chosen],
        splits.total[rows, chosen],
        splits.weights[rows, chosen],
        splits.steps,
    )
