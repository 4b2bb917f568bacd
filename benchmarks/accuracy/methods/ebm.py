"""interpret's DP-EBM (delta = 1e-6): its defaults and two settings, of which the best is kept."""

import numpy as np
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

from benchmarks.accuracy.methods.worker import serve
from benchmarks.accuracy.splits import Split

SETTINGS = {
    "dp_ebm": {},
    "dp_ebm_rounds100": {"max_rounds": 100},
    "dp_ebm_rounds1000": {"max_rounds": 1000},
    "dp_ebm_rate0.03": {"learning_rate": 0.03},
}


def predict(split: Split, method: str, epsilon: float, seed: int) -> np.ndarray:
    split = split.filled()
    numbers = np.flatnonzero(~split.categorical)
    shared = {
        "feature_types": ["nominal" if c else "continuous" for c in split.categorical],
        "privacy_bounds": {int(j): (split.low[j], split.high[j]) for j in numbers},
        "epsilon": epsilon,
        "delta": 1e-6,
        "random_state": seed,
        "n_jobs": 1,
        **SETTINGS[method],
    }
    if split.n_classes:
        model = DPExplainableBoostingClassifier(**shared)
    else:
        model = DPExplainableBoostingRegressor(
            **shared, privacy_target_min=0.0, privacy_target_max=1.0
        )
    return model.fit(_columns(split, split.X_train), split.y_train).predict(
        _columns(split, split.X_test)
    )


def _columns(split: Split, X: np.ndarray) -> np.ndarray:
    """Return the table with categories as text, as the model takes them."""
    table = X.astype(object)
    for j in np.flatnonzero(split.categorical):
        table[:, j] = X[:, j].astype(int).astype(str)
    return table


if __name__ == "__main__":
    serve(predict)
