"""The choice of what trees ask: a question, or the questions of a whole tree."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpforest.arrays import Integers
from dpforest.losses import IntegerLoss
from dpforest.privacy.accounts.bounded_range import BoundedRange, bounded_range_for
from dpforest.privacy.accounts.spends import Amount, Branch, Gaussian, Price, Spend
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.selection import selection_rate
from dpforest.records.gradient_sums import GradientHistograms, GradientSums
from dpforest.trees.oblivious import ObliviousTrees


class QuestionChoices:
    """So many choices among questions, by the exponential mechanism, paid for at once.

    The candidates, the clip and the scores depend on what was released before. The utility of a
    question is the length, rounded down, of the difference between the gradients on its two sides;
    that of the questions of a tree is the sum of the lengths, rounded down, of the gradients in its
    leaves. A record is on one side, or in one leaf, and adds integers of L2 norm at most
    ``loss.grid`` there, so it changes one length by at most that; rounding down does not add to it,
    as the grid is a whole number.

    Parameters
    ----------
    desk : Desk
        With records that are binned by feature, and scores.
    loss : IntegerLoss
        Bounded in L2.
    price : Gaussian
        Of one choice. Or `Pure` of infinity, for the best.
    n_choices : int
    label : str
    """

    def __init__(
        self, desk: Desk, loss: IntegerLoss, price: Price, n_choices: int, label: str
    ) -> None:
        if loss.norm != 2:
            raise ValueError("questions are chosen by a loss bounded in L2")
        sensitivity = loss.grid * desk.steps
        self._desk, self._loss, self._left = desk, loss, n_choices
        self._rate = rate_for(price, sensitivity)
        made = BoundedRange(self._rate, sensitivity)
        spend = Spend.of("choice of a question", "exponential mechanism", made)
        desk.ledger.debit(Branch(label, "sequential", (spend,), times=n_choices))

    def choose(self, candidates: ObliviousTrees, part: float = 1.0) -> int:
        """The number of the chosen one of some trees of one depth; of depth 1, of questions.

        ``part`` is that of the clip of gradients. Whatever the clip is, it fills the grid.
        """
        if not self._left:
            raise ValueError("all choices that were paid for have been made")
        self._left -= 1
        loss = replace(self._loss, clip=part * self._loss.clip)
        if candidates.feature.shape[1] == 1:
            n_features = int(candidates.feature.max()) + 1
            histograms = self._desk.total(GradientHistograms(n_features, loss))
            utilities = contrasts(candidates, histograms[..., 0])
        else:
            sums = self._desk.total(GradientSums(candidates, loss))
            utilities = lengths(sums[..., 0]).sum(axis=1)
        return int(self._desk.draws.exponential_at(utilities, self._rate))


def rate_for(price: Price, sensitivity: int) -> Amount:
    """The rate at which a choice costs at most the price; infinite where nothing is private.

    Examples
    --------
    >>> round(float(rate_for(Gaussian(0.0626), 5)), 6)
    0.00999
    """
    if isinstance(price, Gaussian) and not math.isinf(price.mu):
        return selection_rate(bounded_range_for(price.mu), sensitivity, monotone=False)
    if isinstance(price, Gaussian) or math.isinf(price.epsilon):
        return math.inf
    raise ValueError("a choice of questions has a Gaussian price")


def contrasts(candidates: ObliviousTrees, histograms: Integers) -> Integers:
    """The length of the difference between the two sides of each question, rounded down.

    Parameters
    ----------
    candidates : ObliviousTrees
        Of depth 1.
    histograms : ndarray of int64, shape (n_features, 256, n_outputs)

    Examples
    --------
    >>> right = np.zeros((1, 1, 256), np.bool_)
    >>> right[0, 0, 1] = True
    >>> question = ObliviousTrees(np.zeros((1, 1), np.int32), right, np.ones(1, np.int32))
    >>> totals = np.zeros((1, 256, 2), np.int64)
    >>> totals[0, :2] = [[5, 1], [1, -3]]
    >>> contrasts(question, totals).tolist()
    [5]
    """
    feature, right = candidates.feature[:, 0], candidates.goes_right[:, 0]
    difference = np.empty((len(feature), histograms.shape[2]), np.int64)
    for j in np.unique(feature):
        asks = feature == j
        difference[asks] = np.where(right[asks], 1, -1) @ histograms[j]
    return lengths(difference)


def lengths(sums: Integers) -> Integers:
    """The lengths, rounded down, of the vectors along the last axis.

    Examples
    --------
    >>> lengths(np.array([[[3, 4], [1, -1]]])).tolist()
    [[5, 1]]
    """
    # Python's whole numbers: squares of sums would not fit 64 bits.
    squares = (sums.astype(object) ** 2).sum(axis=-1)
    return np.array([math.isqrt(square) for square in squares.ravel()], np.int64).reshape(
        squares.shape
    )
