"""diffprivlib's random forest: pure epsilon, numbers only, labels 0..K-1, declared bounds."""

import numpy as np
from diffprivlib.models import RandomForestClassifier

from benchmarks.accuracy.methods.worker import serve
from benchmarks.accuracy.splits import Split


def predict(split: Split, method: str, epsilon: float, seed: int) -> np.ndarray:
    split = split.filled()
    model = RandomForestClassifier(
        epsilon=epsilon,
        bounds=(split.low, split.high),
        classes=list(range(split.n_classes)),
        max_depth=int(method.removeprefix("diffprivlib_depth")),
        random_state=seed,
    )
    return model.fit(split.X_train, split.y_train).predict(split.X_test)


if __name__ == "__main__":
    serve(predict)
