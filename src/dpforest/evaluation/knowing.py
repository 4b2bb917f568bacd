"""What an evaluation knows: figures that the noise covers are told as such, and what would do.

A rule on released figures alone. A figure whose interval covers nearly all of its range has no
value; nor has one whose denominator does not stand out of its noise (`figures.Counted.mean`).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

from dpforest.evaluation.figures import UNIT, Level
from dpforest.evaluation.results import HEADINGS, Evaluation
from dpforest.evaluation.scores import CLIP, Scores
from dpforest.exceptions import LittleSignalWarning
from dpforest.forests.expectations import level_of_caller
from dpforest.privacy.outcome_cells import SCORE_CELLS

WITHIN = 0.1  # of it: the error at which a figure is worth asking for


def tell_what_is_known(found: Evaluation) -> Evaluation:
    """Take the value from figures that the noise covers, and warn where a headline is covered."""
    told = {
        name: getattr(found, name).if_known(within)
        for name, within in _ranges(found).items()
        if getattr(found, name) is not None
    }
    calibration = found.calibration
    if calibration is not None:
        calibration = calibration._replace(error=calibration.error.if_known(UNIT))
    result = replace(found, **told, calibration=calibration)
    unknown = [
        heading
        for name, heading in HEADINGS.items()
        if name in told and math.isnan(told[name].value)
    ]
    if unknown and math.isfinite(found.ledger.budget_epsilon):
        _warn(result, unknown)
    return result


def _ranges(found: Evaluation) -> dict[str, tuple[float, float]]:
    """Of all figures that may be covered by noise; R2 is below 0 where a constant does better."""
    most = found.residual_bound or 0.0
    several = found.classes is not None and len(found.classes) > 2
    return dict.fromkeys(("accuracy", "precision", "recall", "f1", "auc", "r2"), UNIT) | {
        "log_loss": (0.0, -math.log(CLIP)),
        "brier": (0.0, 2.0 if several else 1.0),
        "mse": (0.0, most**2),
        "mae": (0.0, most),
    }


def _warn(found: Evaluation, unknown: list[str]) -> None:
    takes = [f"about {_rounded((found.n_records.high - found.n_records.value) / WITHIN)} records"]
    if isinstance(found.scores, Scores):
        noise = Level.of(found.level).noise * math.sqrt(SCORE_CELLS * found.scores.own.noise)
        takes.append(f"for an area under the ROC curve {_rounded(noise / WITHIN)} of each class")
    if found.r2 is not None:
        takes.append("for R2 a target that varies over much of its bounds")
    warnings.warn(
        f"the noise of this evaluation covers what it asks for: {', '.join(unknown)} not known. "
        f"With epsilon = {float(found.ledger.budget_epsilon):g} figures within {WITHIN:g} of "
        f"their range take {', and '.join(takes)}; with half as many records, twice the epsilon",
        LittleSignalWarning,
        stacklevel=level_of_caller(),
    )


def _rounded(number: float) -> str:
    """Upwards to two digits."""
    unit = 10.0 ** (math.floor(math.log10(max(number, 1.0))) - 1)
    return f"{math.ceil(number / unit) * unit:,.0f}"
