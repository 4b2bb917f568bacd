"""The bound behind a linear release: no record's integers are longer than the grid."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.losses import IntegerLoss, Logistic, Pinball, Softmax, Squared
from dpforest.losses.number_rules import NumberRules
from dpforest.records.blocks import Block
from dpforest.records.linear_sums import LinearSums
from dpforest.trees.linear import LinearDesign
from dpforest.trees.structure import FeatureBins

BINS = FeatureBins(np.array([5, 3, 2]), np.array([6, 5, 4]), np.array([False, True, True]))
# The last bin lies as far off as any may.
SHARES, MIDDLES = np.array([0.249, 0.249, 0.25, 0.25, 0.002]), np.array([0.0, 1.0, 2.0, 3.0, 1e6])
DESIGN = LinearDesign.of_bins(BINS, (SHARES, None, None), (MIDDLES, None, None), by_value=1.0)
EXTREMES = st.sampled_from([0.0, 1e-30, 5.0, 1e30, math.inf, -math.inf, math.nan])
LOSSES = (
    st.just(Logistic())
    | st.builds(Softmax, st.integers(3, 5))
    | st.just(Squared(0.0, 1.0))
    | st.just(Pinball((0.05, 0.5, 0.95), (-1.0, 0.0, 2.0), (0.5, 1.0, 2.0)))
)


def total_of(loss, bins, scores, target, weight=None):
    statistic = LinearSums(DESIGN, loss)
    total = np.zeros(statistic.shape, np.int64)
    statistic.add(Block(bins, target, scores=scores, weight=weight), total)
    return total


def one_record(draw_bins, scores, target):
    kind = np.float64 if isinstance(target, float) else np.int32
    bins = np.asfortranarray(np.array([draw_bins], np.uint8))
    return bins, np.array(scores, np.float32)[:, None], np.array([target], kind)


@settings(max_examples=150, deadline=None)
@given(st.data(), LOSSES, st.sampled_from([1, 7, 100, 4096]), st.floats(1e-3, 10))
def test_no_record_exceeds_the_grid(data, plain, grid, clip):
    loss = IntegerLoss(plain, 2, grid, clip, 0.0)
    score = st.floats(-50, 50, width=32) | EXTREMES
    scores = [data.draw(score) for _ in range(plain.n_outputs)]
    bins = [data.draw(st.integers(0, int(n) - 1)) for n in BINS.n_bins]
    target = data.draw(st.floats(-1e6, 1e6)) if isinstance(plain, NumberRules) else 0
    weight = data.draw(st.none() | st.floats(-1, 3) | EXTREMES)
    weights = None if weight is None else np.array([weight])
    total = total_of(loss, *one_record(bins, scores, target), weights)
    assert (total.astype(object) ** 2).sum() <= grid**2
    if weight is not None and not 0 <= weight <= 1:
        assert not total.any()


def test_a_record_at_the_clip_uses_the_grid():
    """A record whose product is clipped has almost the norm that the noise is made for."""
    loss = IntegerLoss(Squared(0.0, 1.0), 2, 4096, 0.25, 0.0)
    total = total_of(loss, *one_record([4, 1, 0], [0.0], 7.0))
    assert 4090 <= math.sqrt((total**2).sum()) <= 4096


def test_sums_add_up_and_are_the_gradients_times_the_rows():
    rng = np.random.default_rng(0)
    n = 5_000
    loss = IntegerLoss(Logistic(), 2, 4096, 0.5, 0.0)
    bins = np.asfortranarray(
        np.column_stack([rng.integers(0, m, n) for m in BINS.n_bins]).astype(np.uint8)
    )
    scores = rng.normal(size=(1, n)).astype(np.float32)
    target = rng.integers(0, 2, n).astype(np.int32)
    weight = rng.random(n)
    row = np.zeros((n, DESIGN.n_weights))
    row[:, 0] = DESIGN.constant
    for j, column in enumerate(bins.T):
        row[np.arange(n), DESIGN.place[j, column]] += DESIGN.size[j, column]
    slope = 1 / (1 + np.exp(-scores[0])) - target
    product = slope[:, None] * row
    length = np.linalg.norm(product, axis=1)
    product *= (weight * np.minimum(1, 0.5 / length))[:, None]
    total = total_of(loss, bins, scores, target, weight)
    np.testing.assert_allclose(total[0] / loss.gradient_unit, product.sum(axis=0), atol=1.0)


@pytest.mark.parametrize(("norm", "part"), [(1, 0.0), (2, 0.3)])
def test_other_losses_are_refused(norm, part):
    with pytest.raises(ValueError, match="bounded in L2, without Hessians"):
        LinearSums(DESIGN, IntegerLoss(Logistic(), norm, 16, 0.5, part))
