"""The estimators the command line can train, and which it takes when none is asked for."""

import dpforest
from dpforest.forests.base import PrivateEstimator
from dpforest.forests.boosted import PrivateForestClassifier, PrivateForestRegressor
from dpforest.schema import Schema

FLAGSHIPS = ("PrivateForestClassifier", "PrivateForestRegressor")
OTHERS = (
    "GreedyForestClassifier",
    "MatrixForestClassifier",
    "MedianForestClassifier",
    "MedianForestRegressor",
    "PrivateIntervalRegressor",
    "RandomDecisionForestClassifier",
)
"""All others that can be trained and saved: not the predictor, which keeps the records."""


def offered() -> list[str]:
    """The names that --estimator takes."""
    return sorted([*FLAGSHIPS, *OTHERS])


def flagship(schema: Schema) -> type[PrivateEstimator]:
    """Return the best estimator for the target of a schema: classes, or a number."""
    classes = schema.target is not None and schema.target.classes is not None
    return PrivateForestClassifier if classes else PrivateForestRegressor


def find(name: str) -> type[PrivateEstimator]:
    """Return an estimator by its name; ValueError with the known names otherwise."""
    if name not in offered():
        choices = ", ".join(offered())
        raise ValueError(f"--estimator {name!r} is not known; choose one of: {choices}")
    kind: type[PrivateEstimator] = getattr(dpforest, name)
    return kind
