"""Synthetic data by AIM as dpmm has it (delta = 1e-6), and a gradient-boosted model on top."""

from dataclasses import replace

import numpy as np
import pandas as pd
from dpmm.pipelines import AIMPipeline

from benchmarks.accuracy.methods import plain
from benchmarks.accuracy.methods.worker import serve
from benchmarks.accuracy.splits import Split

MAX_ROWS = 30_000
# of its budget what the library's defaults give to the bins of numbers
BINS = 0.1
ITERATIONS = 200  # of its inference a round: a fifth of its default, which takes five times as long


def predict(split: Split, method: str, epsilon: float, seed: int) -> np.ndarray:
    split = split.filled().first(MAX_ROWS)
    pipeline = AIMPipeline(
        epsilon=(1 - BINS) * epsilon,
        proc_epsilon=BINS * epsilon,
        delta=1e-6,
        n_jobs=1,
        gen_kwargs={"n_iters": ITERATIONS},
    )
    pipeline.fit(frame(split), domain(split), random_state=seed)
    made = pipeline.generate(n_records=len(split.y_train), random_state=seed)
    X = made[[f"x{j}" for j in range(split.X_train.shape[1])]].to_numpy(dtype=float)
    y = made["y"].to_numpy(dtype=int if split.n_classes else float)
    if len(np.unique(y)) == 1:
        return np.full(len(split.y_test), y[0])
    return plain.predict(
        replace(split, X_train=X, y_train=y), "hist_gradient_boosting", epsilon, seed
    )


def frame(split: Split) -> pd.DataFrame:
    """Return the training part as the library takes it: categories are of pandas' own type."""
    columns = {f"x{j}": column for j, column in enumerate(split.X_train.T)}
    table = pd.DataFrame({**columns, "y": split.y_train})
    names = [f"x{j}" for j in np.flatnonzero(split.categorical)] + ["y"] * bool(split.n_classes)
    return table.astype(dict.fromkeys(names, int)).astype(dict.fromkeys(names, "category"))


def domain(split: Split) -> dict[str, dict]:
    """Return what is public: categories and bounds."""
    features = {
        f"x{j}": {"categories": list(range(size))} if size else {"lower": low, "upper": high}
        for j, (size, low, high) in enumerate(
            zip(split.n_categories.tolist(), split.low, split.high, strict=True)
        )
    }
    classes = {"categories": list(range(split.n_classes))}
    return {**features, "y": classes if split.n_classes else {"lower": 0.0, "upper": 1.0}}


if __name__ == "__main__":
    serve(predict)
