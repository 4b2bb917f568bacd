"""The result of an evaluation."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from dpforest.arrays import Values
from dpforest.evaluation.figures import Curve, Figure
from dpforest.evaluation.scores import Calibration, Scores
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.schema.categories import Category

HEADINGS = {
    "accuracy": "accuracy",
    "auc": "area under the ROC curve",
    "log_loss": "log loss",
    "brier": "Brier score",
    "r2": "R2",
    "mse": "mean squared error",
    "mae": "mean absolute error",
}


@dataclass(frozen=True)
class Evaluation:
    """Figures of a model on private records, each with an interval; made by `evaluate`.

    Figures are `Figure` values: ``value``, ``low``, ``high``. Those that do not apply are None: of
    a classifier the last six, of a regressor those of classes and scores, and without
    ``predict_proba`` all that needs scores. An interval holds sampling and noise, for the
    population that the records are an independent sample of. Where the noise covers a figure its
    value is nan (None in `to_dict`), and the interval is as wide as it has to be.

    Parameters
    ----------
    ledger : Ledger
        What the evaluation cost; ``docs/privacy/evaluation.md`` has the proof.
    level : float
        With which probability each interval covers.
    n_records : Figure
        Of the evaluated records.
    classes : tuple
        In the order of all that has a value a class.
    accuracy : Figure
    confusion : Figure
        Noisy counts, as they were released; rows are true classes, columns predicted ones.
    precision, recall, f1 : Figure
        Arrays, one value a class.
    log_loss : Figure
        Probabilities below 0.001 count as 0.001.
    brier : Figure
        Of two classes the second's score alone; of more the sum over classes.
    auc : Figure
        Of the second of two classes; of more the mean over classes, one against the rest.
    roc : dict
        A `Curve` for the second of two classes, or for each of more: false positives (x), true
        positives (y), with a band for y; none of a class that does not stand out of the noise.
    calibration : Calibration
        ``curve`` and ``error``, the expected calibration error.
    r2, mse, mae : Figure
        Targets and predictions are clipped to the public bounds, errors at ``residual_bound``.
    residual_quantiles : Curve
        Quantiles of truth less prediction (y) at 0.05, 0.25, 0.5, 0.75 and 0.95 (x).
    residual_bound : float
        Found by a rule on the noisy histogram of residuals.
    residuals : ndarray
        This histogram, in the cells of `dpforest.privacy.outcome_cells.residual_edges`.
    scores : Scores
        The noisy histograms of scores behind the figures.
    model_digest : str
        Names the model that was measured, if it is one of dpforest's: the same for the fitted
        model, its files and whoever loads them. A report takes the evaluation of no other.
    """

    ledger: Ledger
    level: float
    n_records: Figure
    classes: tuple[Category, ...] | None = None
    accuracy: Figure | None = None
    confusion: Figure | None = None
    precision: Figure | None = None
    recall: Figure | None = None
    f1: Figure | None = None
    log_loss: Figure | None = None
    brier: Figure | None = None
    auc: Figure | None = None
    roc: dict[Category, Curve] | None = None
    calibration: Calibration | None = None
    scores: Scores | None = None
    r2: Figure | None = None
    mse: Figure | None = None
    mae: Figure | None = None
    residual_quantiles: Curve | None = None
    residual_bound: float | None = None
    residuals: Values | None = None
    model_digest: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe form of all that applies, the released counts with it."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: _written(part) for name, part in found.items() if part is not None}

    def __str__(self) -> str:
        """All figures with their intervals, and what they cost."""
        lines = [f"{self.level:.0%} intervals, for sampling and noise together"]
        for name, heading in HEADINGS.items():
            figure = getattr(self, name)
            if figure is not None:
                lines.append(f"{heading:28}{_shown(figure)}")
        if self.calibration is not None:
            lines.append(f"{'expected calibration error':28}{_shown(self.calibration.error)}")
        if self.classes is not None:
            lines += self._by_class()
        if self.residual_quantiles is not None:
            lines += _quantile_lines(self.residual_quantiles)
        cost = self.ledger.guarantee or "no guarantee: " + "; ".join(self.ledger.reasons)
        return "\n".join([*lines, str(cost)])

    def _by_class(self) -> list[str]:
        assert self.classes is not None
        parts = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return [
            f"{f'{name} of {label!s}':28}{_shown(figure[c])}"
            for c, label in enumerate(self.classes)
            for name, figure in parts.items()
            if figure is not None
        ]

    def plot_roc(self, ax: Any = None) -> Any:
        """Draw the ROC curves with their bands; see `dpforest.evaluation.plots`."""
        from dpforest.evaluation.plots import plot_roc

        return plot_roc(self, ax)

    def plot_calibration(self, ax: Any = None) -> Any:
        """Draw the calibration curve with its band; see `dpforest.evaluation.plots`."""
        from dpforest.evaluation.plots import plot_calibration

        return plot_calibration(self, ax)


def _shown(figure: Figure) -> str:
    value = "not known" if math.isnan(figure.value) else f"{figure.value:.4g}"
    return f"{value:<9} ({figure.low:.4g} to {figure.high:.4g})"


def _quantile_lines(curve: Curve) -> list[str]:
    rows = zip(curve.x, curve.y, curve.low, curve.high, strict=True)
    return [f"{f'residuals, quantile {p:g}':28}{_shown(Figure(*rest))}" for p, *rest in rows]


def _written(part: Any) -> Any:
    if hasattr(part, "to_dict"):
        return part.to_dict()
    if isinstance(part, dict):
        return {str(label): curve.to_dict() for label, curve in part.items()}
    if isinstance(part, np.ndarray):
        return part.tolist()
    return list(part) if isinstance(part, tuple) else part
