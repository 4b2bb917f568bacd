"""The shape of a matrix forest, chosen for free: from public facts and the error formula."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpforest.forests.parameters import Auto
from dpforest.trees.structure import FeatureBins

AUTO_CELLS = 1 << 17  # a domain that is quick to measure
AUTO_TREES = 128  # more trees add no noise, but take time
AUTO_VOTERS = 64  # trees of one kind on disjoint records, each of whose leaves says only a label
MOST_ENSEMBLES = 4  # when nothing is known of the number of records

# What is assumed of records that nobody has seen; chosen once, by the accuracy on training records
# of eleven data sets (docs/privacy/matrix.md).
CONCENTRATION = 0.9  # a record meets one in size^0.9 of the others in its bin, not one in size
TOGETHER = 1.25  # features that are asked together tell more than one by one
ENOUGH = 3.0  # records a standard deviation of the noise, from where on more tell little


@dataclass(frozen=True)
class Plan:
    """The shape of a matrix forest."""

    n_trees: int
    max_depth: int
    n_ensembles: int
    n_features: int


@dataclass(frozen=True)
class Facts:
    """What a plan may follow from.

    Parameters
    ----------
    bins : FeatureBins
    deviation : float
        Of the noise of one count that is given all of the budget.
    order : {1, 2}
        Of the norms that noise is calibrated to; q shares of the budget make the deviation
        q or sqrt(q) times as large.
    n_records : float, optional
        A public guess or a paid-for number of records, positive.
    alike : int
        Trees that an ensemble should have when all are alike: one, where trees share records.
    varied : bool
        Whether trees should differ, as one vote of each is all that counts.
    """

    bins: FeatureBins
    deviation: float
    order: Literal[1, 2]
    n_records: float | None
    alike: int = 1
    varied: bool = False


def make_plan(
    facts: Facts,
    *,
    n_trees: int | Auto,
    max_depth: int | Auto,
    n_ensembles: int | Auto,
    n_features: int | Auto,
) -> Plan:
    """Choose what is left to ``"auto"``: the error formula needs no data, so the choice is free.

    With a number of records, the shape with the largest `merit` is taken, of those with a domain
    of at most `AUTO_CELLS` cells an ensemble. Without one, or where trees should differ, an
    ensemble has all features when their domain has at most so many cells, else as many as fit, and
    there are at most `MOST_ENSEMBLES`.
    Trees that ask all features of their ensemble are all alike, and there are ``facts.alike`` of
    them; else there are `AUTO_TREES`, as more trees do not add noise.

    Examples
    --------
    >>> sizes = np.array([4, 4, 4, 3, 3, 3])
    >>> bins = FeatureBins(sizes, sizes, np.ones(6, bool))
    >>> auto = dict.fromkeys(("n_trees", "max_depth", "n_ensembles", "n_features"), "auto")
    >>> make_plan(Facts(bins, 14.1, 1, 1_400), **auto)
    Plan(n_trees=6, max_depth=1, n_ensembles=6, n_features=1)
    >>> make_plan(Facts(bins, 0.7, 1, 1_400), **auto)
    Plan(n_trees=2, max_depth=3, n_ensembles=2, n_features=3)
    """
    d = len(facts.bins)
    largest = np.sort(facts.bins.n_bins.astype(np.float64))[::-1]
    fits = max(1, int((np.cumprod(largest) <= AUTO_CELLS).sum()))
    if facts.n_records is None or facts.varied:
        n_features = most = fits if n_features == "auto" else min(d, n_features)
        few = min(MOST_ENSEMBLES, math.ceil(d / most), d if n_trees == "auto" else n_trees)
        n_ensembles = few if n_ensembles == "auto" else n_ensembles
    if facts.n_records is None:
        own, q = int(n_features), int(n_ensembles)
        # Nothing is known that could tell one depth from another.
        h = own if max_depth == "auto" else min(max_depth, own)
    else:
        own, q, h = max(
            _shapes(d, fits, n_trees, max_depth, n_ensembles, n_features),
            key=lambda shape: merit(facts, *shape),
        )
    trees = facts.alike * q if h == own else max(AUTO_TREES, q)
    return Plan(trees if n_trees == "auto" else n_trees, h, q, own)


def _shapes(
    d: int,
    fits: int,
    n_trees: int | Auto,
    max_depth: int | Auto,
    n_ensembles: int | Auto,
    n_features: int | Auto,
) -> Iterable[tuple[int, int, int]]:
    """Features, ensembles and depths that what is given leaves open."""
    features = range(1, fits + 1) if n_features == "auto" else [min(d, n_features)]
    for f in features:
        covering = math.ceil(d / f) if n_trees == "auto" else min(n_trees, math.ceil(d / f))
        ensembles = range(1, covering + 1) if n_ensembles == "auto" else [n_ensembles]
        for q, h in itertools.product(ensembles, _depths(f, max_depth, n_features)):
            yield f, q, h


def _depths(f: int, max_depth: int | Auto, n_features: int | Auto) -> Iterable[int]:
    if max_depth != "auto":
        return [min(max_depth, f)]
    # Where both are open, the features of an ensemble are those that are asked together.
    return [f] if n_features == "auto" else range(1, f + 1)


def merit(facts: Facts, n_features: int, n_ensembles: int, depth: int) -> float:
    """What a shape is worth, by the signal of a leaf over its noise.

    A leaf of depth h holds n / size^(0.9 h) of n records. Its noise is that of the better of two
    strategies: to count all cells and add up those of a leaf, or to count all marginals of h of
    the f features; half the records count as noise too, as they are a sample. With x the records a
    deviation, a group of h features that are asked together
    is worth h^1.25 x^2 / (1 + x^2 / 9): little when noise drowns it, and no more than 9 h^1.25
    however small the noise. There are q f / h such groups, or as many as the features allow;
    trees that should differ are one such group each.
    """
    d, f, q, h = len(facts.bins), n_features, n_ensembles, depth
    size = float(np.exp(np.log(facts.bins.n_bins).mean()))
    share = 1 / facts.order
    strategy = min(size ** ((f - h) / 2), math.comb(f, h) ** share)
    noise: float = facts.deviation * q**share * strategy
    records = (facts.n_records or 0.0) * size ** (-CONCENTRATION * h)
    x2 = records**2 / (noise**2 + records / 2)
    groups = 1.0 if facts.varied else min(q * f, d) / h
    return float(groups * h**TOGETHER * x2 / (1 + x2 / ENOUGH**2))
