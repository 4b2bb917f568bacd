"""The choice of one rule for all records, and how often it is right."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Integers
from dpforest.privacy.accounts.bounded_range import BoundedRange, bounded_range_for
from dpforest.privacy.accounts.mechanisms_used import Selection
from dpforest.privacy.accounts.spends import Gaussian, Price, Spend
from dpforest.privacy.counts import noisy_counts
from dpforest.privacy.desk import Desk, Released
from dpforest.privacy.mechanisms.selection import selection_rate
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


def choose_rule(desk: Desk, scales: Scales, n_classes: int, price: Price) -> Rule:
    """The rule that is right for most records, by the exponential mechanism.

    The scales are public or follow from what was released. The utility of a rule is the number of
    records that it is right for: a record more adds 0 or 1 to each, so it is monotone and its
    sensitivity is 1. Between neighbours that are k records apart, the log ratios of all rules lie
    within an interval of length k times the rate: that is epsilon at a pure price, and the range
    that a Gaussian price is for.
    """
    gaussian, name = isinstance(price, Gaussian), "exponential mechanism"
    epsilon = _epsilon_of(price) / desk.steps
    rate = selection_rate(epsilon, 1, monotone=True)
    # Half of the records between neighbours: the range is the rate times all of them, once.
    ranged, pure = BoundedRange(rate, Fraction(desk.steps, 2)), Selection(name, epsilon, desk.steps)
    desk.ledger.debit(Spend.of("choice of a rule", name, ranged if gaussian else pure))
    rules, utilities, weights = rules_of(scales, desk.total(ScaleCounts(scales, n_classes)))
    if gaussian:
        chosen = desk.draws.exponential_at(utilities, rate, weights)
    else:
        chosen = desk.draws.exponential(
            utilities, epsilon=rate, sensitivity=1, monotone=True, weights=weights
        )
    return Rule(*(int(part[int(chosen)]) for part in rules))


def count_right(desk: Desk, scales: Scales, n_classes: int, rule: Rule, price: Price) -> Released:
    """The noisy number of records that a released rule is right for, and of the others.

    A record is one or the other, and changes that count by 1.
    """
    halved, labels = scales.halved(rule.scale, rule.cut), (rule.below, rule.above)
    statistic = RuleCounts(halved, labels, n_classes)
    label = "records that the rule is right for, and others"
    return noisy_counts(desk, statistic, price, label, cells=1)


def _epsilon_of(price: Price) -> Fraction:
    """The range of log ratios that a price buys."""
    found = bounded_range_for(price.mu) if isinstance(price, Gaussian) else price.epsilon
    return Fraction(found)


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
