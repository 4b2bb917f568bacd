"""diffprivlib's random forest and linear regression: pure epsilon, numbers only, bounds."""

import numpy as np
from diffprivlib.models import LinearRegression, RandomForestClassifier

from benchmarks.accuracy.methods.worker import serve
from benchmarks.accuracy.splits import Split


def predict(split: Split, method: str, epsilon: float, seed: int) -> np.ndarray:
    split = split.filled()
    bounds = (split.low, split.high)
    if method == "diffprivlib_linear":
        model = LinearRegression(
            epsilon=epsilon, bounds_X=bounds, bounds_y=(0.0, 1.0), random_state=seed
        )
        return np.clip(model.fit(split.X_train, split.y_train).predict(split.X_test), 0, 1)
    model = RandomForestClassifier(
        epsilon=epsilon,
        bounds=bounds,
        classes=list(range(split.n_classes)),
        max_depth=int(method.removeprefix("diffprivlib_depth")),
        random_state=seed,
    )
    return model.fit(split.X_train, split.y_train).predict(split.X_test)


if __name__ == "__main__":
    serve(predict)
