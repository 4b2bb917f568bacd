"""Importances against permutation importance on held-out records: python -m benchmarks.importances.

The model's own importances, from released numbers alone, and what shuffling a column of held-out
records does to its log-loss or squared error, are compared by Spearman's rank correlation.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from scipy.stats import spearmanr
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split

from dpforest import PrivateForestClassifier, PrivateForestRegressor, datasets

TABLES = (
    "adult", "bike_sharing", "california_housing", "cpu_act", "credit_default",
    "diabetes_prediction", "kc_house", "mushroom", "nursery", "pendigits",
)  # fmt: skip
MOST_RECORDS = 20_000
TEST_RECORDS = 3_000
REPEATS = 3
BARS = {math.inf: 0.8, 1.0: 0.6}


def log_likelihood(model, X, y):
    """Of the true classes, a record; scikit-learn's own wants classes in sorted order."""
    at = np.argmax(np.asarray(y)[:, None] == model.classes_, axis=1)
    return float(np.log(np.maximum(model.predict_proba(X)[np.arange(len(at)), at], 1e-6)).mean())


def measure(name: str, epsilon: float, seed: int) -> float:
    """The rank correlation on one table."""
    data = datasets.load(name)
    classes = data.schema.target.classes
    kept = np.random.default_rng(seed).permutation(len(data.y))[: MOST_RECORDS + TEST_RECORDS]
    train, test = train_test_split(
        kept, test_size=min(TEST_RECORDS, len(kept) // 4), random_state=seed
    )
    kind = PrivateForestClassifier if classes else PrivateForestRegressor
    y = np.asarray(data.y)
    model = kind(epsilon=epsilon, schema=data.schema, random_state=seed)
    model.fit(data.X.iloc[train], y[train])
    shuffled = permutation_importance(
        model,
        data.X.iloc[test],
        y[test],
        scoring=log_likelihood if classes else "r2",
        n_repeats=REPEATS,
        random_state=seed,
    ).importances_mean
    found = model.feature_importances_
    return float(spearmanr(found, shuffled).statistic) if found.any() else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="*", default=TABLES)
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    print("| table | " + " | ".join(f"epsilon = {epsilon:g}" for epsilon in BARS) + " |")
    print("|---" * (len(BARS) + 1) + "|")
    rows = []
    for name in arguments.tables:
        seeds = range(arguments.seeds)
        row = [np.mean([measure(name, epsilon, seed) for seed in seeds]) for epsilon in BARS]
        rows.append(row)
        print(f"| {name} | " + " | ".join(f"{found:.2f}" for found in row) + " |", flush=True)
    print("| mean | " + " | ".join(f"{found:.2f}" for found in np.mean(rows, axis=0)) + " |")


if __name__ == "__main__":
    main()
