"""The bound behind calibration: no record's integers are longer than the grid."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.losses import Logistic, Softmax
from dpforest.records.blocks import Block
from dpforest.records.confidence_sums import ConfidenceSums
from dpforest.records.shards import total_of

EXTREMES = st.sampled_from([0.0, 1e-30, 5.0, 1e30, math.inf, -math.inf, math.nan])
SCORES = st.floats(-50, 50, width=32) | EXTREMES
LINKS = {1: Logistic(), 3: Softmax(3), 26: Softmax(26)}


def block_of(scores, target, weight=None):
    scores = np.ascontiguousarray(scores, np.float32)
    bins = np.zeros((scores.shape[1], 1), np.uint8, order="F")
    return Block(bins, np.asarray(target, np.int32), scores=scores, weight=weight)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from([1, 3, 40]), st.sampled_from([1, 7, 4096]))
def test_no_record_exceeds_the_grid(data, n_outputs, grid):
    scores = [[data.draw(SCORES)] for _ in range(n_outputs)]
    weight = data.draw(st.none() | st.floats(-1, 3) | EXTREMES)
    weights = None if weight is None else np.array([weight])
    label = data.draw(st.integers(0, max(n_outputs, 2) - 1))
    total = total_of(ConfidenceSums(grid), block_of(scores, [label], weights))
    assert (total.astype(object) ** 2).sum() <= grid**2
    if weight is not None and not 0 <= weight <= 1:
        assert not total.any()


@pytest.mark.parametrize("n_outputs", LINKS)
def test_sums_are_those_of_the_probabilities_that_the_model_tells(n_outputs):
    rng = np.random.default_rng(0)
    n, link = 2_000, LINKS[n_outputs]
    scores = rng.normal(0, 2, (n_outputs, n)).astype(np.float32)
    target, weight = rng.integers(0, max(n_outputs, 2), n), rng.random(n)
    told, doubled = (link.predictions(times * scores, clipped=True) for times in (1, 2))
    excess = told.max(axis=1) - (told.argmax(axis=1) == target)
    gain = 2.0 * (doubled.max(axis=1) - told.max(axis=1))
    shrunk = weight / np.maximum(np.hypot(excess, gain), 1.0)
    total = total_of(ConfidenceSums(4096), block_of(scores, target, weight))
    np.testing.assert_allclose(total / 4096, [shrunk @ excess, shrunk @ gain], atol=0.5)


def test_a_record_that_is_surely_wrong_uses_the_grid():
    total = total_of(ConfidenceSums(4096), block_of([[40.0]], [0]))
    assert total.tolist() == [4096, 0]
