"""The estimators the command line can train, and which it takes when none is asked for."""

import dpforest
from dpforest.forests.base import PrivateEstimator
from dpforest.forests.boosted import PrivateForestClassifier, PrivateForestRegressor
from dpforest.forests.saving import estimators
from dpforest.schema import Schema


def flagship(schema: Schema) -> type[PrivateEstimator]:
    """Return the best estimator for the target of a schema: classes, or a number."""
    classes = schema.target is not None and schema.target.classes is not None
    return PrivateForestClassifier if classes else PrivateForestRegressor


def find(name: str) -> type[PrivateEstimator]:
    """Return an estimator by its name; ValueError with the known names otherwise."""
    # Bases that estimators share and printed forests are registered as well: not for this.
    known = {each: kind for each, kind in estimators().items() if each in dpforest.__all__}
    if name not in known:
        choices = ", ".join(sorted(known))
        raise ValueError(f"--estimator {name!r} is not known; choose one of: {choices}")
    kind: type[PrivateEstimator] = known[name]
    return kind
