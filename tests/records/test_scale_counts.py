"""Counts on scales: each record once a scale, in the cell of its steps and of its class."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.records.blocks import Block
from dpforest.records.scale_counts import RuleCounts, ScaleCounts
from dpforest.records.shards import total_of
from dpforest.trees.scales import Scales
from dpforest.trees.structure import FeatureBins

BINS = FeatureBins(np.array([5, 3]), np.array([6, 5]), np.array([False, True]))
SCALES = Scales.drawn(BINS, (None, None), 3, np.random.default_rng(0))


def draw_block(seed, n=7):
    rng = np.random.default_rng(seed)
    bins = np.column_stack([rng.integers(0, 6, n), rng.integers(0, 5, n)]).astype(np.uint8)
    return Block(np.asfortranarray(bins), rng.integers(0, 3, n).astype(np.int32))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_a_record_is_in_one_cell_of_every_scale(seed):
    block = draw_block(seed)
    counts = total_of(ScaleCounts(SCALES, 3), block)
    assert (counts.sum(axis=(1, 2)) == 7).all()
    for i in range(7):
        alone = total_of(ScaleCounts(SCALES, 3), block.rows(slice(i, i + 1)))
        assert (alone.sum(axis=(1, 2)) == 1).all()
        (scale, cell, code) = np.nonzero(alone)
        steps = [
            sum(int(SCALES.steps[r, k, block.bins[i, f]]) for k, f in enumerate(SCALES.feature[r]))
            for r in scale
        ]
        last = SCALES.n_cells - 1
        assert cell.tolist() == np.minimum(np.array(steps) // SCALES.divisor, last).tolist()
        assert set(code) == {block.target[i]}


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, len(SCALES) - 1))
def test_a_rule_is_right_or_wrong_for_each_record(seed, scale):
    block = draw_block(seed)
    whole = total_of(ScaleCounts(SCALES, 3), block)[scale]
    for cut in range(SCALES.n_cells[scale] - 1):
        counts = total_of(RuleCounts(SCALES.halved(scale, cut), (2, 0), 3), block)
        right = whole[: cut + 1, 2].sum() + whole[cut + 1 :, 0].sum()
        assert counts.tolist() == [right, 7 - right]


def test_a_rule_for_all_counts_one_class():
    block = draw_block(3)
    counts = total_of(RuleCounts(SCALES.halved(0, 0), (1, 1), 3), block)
    assert counts[0] == (block.target == 1).sum()
    assert counts.sum() == 7
