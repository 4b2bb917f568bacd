import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpforest import NumericFeature, Schema, Target
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.records.blocks import Block
from dpforest.records.marks import MarkSums, marks_of

FEATURE = (NumericFeature("x", -10, 10),)
NUMBERS = Schema(FEATURE, Target(low=0, high=8))
CLASSES = Schema(FEATURE, Target(classes=(0, 1)))


class Line:
    def predict(self, X):
        return np.asarray(X)[:, 0]


class Sign:
    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)


def test_marks_of_numbers_fall_with_the_error_down_to_0():
    X = [[0.0], [1.0], [2.0], [7.0], [9.0], [-5.0]]
    found = marks_of(Line(), X, [0.0, 0.0, 0.0, 0.0, 8.0, 0.0], NUMBERS, Draws(0).below)
    assert found.tolist() == [1.0, 0.5, 0.0, 0.0, 1.0, 1.0]  # both sides are held to the bounds


def test_marks_of_classes_are_hits():
    found = marks_of(Sign(), [[1.0], [1.0], [-1.0]], [1, 0, 0], CLASSES, Draws(0).below)
    assert found.tolist() == [1.0, 0.0, 1.0]


@given(st.lists(st.floats(-2, 3), min_size=1, max_size=20), st.sampled_from([1, 7, 1 << 16]))
def test_a_record_changes_the_sums_by_one_in_all_whatever_its_mark(marks, steps):
    statistic = MarkSums(steps)
    before = np.zeros(2, np.int64)
    for mark in marks:
        total = np.zeros(2, np.int64)
        statistic.add(Block(np.empty((1, 0), np.uint8), np.array([mark])), total)
        assert (total >= 0).all()
        assert total.sum() == steps
        before += total
    together = np.zeros(2, np.int64)
    statistic.add(Block(np.empty((len(marks), 0), np.uint8), np.array(marks)), together)
    assert (together == before).all()
