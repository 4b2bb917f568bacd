"""Noisy counts: of all records, of bins, of cells of a table, of whatever a statistic counts."""

from __future__ import annotations

import math

from dpforest.privacy.accounts.mechanisms_used import Public
from dpforest.privacy.accounts.prices import finest_grid
from dpforest.privacy.accounts.spends import Gaussian, Price, Spend
from dpforest.privacy.desk import Desk, Released
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.records.contingency import CellCounts
from dpforest.records.statistics import (
    BinCounts,
    RecordCount,
    Statistic,
    TargetCounts,
    WeightSum,
)
from dpforest.tables.encode import Encoding

COUNT_GRID = 1024  # steps of the noise in a count of 1: as good as continuous


def count(desk: Desk, price: Price) -> float:
    """The noisy number of records.

    A record changes it by 1. When records are replaced one by one their number is public, and
    free.
    """
    if desk.count_is_public:
        desk.ledger.debit(Spend.of("number of records", "public", Public()))
        return float(desk.total(RecordCount())[0])
    return float(noisy_counts(desk, RecordCount(), price, "number of records", cells=1).values[0])


def total_weight(desk: Desk, price: Price) -> float:
    """The noisy sum of the sample weights, in units of their bound.

    In these units a weight is from 0 to 1, so a record changes the sum by at most 1; its whole
    steps by at most the number of them.
    """
    label = "sum of the sample weights, in units of their bound"
    noise, grid = pay_for_counts(desk, label, price, cells=1)
    noisy = desk.draws.add_noise(noise, desk.total(WeightSum(grid)))
    return float(noisy[0]) / grid


def bin_counts(
    desk: Desk, encoding: Encoding, features: tuple[int, ...], price: Price, label: str
) -> Released:
    """The noisy number of records in each bin of some features.

    The encoding is public or was released. A record is in one bin of each feature: it changes
    as many counts as there are features, each by 1, so the L1 sensitivity is their number and
    the L2 sensitivity its root.

    Returns
    -------
    Released
        Values of shape (n_features, largest number of bins).
    """
    noise, grid = pay_for_counts(desk, label, price, cells=len(features))
    desk.encode(encoding, by_feature=True, only=features)
    statistic = BinCounts(features, int(encoding.n_bins[list(features)].max()))
    return _noisy(desk, statistic, noise, grid)


def table_counts(
    desk: Desk, encoding: Encoding, features: tuple[int, ...], price: Price, label: str
) -> Released:
    """The noisy number of records in each cell of a table of some features.

    The encoding is public or was released. A record is in one cell of the table and changes its
    count by 1.

    Returns
    -------
    Released
        Values of shape (bins of the first feature, of the second, ...).
    """
    noise, grid = pay_for_counts(desk, label, price, cells=1)
    desk.encode(encoding, only=features)
    statistic = CellCounts(features, tuple(int(n) for n in encoding.n_bins))
    return _noisy(desk, statistic, noise, grid)


def class_counts(desk: Desk, n_classes: int, price: Price) -> Released:
    """The noisy number of records of each class.

    A record is of one class and changes its count by 1.
    """
    statistic = TargetCounts(-0.5, n_classes - 0.5, n_classes)
    return noisy_counts(desk, statistic, price, "records of each class", cells=1)


def target_counts(
    desk: Desk,
    low: float,
    high: float,
    cells: int,
    price: Price,
    label: str = "histogram of the target",
) -> Released:
    """The noisy number of records in each of some equal cells of a public range of the target.

    A record is in one cell, the first or last where it lies outside, and changes its count by 1.
    """
    statistic = TargetCounts(low, high, cells)
    return noisy_counts(desk, statistic, price, label, cells=1)


def noisy_counts(
    desk: Desk, statistic: Statistic, price: Price, label: str, *, cells: int
) -> Released:
    """The noisy total of a statistic that counts.

    A record changes at most ``cells`` of its numbers, each by 1: the L1 sensitivity is ``cells``
    and the L2 sensitivity its root.
    """
    noise, grid = pay_for_counts(desk, label, price, cells=cells)
    return _noisy(desk, statistic, noise, grid)


def pay_for_counts(
    desk: Desk, label: str, price: Price, *, cells: int
) -> tuple[AdditiveNoise, int]:
    """Debit counts, of which a record changes so many by 1; gives the noise and its grid.

    Counts are put on a grid finer than 1, so that the noise is as small as the price allows.
    """
    l1, l2 = desk.steps * cells, desk.steps * math.sqrt(cells)
    grid = finest_grid(price, l2 if isinstance(price, Gaussian) else l1, COUNT_GRID)
    noise = AdditiveNoise.for_price(price, l1=grid * l1, l2=grid * l2)
    desk.ledger.debit(noise.spend(label, grid))
    return noise, grid


def _noisy(desk: Desk, statistic: Statistic, noise: AdditiveNoise, grid: int) -> Released:
    noisy = desk.draws.add_noise(noise, grid * desk.total(statistic))
    return Released(noisy / grid, noise.deviation / grid)
