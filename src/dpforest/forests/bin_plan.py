"""How finely the flagship looks at numeric features, and what it pays for that."""

from __future__ import annotations

from fractions import Fraction

from dpforest.forests.binning import BinSizes
from dpforest.forests.purse import Purse, has_little_signal


def bin_sizes(purse: Purse, n_records: float, n_features: int) -> BinSizes:
    """Coarse bins where a feature has little signal, fine ones elsewhere, finest without noise."""
    if not purse.private:
        return BinSizes(cells=250, bins=128)
    if has_little_signal(purse, n_records, n_features):
        return BinSizes(cells=32, bins=16)
    return BinSizes(cells=64, bins=32)


def bin_share(purse: Purse, n_records: float, n_features: int, n_classes: int) -> Fraction:
    """The share of the budget for bins, half for each of two looks; two classes pay more."""
    if has_little_signal(purse, n_records, n_features):
        return Fraction(15, 100)
    return Fraction(8 if purse.pure or n_classes == 2 else 5, 100)
