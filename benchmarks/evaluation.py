"""How near evaluations at epsilon 0.5 come to the exact figures, and how often intervals cover.

``DPFOREST_DATA=folder python -m benchmarks.evaluation`` trains a flagship at epsilon 1 on half of a
data set. The other half is the population: 10,000 records are drawn from it with replacement, again
and again, and evaluated. Errors are against the exact figures of the same 10,000 records, over the
first 100 runs (those that have all classes, for the area under the ROC curve); an interval covers
when it holds the figure of the population, over all 400.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import metrics

from dpforest import (
    Evaluation,
    PrivateForestClassifier,
    PrivateForestRegressor,
    Schema,
    datasets,
    evaluate,
)
from dpforest.privacy.outcome_cells import SCORE_CELLS, SCORE_EDGES

TWO_CLASSES = ("adult", "adult_binary", "credit_default", "diabetes_prediction", "eeg_eye")
MORE_CLASSES = ("nursery", "pendigits", "covtype")
NUMBERS = ("california_housing", "bike_sharing", "flights")
MOST_ROWS, N, EPSILON, RUNS, ERROR_RUNS = 60_000, 10_000, 0.5, 400, 100
RESULTS = Path(__file__).parent / "evaluation.json"
PAGE = Path(__file__).parents[1] / "docs" / "evaluation.md"
PLACE = re.compile(r"(?<=<!-- figures -->\n).*(?=<!-- end -->)", re.DOTALL)
SHOWN = {
    "two": ("accuracy", "auc", "log_loss", "brier", "calibration error"),
    "numbers": ("r2", "mse", "mae"),
}


@dataclass
class Answers:
    """A model whose answers are known: X is a column of row numbers."""

    schema_: Schema
    answers: np.ndarray[Any, Any]

    def predict(self, X: Any) -> Any:
        found = self.answers[np.asarray(X)[:, 0]]
        return np.array(self.schema_.classes)[found.argmax(axis=1)] if found.ndim == 2 else found


class Probabilities(Answers):
    """Of classes."""

    def predict_proba(self, X: Any) -> Any:
        return self.answers[np.asarray(X)[:, 0]]


def population(name: str) -> tuple[Answers, np.ndarray[Any, Any]]:
    """A model trained on one half of a data set, and the truth of the other."""
    data = datasets.load(name)
    rows = np.random.default_rng(0).permutation(len(data.y))[:MOST_ROWS]
    train, test = np.array_split(rows, 2)
    kind = PrivateForestRegressor if name in NUMBERS else PrivateForestClassifier
    model = kind(epsilon=1.0, schema=data.schema, random_state=0)
    model.fit(data.X.iloc[train], data.y[train])
    held_out, truth = data.X.iloc[test], data.y[test]
    if name in NUMBERS:
        low, high = data.schema.target_bounds
        answers = np.clip(model.predict(held_out), low, high)
        return Answers(data.schema, answers), np.clip(truth, low, high)
    return Probabilities(data.schema, model.predict_proba(held_out)), truth


def exact_figures(model: Answers, y: Any, rows: Any) -> dict[str, float]:
    """What scikit-learn says of these rows."""
    answers, truth = model.answers[rows], y[rows]
    if answers.ndim == 1:
        return {
            "r2": metrics.r2_score(truth, answers),
            "mse": metrics.mean_squared_error(truth, answers),
            "mae": metrics.mean_absolute_error(truth, answers),
        }
    classes = np.array(model.schema_.classes)
    codes = np.argmax(truth[:, np.newaxis] == classes, axis=1)
    hot = np.eye(len(classes))[codes]
    own = np.clip(answers[np.arange(len(codes)), codes], 1e-3, 1)
    two = len(classes) == 2
    squares = ((answers - hot) ** 2).sum(axis=1).mean()
    score = answers[:, 1] if two else answers
    return {
        "accuracy": float((answers.argmax(axis=1) == codes).mean()),
        "auc": metrics.roc_auc_score(
            codes, score, multi_class="ovr", labels=None if two else np.arange(len(classes))
        ),
        "log_loss": float(-np.log(own).mean()),
        "brier": float(squares / 2 if two else squares),
        "calibration error": calibration_error(answers, hot, two),
        "recall of the last class": float(hot[answers.argmax(axis=1) == len(hot[0]) - 1, -1].sum())
        / max(hot[:, -1].sum(), 1),
    }


def calibration_error(answers: Any, hot: Any, two: bool) -> float:
    """In the bins that `evaluate` uses, from exact scores."""
    scores, truth = (answers[:, 1], hot[:, 1]) if two else (answers.ravel(), hot.ravel())
    borders = SCORE_EDGES[np.round(np.linspace(0, SCORE_CELLS, 14)).astype(int)]
    bins = np.searchsorted(borders[1:-1], scores)
    gaps = np.bincount(bins, truth - scores, minlength=13)
    return float(np.abs(gaps).sum() / len(scores))


def found_figures(result: Evaluation) -> dict[str, Any]:
    """The same, as the evaluation has them."""
    names = ("accuracy", "auc", "log_loss", "brier", "r2", "mse", "mae")
    found = {name: getattr(result, name) for name in names}
    if result.calibration is not None and result.recall is not None:
        found["calibration error"] = result.calibration.error
        found["recall of the last class"] = result.recall[-1]
    return {name: figure for name, figure in found.items() if figure is not None}


def measure(name: str) -> dict[str, dict[str, float]]:
    """Errors and coverage on one data set."""
    model, y = population(name)
    everyone = np.arange(len(y))
    truth = exact_figures(model, y, everyone)
    errors: dict[str, list[float]] = {key: [] for key in truth}
    covered: dict[str, list[bool]] = {key: [] for key in truth}
    widths: dict[str, list[float]] = {key: [] for key in truth}
    for run in range(RUNS):
        rows = np.random.default_rng(run).integers(0, len(y), N)
        result = evaluate(
            model, rows[:, np.newaxis], y[rows], epsilon=EPSILON, random_state=run + 1
        )
        exact = exact_figures(model, y, rows) if run < ERROR_RUNS else {}
        for key, figure in found_figures(result).items():
            covered[key].append(figure.low <= truth[key] <= figure.high)
            widths[key].append(figure.high - figure.low)
            if exact:
                errors[key].append(abs(figure.value - exact[key]))
    return {
        key: {
            "population": float(truth[key]),
            "mean absolute error": float(np.nanmean(errors[key])),
            "coverage": float(np.mean(covered[key])),
            "width": float(np.mean(widths[key])),
        }
        for key in truth
    }


def page_tables(found: dict[str, dict[str, dict[str, float]]]) -> str:
    """The figures as Markdown: error and coverage of each."""
    parts = []
    for names, shown in (
        ((*TWO_CLASSES, *MORE_CLASSES), SHOWN["two"]),
        (NUMBERS, SHOWN["numbers"]),
    ):
        heads = [f"{key.replace('_', ' ')} | error | covered" for key in shown]
        rows = [f"| data | {' | '.join(heads)} |", "|---" * (1 + 3 * len(shown)) + "|"]
        for name in names:
            cells = [
                f"{row['population']:.4g} | {row['mean absolute error']:.3g} | "
                f"{row['coverage']:.1%}"
                for row in (found[name][key] for key in shown)
            ]
            rows.append(f"| {name} | {' | '.join(cells)} |")
        parts.append("\n".join(rows))
    return "\n" + "\n\n".join(parts) + "\n\n"


def write_page() -> None:
    """Put the kept figures into the page."""
    tables = page_tables(json.loads(RESULTS.read_text(encoding="utf-8")))
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(PLACE.sub(lambda _: tables, text), encoding="utf-8")


def main() -> None:
    """Measure all data sets, print and keep the figures, and put them into the page."""
    found = {}
    for name in (*TWO_CLASSES, *MORE_CLASSES, *NUMBERS):
        found[name] = measure(name)
        for key, row in found[name].items():
            told = ", ".join(f"{what} {number:.4f}" for what, number in row.items())
            print(f"{name:20} {key:26} {told}", flush=True)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    write_page()


if __name__ == "__main__":
    main()
