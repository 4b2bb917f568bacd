"""What privacy is measured against: the majority class, and two non-private scikit-learn models."""

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from benchmarks.accuracy.methods.worker import serve
from benchmarks.accuracy.splits import Split


def predict(split: Split, method: str, epsilon: float, seed: int) -> np.ndarray:
    if method == "majority":
        counts = np.bincount(split.y_train) if split.n_classes else None
        constant = split.y_train.mean() if counts is None else counts.argmax()
        return np.full(len(split.y_test), constant)
    if method == "extra_trees":
        split = split.filled()
        kind = ExtraTreesClassifier if split.n_classes else ExtraTreesRegressor
        model = kind(n_estimators=100, random_state=seed)
    else:
        kind = HistGradientBoostingClassifier if split.n_classes else HistGradientBoostingRegressor
        model = kind(categorical_features=split.categorical, random_state=seed)
    return model.fit(split.X_train, split.y_train).predict(split.X_test)


if __name__ == "__main__":
    serve(predict)
