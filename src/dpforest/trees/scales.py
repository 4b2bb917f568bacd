"""Scales: public ways to put records in a row, by one feature or by a signed sum of a few.

A scale gives a record whole steps for its bins, adds them up and tells in which of some cells the
sum lies. A rule is a scale with a cut: records up to the cut are of one class, those above of
another. A rule without a scale says one class for all. There are few rules next to what a model of
many weights could be, so that a single private choice among all of them finds a good one even where
every sum would drown in noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.trees.linear import LinearDesign
from dpforest.trees.structure import FeatureBins

STEPS = 60  # from one end of a feature to the other, in a sum
CELLS = 16  # of a sum
MOST_FEATURES = 8  # of a sum
SUMS = 2_000  # that are drawn for two classes
CONSTANT, SINGLE, SUM = 0.25, 0.5, 0.25  # how much of a choice's measure each kind of rule has


@dataclass(frozen=True)
class Scales:
    """Some scales; the first has one cell, so that its rules say one class for all.

    Parameters
    ----------
    feature : ndarray of int32, shape (n_scales, most)
        The features of each; where there are fewer, the steps of the rest are 0.
    steps : ndarray of int16, shape (n_scales, most, 256)
        What the bins of these features add; not negative.
    divisor : ndarray of int64, shape (n_scales,)
        So many steps make a cell.
    n_cells : ndarray of int64, shape (n_scales,)
        All that lies beyond is in the last.
    measure : ndarray of float64, shape (n_scales,)
        How much of a choice's measure the rules of a scale share.
    """

    feature: NDArray[np.int32]
    steps: NDArray[np.int16]
    divisor: NDArray[np.int64]
    n_cells: NDArray[np.int64]
    measure: Values

    def __len__(self) -> int:
        return len(self.n_cells)

    @property
    def is_sum(self) -> NDArray[np.bool_]:
        """Which of them add up several features."""
        return np.asarray(self.steps.any(axis=2).sum(axis=1) > 1)

    @classmethod
    def drawn(
        cls,
        bins: FeatureBins,
        shares: tuple[Values | None, ...],
        n_classes: int,
        rng: np.random.Generator,
        *,
        sums: bool = True,
    ) -> Scales:
        """One scale for all, those of single features, and random sums.

        Parameters
        ----------
        bins : FeatureBins
        shares : tuple of arrays or None
            Of the bins of numeric features: how far a bin is from one end to the other.
        n_classes : int
            Sums are fewer where there are many pairs of classes to tell apart.
        rng : numpy.random.Generator
            The public stream of the structure.
        sums : bool
            Whether there are any; the rest of the measure stays as it is.
        """
        none = np.zeros(256, np.int16)
        rows: list[tuple[list[int], list[NDArray[np.int16]], int, int, float]]
        rows = [([0], [none], 1, 1, CONSTANT)]
        single = [_single(bins, j) for j in range(len(bins))]
        for j, scales in enumerate(single):
            part = SINGLE / len(single) / len(scales)
            rows += [([j], [steps], 1, cells, part) for steps, cells in scales]
        n_sums = sums_of(n_classes) if sums and len(bins) > 1 else 0
        ends = [_ends(bins, j, shares[j]) for j in range(len(bins))]
        for _ in range(n_sums):
            size = int(rng.integers(2, min(len(bins), MOST_FEATURES) + 1))
            features = rng.choice(len(bins), size, replace=False).tolist()
            steps = [ends[j][int(rng.integers(len(ends[j])))] for j in features]
            signed = [STEPS - s if rng.integers(2) else s for s in steps]
            divisor = -(-(STEPS * size + 1) // CELLS)
            rows.append((features, signed, divisor, CELLS, SUM / n_sums))
        most = max(len(features) for features, *_ in rows)
        feature = np.zeros((len(rows), most), np.int32)
        table = np.zeros((len(rows), most, 256), np.int16)
        for r, (features, all_steps, *_) in enumerate(rows):
            feature[r, : len(features)] = features
            table[r, : len(features)] = all_steps
        _, _, divisors, cells, measure = zip(*rows, strict=True)
        return cls(feature, table, np.array(divisors), np.array(cells), np.array(measure))

    def halved(self, scale: int, cut: int) -> Scales:
        """A single scale with a cell up to a cut and one above it."""
        one = slice(scale, scale + 1)
        divisor, n_cells = self.divisor[one] * (cut + 1), np.minimum(self.n_cells[one], 2)
        return Scales(self.feature[one], self.steps[one], divisor, n_cells, self.measure[one])

    def margins(self, n_features: int) -> tuple[LinearDesign, Values]:
        """How far records are above the cut of a halved scale, as a linear model.

        Returns
        -------
        design : LinearDesign
        weights : ndarray of float64, shape (1, n_weights)
            With them the model is above 0 for records above the cut, and below for others; from -1
            to 1, where a scale of one feature has no more than these two.
        """
        place = np.repeat(1 + np.arange(n_features, dtype=np.int32)[:, None], 256, axis=1)
        size, used = np.zeros((n_features, 256)), self.steps[0].any(axis=1)
        if used.sum() > 1:
            size[self.feature[0][used]] = self.steps[0][used]
            start = 0.5 - float(self.divisor[0])
            largest = max(-start, float(self.steps[0].max(axis=1).sum()) + start)
        else:
            size[self.feature[0, 0]] = 2.0 * (self.steps[0, 0] >= self.divisor[0])
            start = largest = -1.0
            largest = 1.0
        weights = np.ones((1, n_features + 1)) / largest
        weights[0, 0] *= start
        return LinearDesign(place, size, 1.0, n_features + 1), weights


def sums_of(n_classes: int) -> int:
    """How many sums are drawn: fewer where there are many pairs of classes to tell apart.

    Examples
    --------
    >>> sums_of(2), sums_of(10), sums_of(100)
    (2000, 44, 0)
    """
    return 2 * SUMS // (n_classes * (n_classes - 1))


def _single(bins: FeatureBins, j: int) -> list[tuple[NDArray[np.int16], int]]:
    """The scales of one feature, with their cells: its order, or each category against the rest."""
    n = int(bins.n_values[j])
    if not bins.categorical[j]:
        steps = np.full(256, n // 2, np.int16)  # of missing values
        steps[:n] = np.arange(n)
        return [(steps, n)]
    return [(steps // STEPS, 2) for steps in _ends(bins, j, None)[: 1 if n == 2 else n]]


def _ends(bins: FeatureBins, j: int, shares: Values | None) -> list[NDArray[np.int16]]:
    """The steps of a feature in a sum: from end to end, or for each of its categories."""
    n = int(bins.n_values[j])
    if bins.categorical[j]:
        return [np.where(np.arange(256) == c, STEPS, 0).astype(np.int16) for c in range(n)]
    share = np.full(n, 1.0 / n) if shares is None else shares
    steps = np.full(256, STEPS // 2, np.int16)
    steps[:n] = np.rint(STEPS * (np.cumsum(share) - share / 2.0) / share.sum())
    return [steps]
