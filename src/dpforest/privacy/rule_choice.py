"""The choice of one rule for all records, how often it is right, and whether any rule would do."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Integers
from dpforest.privacy.accounts.spends import Price
from dpforest.privacy.counts import noisy_counts, pay_for_counts
from dpforest.privacy.desk import Desk, Released
from dpforest.privacy.monotone_choice import pay_for_choice
from dpforest.records.scale_counts import RuleCounts, ScaleCounts
from dpforest.trees.scales import Scales

MEASURE = 1 << 40  # of all rules together, in the whole numbers of the mechanism


class Rule(NamedTuple):
    """Records up to the cut of a scale are of one class, those above of another.

    A rule on the first scale has one class for all, and no cut.
    """

    scale: int
    cut: int
    below: int
    above: int


class Allowed(NamedTuple):
    """The errors that a rule may have: public numbers, or released ones.

    At most so many, and so many fewer than the best class for all.
    """

    most: float
    fewer: float


def choose_rule(desk: Desk, scales: Scales, n_classes: int, price: Price) -> Rule:
    """The rule that is right for most records, by the exponential mechanism.

    The scales are public or follow from what was released. The utility of a rule is the number of
    records that it is right for: a record more adds 0 or 1 to each.
    """
    paid = pay_for_choice(desk, "choice of a rule", price, sensitivity=1)
    rules, utilities, weights = rules_of(scales, desk.total(ScaleCounts(scales, n_classes)))
    chosen = paid.make(desk, utilities, weights)
    return Rule(*(int(part[chosen]) for part in rules))


def count_right(desk: Desk, scales: Scales, n_classes: int, rule: Rule, price: Price) -> Released:
    """The noisy number of records that a released rule is right for, and of the others.

    A record is one or the other, and changes that count by 1.
    """
    halved, labels = scales.halved(rule.scale, rule.cut), (rule.below, rule.above)
    statistic = RuleCounts(halved, labels, n_classes)
    label = "records that the rule is right for, and others"
    return noisy_counts(desk, statistic, price, label, cells=1)


def count_errors_beyond(
    desk: Desk, scales: Scales, n_classes: int, allowed: Allowed, price: Price
) -> Released:
    """`errors_beyond` with noise: at most 0 where some rule has no more errors than are allowed."""
    label = "errors of the best rule beyond those that are allowed"

    def beyond(counts: Integers) -> Fraction:
        return errors_beyond(scales, counts, allowed)

    return _noisy_number(desk, scales, n_classes, beyond, price, label)


def count_errors_saved(
    desk: Desk, scales: Scales, n_classes: int, enough: float, price: Price
) -> Released:
    """`errors_saved` with noise: above 0 where sums save more errors than are enough."""
    label = "errors that sums of features save, beyond what is enough"

    def saved(counts: Integers) -> Fraction:
        return errors_saved(scales, counts) - Fraction(enough)

    return _noisy_number(desk, scales, n_classes, saved, price, label)


def _noisy_number(
    desk: Desk,
    scales: Scales,
    n_classes: int,
    number: Callable[[Integers], Fraction],
    price: Price,
    label: str,
) -> Released:
    """A number of the counts on some scales, which a record changes by at most 1, with noise.

    In whole steps of a grid, rounded down, it changes by at most the steps of 1: that is the
    sensitivity.
    """
    noise, grid = pay_for_counts(desk, label, price, cells=1)
    exact = number(desk.total(ScaleCounts(scales, n_classes)))
    noisy = desk.draws.add_noise(noise, np.array([math.floor(grid * exact)]))
    return Released(noisy / grid, noise.deviation / grid)


def errors_saved(scales: Scales, counts: Integers) -> int:
    """How many errors less the best of all rules makes than the best that is no sum of features.

    A record more adds 0 or 1 to the errors of every rule, so 0 or 1 to the fewest of all rules and
    to the fewest of those that are no sums. Hence the difference changes by at most 1.
    """
    up_to = np.cumsum(counts, axis=1)
    beyond = up_to[:, -1:] - up_to
    # The best rule of a cut takes the most frequent class on either side of it.
    right = (up_to.max(axis=2) + beyond.max(axis=2)).max(axis=1)
    return int(right.max()) - int(right[~scales.is_sum].max())


def errors_beyond(scales: Scales, counts: Integers, allowed: Allowed) -> Fraction:
    """How many more errors the best of all rules has than are allowed.

    A record more adds 0 or 1 to the errors of every rule, so 0 or 1 to the fewest; and 0 or 1 to
    the fewest errors of one class for all, so from 0 to 1 to what is allowed. Hence the difference
    changes by at most 1.
    """
    _, right, _ = rules_of(scales, counts)
    of_classes = counts[0].sum(axis=0)
    n_records = int(of_classes.sum())
    of_one_class = n_records - int(of_classes.max())
    most = min(Fraction(allowed.most), of_one_class - Fraction(allowed.fewer))
    return n_records - int(right.max()) - most


def rules_of(
    scales: Scales, counts: Integers
) -> tuple[tuple[NDArray[np.int64], ...], Integers, Integers]:
    """All rules (scale, cut, below, above), how many records they are right for, their weights."""
    up_to = np.cumsum(counts, axis=1)
    beyond = up_to[:, -1:] - up_to
    right = up_to[:, :, :, None] + beyond[:, :, None, :]
    differ = ~np.eye(counts.shape[2], dtype=np.bool_)
    cuts = np.arange(counts.shape[1]) < scales.n_cells[:, None] - 1
    there = cuts[:, :, None, None] & differ
    # The last cell of the first scale has all records below: a rule for each class.
    there[0, -1] = np.eye(counts.shape[2], dtype=np.bool_)
    rules = np.nonzero(there)
    each = scales.measure / np.maximum(there.sum(axis=(1, 2, 3)), 1)
    weights = np.maximum(np.floor(MEASURE * each[rules[0]]), 1).astype(np.int64)
    return rules, right[there], weights
