"""Evaluation that is paid for: figures with intervals from releases on private records.

What a model says of records stays behind the walls (`dpforest.records.outcomes`); this room plans
what is asked, and turns noisy counts into figures.
"""

from dpforest.evaluation.evaluating import evaluate
from dpforest.evaluation.figures import Curve, Figure
from dpforest.evaluation.planning import Forecast, Spread, plan
from dpforest.evaluation.results import Evaluation
from dpforest.evaluation.scores import Calibration
from dpforest.evaluation.thresholds import Threshold, tune_threshold

__all__ = [
    "Calibration",
    "Curve",
    "Evaluation",
    "Figure",
    "Forecast",
    "Spread",
    "Threshold",
    "evaluate",
    "plan",
    "tune_threshold",
]
