"""The private forest with its defaults, its pure-epsilon form, and its non-private twin."""

import numpy as np

from benchmarks.accuracy.methods.worker import serve
from benchmarks.accuracy.splits import Split
from dpforest import PrivateForestClassifier, PrivateForestRegressor
from dpforest.schema import CategoricalFeature, NumericFeature, Schema, Target

DELTA = {"dpforest": 1e-6, "dpforest_pure": 0.0, "dpforest_inf": 0.0}


def predict(split: Split, method: str, epsilon: float, seed: int) -> np.ndarray:
    kind = PrivateForestClassifier if split.n_classes else PrivateForestRegressor
    model = kind(
        epsilon=epsilon, delta=DELTA[method], schema=public_schema(split), random_state=seed
    )
    return model.fit(split.X_train, split.y_train).predict(split.X_test)


def public_schema(split: Split) -> Schema:
    """Return what the split declares: the same facts the peers are given."""
    features = [
        CategoricalFeature(name=f"x{j}", categories=tuple(range(size)))
        if size
        else NumericFeature(name=f"x{j}", low=low, high=high, integer=bool(integer))
        for j, (size, low, high, integer) in enumerate(
            zip(split.n_categories, split.low, split.high, split.integer, strict=True)
        )
    ]
    target = (
        Target(classes=tuple(range(split.n_classes)))
        if split.n_classes
        else Target(low=0.0, high=1.0)
    )
    return Schema(features=tuple(features), target=target)


if __name__ == "__main__":
    serve(predict)
