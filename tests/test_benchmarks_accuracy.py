"""The accuracy benchmark: splits, gaps, resuming, and what the table shows of several settings."""

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy import report, results
from benchmarks.accuracy.methods import GROUPS, worker
from benchmarks.accuracy.results import Cell, Result
from benchmarks.accuracy.splits import Split


def small_split() -> Split:
    """A number with a gap, a category with a gap, two classes."""
    return Split(
        X_train=np.array([[1.0, 0.0], [np.nan, 1.0], [5.0, 1.0]]),
        y_train=np.array([0, 1, 1]),
        X_test=np.array([[np.nan, np.nan]]),
        y_test=np.array([1]),
        n_categories=np.array([0, 2]),
        low=np.array([0.0, 0.0]),
        high=np.array([9.0, 1.0]),
        integer=np.array([True, True]),
        n_classes=2,
    )


def test_a_split_survives_the_way_to_a_worker(tmp_path: Path) -> None:
    split = small_split()
    split.save(tmp_path / "split.npz")
    np.testing.assert_equal(vars(Split.load(tmp_path / "split.npz")), vars(split))


def test_gaps_become_the_training_median_or_a_category_of_their_own() -> None:
    filled = small_split().filled()
    np.testing.assert_array_equal(filled.X_train, [[1, 0], [3, 1], [5, 1]])
    np.testing.assert_array_equal(filled.X_test, [[3, 2]])
    np.testing.assert_array_equal(filled.n_categories, [0, 3])
    np.testing.assert_array_equal(filled.high, [9, 2])


def test_the_score_is_accuracy_or_squared_error() -> None:
    split = small_split()
    assert worker.score(split, np.array([0])) == 0.0
    numeric = Split(**{**vars(split), "n_classes": 0, "y_test": np.array([0.5])})
    assert worker.score(numeric, np.array([0.25])) == 0.0625


def test_what_was_measured_is_read_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    measured = [
        Result("iris", "extra_trees", math.inf, 0, 0.9, 0.1),
        Result("iris", "extra_trees", math.inf, 1, 1.0, 0.1),
    ]
    for result in measured:
        results.append("plain", result)
    assert list(results.read("plain")) == measured
    assert {r.cell for r in results.read()} == {
        Cell("iris", "extra_trees", math.inf, seed) for seed in (0, 1)
    }
    assert not list(results.read("ebm"))


def test_a_tuned_figure_is_shown_once_every_setting_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    results.append("ebm", Result("banknote", "dp_ebm", 1.0, 0, 0.8, 0.1))
    results.append("ebm", Result("banknote", "dp_ebm_rounds1000", 1.0, 0, 0.9, 0.1))
    assert ("banknote", "DP-EBM tuned", 1.0) not in report.means()
    results.append("ebm", Result("banknote", "dp_ebm_rate0.03", 1.0, 0, 0.7, 0.1))
    assert report.means()["banknote", "DP-EBM tuned", 1.0] == (0.9, 1)
    assert report.means()["banknote", "DP-EBM", 1.0] == (0.8, 1)


def test_every_measured_method_has_a_column() -> None:
    methods = {method for group in GROUPS for method in group.private + group.plain}
    assert methods == {method for column in report.COLUMNS.values() for method in column}
