"""One rule, where there is too little signal for more; and how sure it may be of itself.

A rule is chosen among thousands by a single private choice, which needs no number of records, no
bins and no sums: what it costs is told by how many rules there are, and that only as a logarithm.
Rules that say one class for all have a good part of the choice's measure, so with less and less
signal the choice goes over to the most frequent class, and never does worse than that by much.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.forests.boosting import BoostedTrees
from dpforest.forests.purse import part_of
from dpforest.forests.rule_plan import FEW_FEATURES
from dpforest.losses.logistic import clipped_score
from dpforest.privacy.accounts.spends import Price
from dpforest.privacy.desk import Desk, Released
from dpforest.privacy.rule_choice import (
    Allowed,
    Rule,
    choose_rule,
    count_errors_beyond,
    count_errors_saved,
    count_right,
)
from dpforest.trees.scales import Scales
from dpforest.trees.structure import FeatureBins

CHOICE_SHARE = Fraction(9, 10)  # of what a rule costs; the rest counts how often it is right
SUREST = 0.99
SELDOM = 0.06  # of the records, that a rule may be wrong for
FEWER = 0.15  # of the records, by which its errors are to be fewer than those of one class
FAR_MORE = 0.07  # of the records, that are told right more
TYPICAL_MARGIN = 0.5  # of a sum, where a single feature has 1


def release_rule(
    desk: Desk,
    bins: FeatureBins,
    shares: tuple[Values | None, ...],
    n_classes: int,
    price: Price,
    rng: np.random.Generator,
) -> BoostedTrees:
    """Release one rule, as trees: one a feature, which together tell a record's margin.

    Parameters
    ----------
    desk : Desk
        With records that are binned.
    bins : FeatureBins
    shares : tuple of arrays or None
        Of the declared range in the bins of numeric features: where they lie in sums.
    n_classes : int
    price : Pure or Gaussian
    rng : numpy.random.Generator
        The public stream that draws candidates.
    """
    scales = Scales.drawn(bins, shares, n_classes, rng)
    rule = choose_rule(desk, scales, n_classes, part_of(price, CHOICE_SHARE))
    found = count_right(desk, scales, n_classes, rule, part_of(price, 1 - CHOICE_SHARE))
    halved = scales.halved(rule.scale, rule.cut)
    design, margin = halved.margins(len(bins))
    typical = TYPICAL_MARGIN if halved.steps[0].any(axis=1).sum() > 1 else 1.0
    weights = score_weights(rule, margin, n_classes, right_share(found, n_classes), typical)
    trees, values = design.as_trees(weights, bins.n_bins)
    return BoostedTrees(trees, values.astype(np.float32))


def is_any_rule_seldom_wrong(
    desk: Desk,
    bins: FeatureBins,
    shares: tuple[Values | None, ...],
    n_classes: int,
    price: Price,
    rng: np.random.Generator,
    n_records: float,
) -> bool:
    """Whether a forest could hardly do better than a rule; parameters as in `release_rule`.

    Of many features only rules of single ones count: where a sum tells nearly all, so does a line,
    and of thousands of sums some tell more of few records than of others. One class for all is
    no such rule, however frequent: it says nothing of the others. ``n_records`` is noisy.
    """
    scales = Scales.drawn(bins, shares, n_classes, rng, sums=len(bins) <= FEW_FEATURES)
    allowed = Allowed(SELDOM * n_records, FEWER * n_records)
    return bool(count_errors_beyond(desk, scales, n_classes, allowed, price).values[0] <= 0)


def do_sums_tell_more(
    desk: Desk,
    bins: FeatureBins,
    shares: tuple[Values | None, ...],
    n_classes: int,
    price: Price,
    rng: np.random.Generator,
    n_records: float,
) -> bool:
    """Whether a signed sum of features tells far more than any single one.

    Then many features tell a little each, which a tree, that asks for one after another, would
    need many questions for. Parameters as in `release_rule`; ``n_records`` is noisy.
    """
    scales = Scales.drawn(bins, shares, n_classes, rng)
    saved = count_errors_saved(desk, scales, n_classes, FAR_MORE * n_records, price)
    return bool(saved.values[0] > 0)


def right_share(found: Released, n_classes: int) -> float:
    """How often a rule is right, as far as noisy counts of right and wrong tell.

    They lean on a guess, half-way from chance to certainty, with the weight of their noise.

    Examples
    --------
    >>> right_share(Released(np.array([800.0, 200.0]), 10.0), 2)
    0.7995049504950495
    >>> right_share(Released(np.array([-3000.0, 100.0]), 900.0), 2)
    0.675
    """
    right, wrong = (max(float(count), 0.0) for count in found.values)
    guess = (1.0 + 1.0 / n_classes) / 2.0
    share = (right + guess * found.deviation) / max(right + wrong + found.deviation, 1e-9)
    return min(max(share, 1.01 / n_classes), SUREST)


def score_weights(
    rule: Rule, margin: Values, n_classes: int, right: float, typical: float
) -> NDArray[np.float64]:
    """Weights of the scores, shape (n_outputs, n_weights), from those of the margin.

    At a typical margin the class that the rule tells has the probability to be right, and the
    others have equal shares of the rest.
    """
    if n_classes == 2:
        sign = 1.0 if rule.below == 0 else -1.0
        return np.asarray(sign * clipped_score(right) / typical * margin)
    half = 0.5 * math.log(right * (n_classes - 1) / (1.0 - right))
    weights = np.zeros((n_classes, margin.shape[1]))
    weights[:, 0] = -half  # of the constant, which weight 0 is multiplied by
    weights[rule.above] = half / typical * margin[0]
    weights[rule.below] = -half / typical * margin[0]
    return weights
