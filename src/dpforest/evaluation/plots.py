"""Plots of an evaluation; matplotlib is the extra ``plot``."""

from __future__ import annotations

import math
from typing import Any

from dpforest.evaluation.figures import Curve
from dpforest.evaluation.results import Evaluation
from dpforest.report.plots import axes_or_new


def plot_roc(evaluation: Evaluation, ax: Any = None) -> Any:
    """Draw the ROC curves with their bands.

    Parameters
    ----------
    evaluation : Evaluation
        Of a model with probabilities.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    if evaluation.roc is None or evaluation.auc is None:
        raise ValueError("there is no ROC curve: the model has no predict_proba")
    ax = axes_or_new(ax, height=4.5)
    for label, curve in evaluation.roc.items():
        _draw(ax, curve, str(label))
    _finish(ax, "false positive rate", "true positive rate")
    area = evaluation.auc.value
    ax.set_title("area not known" if math.isnan(area) else f"area {area:.3f}")
    return ax


def plot_calibration(evaluation: Evaluation, ax: Any = None) -> Any:
    """Draw the calibration curve with its band; parameters as in `plot_roc`."""
    if evaluation.calibration is None:
        raise ValueError("there is no calibration curve: the model has no predict_proba")
    ax = axes_or_new(ax, height=4.5)
    _draw(ax, evaluation.calibration.curve, "model")
    _finish(ax, "predicted probability", "share of records")
    return ax


def _draw(ax: Any, curve: Curve, label: str) -> None:
    (line,) = ax.plot(curve.x, curve.y, label=label, lw=2)
    ax.fill_between(curve.x, curve.low, curve.high, alpha=0.2, color=line.get_color(), lw=0)


def _finish(ax: Any, xlabel: str, ylabel: str) -> None:
    ax.plot([0, 1], [0, 1], color="grey", lw=1, ls="--")
    ax.set(xlabel=xlabel, ylabel=ylabel, xlim=(0, 1), ylim=(0, 1))
    ax.legend()
