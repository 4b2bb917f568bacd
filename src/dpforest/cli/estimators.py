"""The estimators the command line can train, which it prefers, and how it shows them."""

from typing import Any

from dpforest.forests.base import ESTIMATORS, PrivateEstimator

PREFERRED = ("PrivateForestClassifier", "RandomDecisionForestClassifier")
"""The first of these that is there is the default."""

# Blindly drawn binary trees rarely isolate a minority class; wide trees of few bins do.
SHOWN_WITH: dict[str, dict[str, Any]] = {
    "RandomDecisionForestClassifier": {
        "splits": "multiway",
        "voting": "majority",
        "n_estimators": 15,
        "max_depth": 4,
        "max_bins": 6,
    }
}
"""What the demonstration sets beside epsilon and schema; nothing where the defaults do."""


def default_name() -> str:
    """Return the name of the estimator that is used when none is asked for."""
    return next(name for name in PREFERRED if name in ESTIMATORS)


def find(name: str) -> type[PrivateEstimator]:
    """Return an estimator by its name; ValueError with the known names otherwise."""
    if name not in ESTIMATORS:
        known = ", ".join(sorted(ESTIMATORS))
        raise ValueError(f"--estimator {name!r} is not known; choose one of: {known}")
    return ESTIMATORS[name]
