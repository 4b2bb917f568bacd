"""The accuracy benchmark: splits, gaps, resuming, and what the table shows of several settings."""

import math
from pathlib import Path

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant

from benchmarks.accuracy import columns, results
from benchmarks.accuracy.methods import GROUPS, linear, synthetic, worker
from benchmarks.accuracy.methods.settings import FIXED
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
    assert ("banknote", "DP-EBM tuned", 1.0) not in columns.means()
    results.append("ebm", Result("banknote", "dp_ebm_rate0.03", 1.0, 0, 0.7, 0.1))
    assert columns.means()["banknote", "DP-EBM tuned", 1.0] == (0.9, 1)
    assert columns.means()["banknote", "DP-EBM", 1.0] == (0.8, 1)


def test_every_measured_method_has_a_column_of_its_own_colour() -> None:
    methods = {method for group in GROUPS for method in group.private + group.plain}
    shown = {**columns.COLUMNS, **columns.SLOW}
    assert methods == {method for column in shown.values() for method in column}
    assert columns.COLOURS.keys() == columns.COLUMNS.keys()
    assert len(set(columns.COLOURS.values())) == len(columns.COLOURS)


def test_r2_is_beside_the_training_mean_of_the_same_splits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    for seed, error in enumerate((0.2, 0.4, 0.9)):
        results.append("plain", Result("parkinsons", "majority", math.inf, seed, error, 0.1))
    for seed, error in enumerate((0.1, 0.2)):
        results.append("ours", Result("parkinsons", "dpforest", 1.0, seed, error, 0.1))
    assert columns.means()["parkinsons", "dpforest", 1.0] == (pytest.approx(0.5), 2)


def test_what_is_forgotten_is_gone_and_the_rest_is_kept(tmp_path: Path) -> None:
    for dataset in ("iris", "heart"):
        results.append("ours", Result(dataset, "dpforest", 1.0, 0, 0.9, 0.1), tmp_path)
    results.forget("ours", lambda result: result.dataset == "iris", tmp_path)
    assert [result.dataset for result in results.read("ours", tmp_path)] == ["heart"]


def test_the_noise_of_a_descent_keeps_epsilon_and_delta() -> None:
    """T steps of noise are one Gaussian mechanism; its mu is the one dp_accounting finds."""
    for epsilon in (0.1, 1.0, 4.0):
        event = GaussianDpEvent(1 / linear.gaussian_mu(epsilon))
        accountant = PLDAccountant().compose(event)
        assert accountant.get_epsilon(linear.DELTA) == pytest.approx(epsilon, rel=1e-3)


def test_with_hardly_any_noise_a_line_is_learnt_and_synthesized() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 9, size=(2000, 2))
    y = (X[:, 0] + X[:, 1]) / 18
    split = Split(
        X_train=X[:1000],
        y_train=y[:1000],
        X_test=X[1000:],
        y_test=y[1000:],
        n_categories=np.zeros(2, dtype=int),
        low=np.zeros(2),
        high=np.full(2, 9.0),
        integer=np.zeros(2, dtype=bool),
        n_classes=0,
    )
    predicted = linear.predict(split, FIXED, 100.0, 0)
    assert worker.score(split, predicted) < 1e-3
    made_X, made_y = synthetic.synthesize(split, "synthetic_mst", 1e6, rng)
    assert made_X.min() >= 0
    assert made_X.max() <= 9
    assert np.corrcoef(made_X[:, 0], made_y)[0, 1] > 0.5
