"""A row of an outcome is about one record alone, and says what is true of it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dpforest.exceptions import SchemaError
from dpforest.records.outcomes import class_outcomes, number_outcomes, predict_rows

X = np.array([[0.2], [0.7], [0.9], [0.4]])


class Model:
    """Three classes; class 2 where x is large."""

    def predict_proba(self, X):
        x = np.asarray(X)[:, 0]
        return np.column_stack([1 - x, x / 4, 3 * x / 4])

    def predict(self, X):
        return np.array(["a", "b", "c"])[self.predict_proba(X).argmax(axis=1)]


def outcomes(X, y, coins, **options):
    def draw(m, size):
        assert m == 2
        return np.array(coins)[:size]

    options = {"scores": True, "one_by_one": False} | options
    return class_outcomes(Model(), X, y, ("a", "b", "c"), draw, **options)


def test_rows_say_class_prediction_hit_and_the_two_scores():
    rows = outcomes(X, ["a", "a", "c", "b"], [0, 1, 0, 1])
    expected = [
        [0, 0, 1, 0.8, 1, 0.05],
        [0, 2, 0, 0.3, 2, 0.525],
        [2, 2, 1, 0.675, 0, 0.1],
        [1, 0, 0, 0.1, 0, 0.6],
    ]
    assert rows == pytest.approx(np.array(expected))


def test_another_class_is_never_the_own_one():
    labels = np.repeat(["a", "b", "c"], 2)
    rows = outcomes(np.full((6, 1), 0.5), labels, [0, 1] * 3)
    assert (rows[:, 4] != rows[:, 0]).all()
    assert sorted(rows[:, 4].tolist()) == [0, 0, 1, 1, 2, 2]


def test_a_row_does_not_change_with_the_others():
    y, coins = ["a", "a", "c", "b"], [0, 1, 0, 1]
    every = outcomes(X, y, coins)
    for n in (1, 2, 3):
        assert np.array_equal(outcomes(X[:n], y[:n], coins), every[:n])
    assert np.array_equal(outcomes(X, y, coins, one_by_one=True), every)


def test_without_scores_no_coins_are_drawn():
    rows = class_outcomes(
        Model(), X, ["a"] * 4, ("a", "b", "c"), None, scores=False, one_by_one=False
    )
    assert (rows[:, 3:] == 0).all()


def test_numbers_are_clipped_to_the_bounds():
    class Twice:
        def predict(self, X):
            return 2 * np.asarray(X)[:, 0]

    rows = number_outcomes(Twice(), X, [5.0, 1.0, -3.0, 0.0], (0.0, 1.5), one_by_one=False)
    assert rows.tolist() == [[1.5, 0.4], [1.0, 1.4], [0.0, 1.5], [0.0, 0.8]]
    with pytest.raises(ValueError, match="one number a record"):
        number_outcomes(Model3(), X, np.zeros(4), (0, 1), one_by_one=False)


class Model3:
    def predict(self, X):
        return np.full(len(X), np.nan)


def test_one_by_one_asks_about_one_record_at_a_time():
    sizes = []

    def predict(rows):
        sizes.append(len(rows))
        return np.asarray(rows)[:, 0]

    for table in (X, X.tolist(), pd.DataFrame(X), pl.DataFrame(X)):
        sizes.clear()
        assert predict_rows(predict, table, True).tolist() == X[:, 0].tolist()
        assert sizes == [1, 1, 1, 1]


def test_the_other_class_is_that_of_the_coin():
    labels, every = ["a", "b", "c"] * 2, np.full((6, 1), 0.5)
    assert outcomes(every, labels, [0] * 6)[:, 4].tolist() == [1, 2, 0] * 2
    assert outcomes(every, labels, [1] * 6)[:, 4].tolist() == [2, 0, 1] * 2


@pytest.mark.parametrize("n", [3, 5])
def test_an_answer_for_each_label_is_expected(n):
    labels = (["a"] * 5)[:n]
    with pytest.raises(SchemaError, match="different lengths"):
        outcomes(X, labels, [0] * 5, scores=False)
    with pytest.raises(SchemaError, match="different lengths"):
        number_outcomes(Model3(), X, np.zeros(n), (0, 1), one_by_one=False)
