"""Scales: every record has one place on each; rules become linear models that say the same."""

import numpy as np
import pytest

from dpforest.schema import CategoricalFeature, NumericFeature, Schema
from dpforest.tables.encode import Encoding
from dpforest.tables.routing import add_tree_values
from dpforest.trees.scales import CELLS, CONSTANT, SINGLE, SUM, Scales

FEATURES = (
    NumericFeature("a", 0, 1),
    NumericFeature("b", -5, 5),
    CategoricalFeature("c", ("x", "y", "z")),
    CategoricalFeature("d", ("no", "yes")),
)
ENCODING = Encoding.from_schema(Schema(FEATURES), max_bins=12)
BINS = ENCODING.feature_bins


def draw(n_classes=2, bins=BINS):
    kinds = zip(bins.categorical, bins.n_values, strict=True)
    shares = tuple(None if categorical else np.ones(int(n)) for categorical, n in kinds)
    return Scales.drawn(bins, shares, n_classes, np.random.default_rng(0))


def sums_of(scales, bins):
    """The steps of every record on every scale, the plain way."""
    rows = [
        [sum(scales.steps[r, k, row[f]] for k, f in enumerate(scales.feature[r])) for row in bins]
        for r in range(len(scales))
    ]
    return np.array(rows, np.int64)


def test_every_bin_has_a_place_on_every_scale():
    scales = draw()
    assert (scales.steps >= 0).all()
    most = scales.steps.max(axis=2).astype(np.int64).sum(axis=1)
    assert (most // scales.divisor <= scales.n_cells - 1).all()
    assert scales.n_cells[0] == 1
    assert (scales.n_cells[1:] >= 2).all()
    assert scales.n_cells[-1] == CELLS


def test_the_measure_is_shared_by_kind_and_features_count_alike():
    scales = draw()
    kind = (scales.steps.any(axis=2)).sum(axis=1)
    by_kind = [scales.measure[kind == 0], scales.measure[kind == 1], scales.measure[kind > 1]]
    assert [part.sum() for part in by_kind] == pytest.approx([CONSTANT, SINGLE, SUM])
    single = np.flatnonzero(kind == 1)
    each = np.bincount(scales.feature[single, 0], scales.measure[single])
    assert each == pytest.approx(np.full(len(BINS), SINGLE / len(BINS)))


def test_one_feature_has_no_sums_and_many_classes_have_fewer():
    alone = Encoding.from_schema(Schema(FEATURES[:1]), max_bins=12).feature_bins
    assert len(draw(bins=alone)) == 2
    assert len(draw(n_classes=5)) < len(draw(n_classes=3)) < len(draw())


def test_a_sum_goes_from_end_to_end_of_its_features():
    """Each feature of a sum reaches the least and the most that it can add, either way round."""
    scales = draw()
    sums = scales.steps[(scales.n_cells == CELLS) & (scales.divisor > 1)]
    numeric = np.isin(scales.feature[(scales.n_cells == CELLS) & (scales.divisor > 1)], (0, 1))
    rising = sums[numeric][:, :12]
    steps = np.diff(rising[rising.any(axis=1)].astype(int), axis=1)
    assert ((steps >= 0).all(axis=1) | (steps <= 0).all(axis=1)).all()
    assert (steps >= 0).all(axis=1).any()
    assert (steps <= 0).all(axis=1).any()


@pytest.mark.parametrize("scale", [0, 1, 3, 5, 40, 41, 42])
def test_margins_tell_the_side_of_every_record(scale):
    scales, rng = draw(), np.random.default_rng(1)
    bins = np.column_stack([rng.integers(0, n, 300) for n in BINS.n_bins]).astype(np.uint8)
    cells = sums_of(scales, bins)[scale] // scales.divisor[scale]
    for cut in range(max(int(scales.n_cells[scale]) - 1, 1)):
        halved = scales.halved(scale, cut)
        above = cells > cut
        design, weights = halved.margins(len(BINS))
        trees, values = design.as_trees(weights, BINS.n_bins)
        scores = np.zeros((1, 300), np.float32)
        add_tree_values(trees, np.asfortranarray(bins), values.astype(np.float32), scores, 1)
        assert ((scores[0] > 0) == above).all()
        assert np.abs(scores).max() <= 1.0 + 1e-6
        if scales.divisor[scale] == 1:
            assert np.abs(scores[0]) == pytest.approx(np.ones(300))
