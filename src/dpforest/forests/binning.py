"""Privately chosen bins: where numeric features are cut, learnt from noisy counts.

Two releases, or three. First the noisy counts of a public grid, half of it linear and half of it
logarithmic around zero, so that bounds declared far too wide and heavy tails still leave some cells
with records. Then the noisy counts of a finer grid, whose cells hold equal shares of the first.
Where a cell of that holds a large share still, outliers have made the bounds absurd: a third look,
at these features only, goes finer once more. What follows is post-processing: counts are projected
to what counts can be, and neighbouring cells are joined to bins of equal weight. A value that many
records share takes one bin and no more, so that cuts remain for the tails.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpforest.arrays import Values
from dpforest.privacy.accounts.spends import Price
from dpforest.privacy.counts import bin_counts
from dpforest.privacy.desk import Desk
from dpforest.report.notes import standing_out
from dpforest.schema import NumericFeature, Schema
from dpforest.tables.encode import Encoding

LINEAR_CELLS = 32
OCTAVES = 40  # cells halve towards zero this often: bounds may be 10**12 too wide
LATTICE = 100  # integers at most this far apart get a cell each
LARGE_SHARE = 0.25  # of a feature's records in one cell: look again
ONE_VALUE = 1e-9  # a cell this narrow, of the whole range, is one value
SAME_VALUE = 1e-6  # a cell this narrow is not looked at again
EVEN_SHARE = 0.1  # of the weight is spread evenly, for what the noise hides
HEAVY = 0.1  # a bin's weight counts at most this much when cuts are drawn


@dataclass(frozen=True)
class BinSizes:
    """How finely to look, and how many bins to keep."""

    cells: int
    bins: int


@dataclass(frozen=True)
class PrivateBins:
    """The cuts of every feature, and how the records spread over the bins.

    Parameters
    ----------
    encoding : Encoding
    weights : tuple of arrays or None
        What cuts are drawn by: the released shares of numeric features, a tenth spread evenly.
    shares : tuple of arrays or None
        The share of the records in each bin of a numeric feature, as far as released.
    n_looks : int
        Releases that were paid for.
    """

    encoding: Encoding
    weights: tuple[Values | None, ...]
    shares: tuple[Values | None, ...]
    n_looks: int


def needs_bins(schema: Schema) -> tuple[int, ...]:
    """The features whose cuts are not declared: numeric, without cut points."""
    return tuple(
        j
        for j, feature in enumerate(schema.features)
        if isinstance(feature, NumericFeature) and feature.cuts is None
    )


def choose_bins(
    desk: Desk,
    schema: Schema,
    n_records: float,
    price: Price,
    sizes: BinSizes,
    most_looks: int = 2,
) -> PrivateBins:
    """Look twice, or where it is needed and allowed three times, each for the price, and cut."""
    features = needs_bins(schema)
    public = Encoding.from_schema(schema, max_bins=2)
    cuts = list(public.cuts)
    weights: list[Values | None] = [
        None if c is None else np.full(len(c) + 1, 1.0 / (len(c) + 1)) for c in cuts
    ]
    if not features:
        return PrivateBins(public, tuple(weights), (None,) * len(cuts), 0)
    for j in features:
        cuts[j] = public_grid(_numeric(schema, j))
    shares: list[Values | None] = [None] * len(cuts)
    noise: dict[int, float] = {}

    def refine(looked: tuple[int, ...], label: str) -> dict[int, Values]:
        """Look at some features once more, and cut them finer; gives what was counted."""
        seen = Encoding(schema, tuple(cuts))
        released = bin_counts(desk, seen, looked, price, label)
        counts = dict(zip(looked, released.values, strict=True))
        for j, row in counts.items():
            cuts[j] = _refined(_numeric(schema, j), _cuts(seen, j), row, n_records, sizes.cells)
            noise[j] = released.deviation
        return counts

    refine(features, "bins: counts on a public grid")
    fine, n_looks = Encoding(schema, tuple(cuts)), 2
    counts = refine(features, "bins: counts on the refined grid")
    crowded = tuple(
        j
        for j in features
        if _is_crowded(_numeric(schema, j), _cuts(fine, j), counts[j], n_records)
    )
    finest = {j: _cuts(fine, j) for j in features}
    if crowded and most_looks > 2:
        finest |= {j: np.asarray(cuts[j]) for j in crowded}
        counts |= refine(crowded, "bins: counts where a cell holds many records")
        n_looks = 3
    for j in features:
        spread = nearest_shares(counts[j][: len(finest[j]) + 1], n_records)
        cuts[j], weights[j] = _joined(finest[j], spread, sizes.bins)
        loud = standing_out(spread, noise[j] / n_records)
        shares[j] = _in_bins(finest[j], loud, _given(cuts[j]))
    return PrivateBins(Encoding(schema, tuple(cuts)), tuple(weights), tuple(shares), n_looks)


def public_bins(schema: Schema) -> PrivateBins:
    """Cuts that follow from declarations alone, weighed by what they cut off the range: free."""
    public = Encoding.from_schema(schema, max_bins=2)
    cuts = list(public.cuts)
    for j in needs_bins(schema):
        cuts[j] = public_grid(_numeric(schema, j))
    encoding = Encoding(schema, tuple(cuts))
    return PrivateBins(encoding, _widths(encoding), (None,) * len(cuts), 0)


def _widths(encoding: Encoding) -> tuple[Values | None, ...]:
    """The share of the declared range in each bin of numeric features."""

    def widths(j: int, cuts: Values) -> Values:
        feature = _numeric(encoding.schema, j)
        return np.diff([feature.low, *cuts, feature.high]) / (feature.high - feature.low)

    return tuple(None if cut is None else widths(j, cut) for j, cut in enumerate(encoding.cuts))


def _is_crowded(feature: NumericFeature, cuts: Values, counts: Values, n_records: float) -> bool:
    """Whether a cell that could be cut further holds a large share of the records."""
    edges = np.concatenate([[feature.low], cuts, [feature.high]])
    width = np.diff(edges)
    whole = 1.0 + 1e-9 if feature.integer else 0.0
    divisible = width > max(whole, SAME_VALUE * (feature.high - feature.low))
    shares = nearest_shares(counts[: len(cuts) + 1], n_records)
    return bool((shares[divisible] > LARGE_SHARE).any())


def cut_weights(weights: tuple[Values | None, ...]) -> tuple[Values | None, ...]:
    """How often to cut each numeric feature after each of its bins, given their weights."""
    return tuple(map(_cut_weights, weights))


def public_grid(feature: NumericFeature) -> Values:
    """Cuts that follow from the declaration alone.

    Bounds that are integers and near each other suggest integer values: each gets cells of its
    own. Otherwise even cells, and cells that halve towards zero or the bound nearest to it.

    Examples
    --------
    >>> public_grid(NumericFeature("x", 0, 3))[:4].tolist()
    [0.05, 0.15, 0.25, 0.35]
    >>> len(public_grid(NumericFeature("x", -1e9, 1e9)))
    101
    >>> public_grid(NumericFeature("x", 0, 1000, integer=True))[:5].tolist()
    [0.5, 1.5, 3.5, 7.5, 15.5]
    """
    low, high = float(feature.low), float(feature.high)
    width = high - low
    if low == int(low) and high == int(high) and width <= LATTICE:
        per_integer = 1 if feature.integer else max(1, int(LINEAR_CELLS // width))
        return _inside(feature, low + (np.arange(int(width * per_integer)) + 0.5) / per_integer)
    zero = min(max(0.0, low), high)
    halving = 2.0 ** -np.arange(OCTAVES)
    edges = np.concatenate(
        [
            low + width * (np.arange(1, LINEAR_CELLS) / LINEAR_CELLS),
            zero + (high - zero) * halving,
            zero - (zero - low) * halving,
        ]
    )
    return _inside(feature, edges[edges > low])


def _refined(
    feature: NumericFeature, cuts: Values, counts: Values, n_records: float, cells: int
) -> Values:
    """Cuts between cells of equal weight, if records are spread evenly inside the old cells.

    The narrowest cells around zero hold that one value at best: they are not cut further.
    """
    low, high = float(feature.low), float(feature.high)
    edges = np.concatenate([[low], cuts, [high]])
    even = np.diff(edges) / (high - low)
    shares = nearest_shares(counts[: len(cuts) + 1], n_records)
    weight = (1.0 - EVEN_SHARE) * shares + EVEN_SHARE * even
    weight = np.where(even < ONE_VALUE, np.minimum(weight, 1.0 / cells), weight)
    below = np.concatenate([[0.0], np.cumsum(weight)]) / weight.sum()
    # A hair of slope everywhere, so that the inverse is unique.
    below += np.arange(len(below)) * 1e-12
    return _inside(feature, np.interp(np.arange(1, cells) / cells, below, edges))


def _inside(feature: NumericFeature, cuts: Values) -> Values:
    """Different cuts within the bounds; those of an integer feature lie between integers."""
    cuts = np.unique(np.floor(cuts) + 0.5 if feature.integer else cuts)
    # Between bounds a few units in the last place apart, rounding may reach them.
    return cuts[(cuts >= feature.low) & (cuts < feature.high)]


def _joined(cuts: Values, shares: Values, bins: int) -> tuple[Values, Values]:
    """Keep the cuts between bins of about equal capped weight; gives the bins' weights too."""
    weight = (1.0 - EVEN_SHARE) * shares + EVEN_SHARE / len(shares)
    below = np.cumsum(_capped(weight, bins))
    below /= below[-1]
    wanted = np.arange(1, bins) / bins
    at = np.clip(np.searchsorted(below, wanted - 1e-9), 0, len(cuts) - 1)
    before = np.maximum(at - 1, 0)
    nearer = np.abs(below[before] - wanted) < np.abs(below[at] - wanted)
    kept = cuts[np.unique(np.where(nearer, before, at))] if len(cuts) else cuts
    return kept, _in_bins(cuts, weight, kept)


def _in_bins(cuts: Values, weight: Values, kept: Values) -> Values:
    """The weight of cells, added up between the cuts that were kept."""
    bin_of_cell = np.append(np.searchsorted(kept, cuts), len(kept))
    joined: Values = np.bincount(bin_of_cell, weight, minlength=len(kept) + 1).astype(np.float64)
    return joined


def nearest_shares(counts: Values, n_records: float) -> Values:
    """The nearest non-negative counts that add up to the number of records, as shares."""
    ordered = np.sort(counts)[::-1]
    excess = (np.cumsum(ordered) - n_records) / np.arange(1, len(counts) + 1)
    level = excess[np.flatnonzero(ordered > excess)[-1]] if (ordered > excess).any() else 0.0
    kept = np.maximum(counts - level, 0.0)
    total = kept.sum()
    return kept / total if total > 0 else np.full(len(counts), 1.0 / len(counts))


def _capped(weight: Values, bins: int) -> Values:
    """Cap every cell at one bin's share of the capped total: a heavy value fills one bin only."""
    cap = weight.sum() / bins
    for _ in range(30):
        lower = np.minimum(weight, cap).sum() / bins
        if lower >= cap * (1.0 - 1e-9) or (weight > lower).sum() >= bins:
            break
        cap = lower
    return np.asarray(np.minimum(weight, cap))


def _cut_weights(weight: Values | None) -> Values | None:
    """Cut more often where records lie on both sides."""
    if weight is None or len(weight) < 2:
        return None if weight is None else np.empty(0)
    beside = np.minimum(weight[:-1], HEAVY) + np.minimum(weight[1:], HEAVY)
    drawn: Values = (1.0 - EVEN_SHARE) * beside / beside.sum() + EVEN_SHARE / len(beside)
    return drawn


def _numeric(schema: Schema, j: int) -> NumericFeature:
    feature = schema.features[j]
    assert isinstance(feature, NumericFeature)
    return feature


def _cuts(encoding: Encoding, j: int) -> Values:
    return _given(encoding.cuts[j])


def _given(cuts: Values | None) -> Values:
    assert cuts is not None
    return cuts
