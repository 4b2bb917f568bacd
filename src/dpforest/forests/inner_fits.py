"""Fits inside of scikit-learn's searches and ensembles: each spends its own, so say it."""

from __future__ import annotations

import inspect
import warnings

from dpforest.exceptions import InnerFitsWarning

_SEVERAL_FITS = (
    "sklearn.model_selection",
    "sklearn.ensemble",
    "sklearn.calibration",
    "sklearn.multiclass",
    "sklearn.multioutput",
)


def warn_of_inner_fits(epsilon: float) -> None:
    """Warn when the fit under way is one of several that scikit-learn makes.

    It is when code of these modules called it, in this process or in one of their workers. Python
    shows the warning once a process, unless its filters say otherwise.
    """
    frame = inspect.currentframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if module.startswith(_SEVERAL_FITS):
            warnings.warn(
                f"this fit is one of several that {module} makes, each spends epsilon = "
                f"{epsilon:g} of its own, and nothing adds them up: give the estimator a budget "
                "(dpforest.Budget), or keep all ledgers and use Ledger.together",
                InnerFitsWarning,
                stacklevel=4,
            )
            return
        frame = frame.f_back
