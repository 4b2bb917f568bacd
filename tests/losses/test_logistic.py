"""The link of two classes, which undoes what clipping did."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from dpforest.losses.logistic import Logistic, clipped_logistic


@given(st.floats(0.001, 0.999))
def test_the_link_undoes_what_clipping_does(share):
    """Where clipped gradients balance, the link says which share of the records it was."""
    low, high = -50.0, 50.0
    for _ in range(200):
        middle = (low + high) / 2
        p = expit(middle)
        slope = (1 - share) * min(p, 0.5) - share * min(1 - p, 0.5)
        low, high = (low, middle) if slope > 0 else (middle, high)
    assert clipped_logistic(np.array([middle]))[0] == pytest.approx(share, abs=1e-9)


def test_control_the_plain_link_is_off():
    """A share of 0.9 comes to rest at p = 17/18, which the plain link would report."""
    score = np.log(17.0)
    assert expit(score) == pytest.approx(17 / 18)
    assert clipped_logistic(np.array([score]))[0] == pytest.approx(0.9)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20))
def test_the_link_is_a_monotone_symmetric_probability(scores):
    scores = np.sort(scores)
    p = clipped_logistic(scores)
    assert ((p >= 0) & (p <= 1)).all()
    assert (np.diff(p) >= 0).all()
    np.testing.assert_allclose(p, 1 - clipped_logistic(-scores), atol=1e-12)
    # The side that is taken is that of the score.
    assert ((p > 0.5) <= (scores > 0)).all()
    assert ((p < 0.5) <= (scores < 0)).all()


@pytest.mark.parametrize(("clipped", "link"), [(True, clipped_logistic), (False, expit)])
def test_predictions_undo_clipping_where_there_was_some(clipped, link):
    scores = np.linspace(-5, 5, 21)
    p = Logistic().predictions(scores[None], clipped)
    np.testing.assert_array_equal(p[:, 1], link(scores))
    np.testing.assert_allclose(p.sum(axis=1), 1)
